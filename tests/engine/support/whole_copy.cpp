#include "tests/engine/support/whole_copy.h"

#include <stdexcept>

namespace lockstep::test {

namespace fs = std::filesystem;

WholeCopy::WholeCopy(const fs::path& model, int positions) {
  for (const auto& file : fs::directory_iterator(model))
    if (file.path().filename() != "reference.json")
      fs::copy_file(file.path(), directory() / file.path().filename());
  if (positions == 0) return;
  std::string text = tools::read_file(directory() / "config.json");
  const std::string key = "\"max_position_embeddings\": ";
  const size_t at = text.find(key);
  if (at == std::string::npos) throw std::runtime_error("config.json without max_position_embeddings");
  const size_t number = at + key.size();
  text.replace(number, text.find_first_not_of("0123456789", number) - number, std::to_string(positions));
  tools::write_file(directory() / "config.json", text);
}

}  // namespace lockstep::test
