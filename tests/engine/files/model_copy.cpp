#include "tests/engine/files/model_copy.h"

#include <algorithm>
#include <stdexcept>

#include "tests/catch.h"

namespace lockstep::engine {

namespace fs = std::filesystem;

LoadedFile load_safetensors(const fs::path& path) {
  SafetensorsFile file = SafetensorsFile::open(path);
  LoadedFile result;
  for (const auto& tensor : file.tensors) {
    LoadedTensor loaded{{tensor.name, std::string(name_of(tensor.info.type)), tensor.info.shape},
                        std::string(tensor.info.bytes, '\0')};
    file.file.read(tensor.offset, loaded.data.data(), loaded.data.size());
    result.push_back(std::move(loaded));
  }
  return result;
}

void save_safetensors(const fs::path& path, const LoadedFile& tensors, const std::string& format) {
  tools::SafetensorsWriter writer(path, {tensors.begin(), tensors.end()}, format);
  for (const LoadedTensor& tensor : tensors) writer.write(tensor.data.data(), tensor.data.size());
  writer.close();
}

ModelCopy::ModelCopy(std::string_view model) {
  const fs::path source = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/data" / model;
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors"})
    fs::copy_file(source / name, directory() / name);
  tensors = load_safetensors(directory() / "model.safetensors");
}

LoadedTensor& ModelCopy::tensor(std::string_view ending) {
  LoadedTensor* found = nullptr;
  for (LoadedTensor& t : tensors)
    if (t.name.ends_with(ending)) {
      if (found) throw std::logic_error("two tensors end in " + std::string(ending));
      found = &t;
    }
  if (!found) throw std::logic_error("no tensor ends in " + std::string(ending));
  return *found;
}

std::string ModelCopy::shard(size_t i, size_t count) {
  return "model-0000" + std::to_string(i) + "-of-0000" + std::to_string(count) + ".safetensors";
}

void ModelCopy::save_shards(size_t count) const {
  fs::remove(*this / "model.safetensors");
  std::string index = "{\"metadata\": {\"total_size\": 0}, \"weight_map\": {";
  for (size_t i = 0; i < count; i++) {
    const auto at = [&](size_t k) {
      return tensors.begin() + static_cast<std::ptrdiff_t>(k * tensors.size() / count);
    };
    const LoadedFile part(at(i), at(i + 1));
    save_safetensors(*this / shard(i + 1, count), part);
    for (const LoadedTensor& tensor : part)
      index += "\n\"" + tensor.name + "\": \"" + shard(i + 1, count) + "\",";
  }
  index.back() = '}';
  tools::write_file(*this / "model.safetensors.index.json", index + "}\n");
}

void ModelCopy::edit(std::string_view file, std::string_view from, std::string_view to) const {
  std::string text = tools::read_file(*this / file);
  size_t at = text.find(from), count = 0;
  for (; at != text.npos; at = text.find(from, at + to.size()), count++) text.replace(at, from.size(), to);
  if (count == 0) throw std::logic_error("no " + std::string(from) + " in " + std::string(file));
  tools::write_file(*this / file, text);
}

std::string ModelCopy::refusal() const {
  try {
    Checkpoint::open(directory());
    return "";
  } catch (const CheckpointError& error) {
    return error.what();
  }
}

bool has_all(std::string_view text, std::initializer_list<std::string_view> parts) {
  UNSCOPED_INFO("said: " << text);
  return std::all_of(parts.begin(), parts.end(),
                     [&](std::string_view p) { return text.find(p) != text.npos; });
}

}  // namespace lockstep::engine
