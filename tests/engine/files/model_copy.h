// A copy of one of the small models that a test may damage.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/checkpoint.h"
#include "tests/tools/safetensors_writer.h"
#include "tests/tools/temporary_directory.h"

namespace lockstep::engine {

struct LoadedTensor : tools::WrittenTensor {
  std::string data;
};
using LoadedFile = std::vector<LoadedTensor>;

LoadedFile load_safetensors(const std::filesystem::path& path);
void save_safetensors(const std::filesystem::path& path, const LoadedFile& tensors,
                      const std::string& format = "mlx");

class ModelCopy {
 public:
  explicit ModelCopy(std::string_view model = "tiny-dense");  // of tests/data

  const std::filesystem::path& directory() const { return directory_.path(); }
  std::filesystem::path operator/(std::string_view name) const { return directory() / name; }

  LoadedFile tensors;                             // of model.safetensors
  LoadedTensor& tensor(std::string_view ending);  // the only one whose name ends so

  void save() const { save_safetensors(*this / "model.safetensors", tensors); }
  // Writes the tensors as model-00001-of-0000N.safetensors with an index, instead of model.safetensors.
  void save_shards(size_t count) const;
  static std::string shard(size_t i, size_t count);  // from 1

  // Replaces every `from` in a file of the copy; there must be one.
  void edit(std::string_view file, std::string_view from, std::string_view to) const;

  // What open() says, or "" when it opens.
  std::string refusal() const;

 private:
  tools::TemporaryDirectory directory_;
};

// Whether the text has all of the parts.
bool has_all(std::string_view text, std::initializer_list<std::string_view> parts);

}  // namespace lockstep::engine
