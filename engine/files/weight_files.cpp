#include "engine/files/weight_files.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "engine/files/input_file.h"
#include "engine/files/json.h"
#include "engine/files/refuse.h"
#include "engine/files/tensor_names.h"

namespace lockstep::engine {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t most_index_bytes = 100'000'000;
constexpr std::string_view index_name = "model.safetensors.index.json";
constexpr std::string_view single_name = "model.safetensors";

using WeightMap = std::map<std::string, std::string, std::less<>>;  // tensor -> file

// Names of the directory's *.safetensors, in order. Hidden files are none of them.
std::set<std::string> list_directory(const fs::path& directory) {
  std::error_code error;
  std::set<std::string> names;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename();
    if (name.ends_with(".safetensors") && name[0] != '.') names.insert(std::move(name));
  }
  if (error) refuse("cannot list ", quoted(directory), ": ", error.message());
  return names;
}

WeightMap read_index(const fs::path& path) {
  const JsonDocument document(read_text(path, most_index_bytes), quoted(path), 8);
  const JsonObject top(document.root(), document.where());
  const auto entries = top.object("weight_map");
  if (!entries) refuse_missing(top.name("weight_map"));
  WeightMap map;
  for (const auto& [tensor, value] : entries->fields()) {
    std::string_view file;
    if (value.get_string().get(file)) refuse(entries->name(tensor), " must name a file, not ", kind(value));
    if (file.find('/') != file.npos || file.find('\0') != file.npos || file.starts_with('.') ||
        !file.ends_with(".safetensors"))
      refuse(entries->name(tensor), " is mapped to ", quoted(file),
             "; only *.safetensors files in the model's own directory are read");
    map.emplace(tensor, file);
  }
  if (map.empty()) refuse(entries->where(), " maps no tensor");
  return map;
}

// The files that hold the weights, the multi-token head's own file not among them.
std::set<std::string> main_files(const fs::path& directory, const std::set<std::string>& present,
                                 const WeightMap& map, bool indexed) {
  if (!indexed) {
    if (present.contains(std::string(single_name))) return {std::string(single_name)};
    refuse(quoted(directory), " holds neither ", single_name, " nor ", index_name,
           present.empty()
               ? std::string("; copy or download the model again")
               : "; write an index for " + listed(std::vector<std::string>(present.begin(), present.end())));
  }
  std::set<std::string> files;
  for (const auto& [tensor, file] : map) files.insert(file);
  std::vector<std::string> missing;
  std::set_difference(files.begin(), files.end(), present.begin(), present.end(),
                      std::back_inserter(missing));
  if (!missing.empty())
    refuse(quoted(directory), " lacks ", counted(missing.size(), "file"), " that its ", index_name,
           " names: ", listed(missing), "; copy or download what is missing");
  return files;
}

// A file beside the weights: the multi-token head's, or refused.
SafetensorsFile open_side_file(const fs::path& path, bool indexed) {
  SafetensorsFile file = SafetensorsFile::open(path);
  const auto of_head = [](const auto& tensor) { return is_mtp(canonical_name(tensor.name)); };
  const auto other = std::find_if_not(file.tensors.begin(), file.tensors.end(), of_head);
  if (file.tensors.empty() || other != file.tensors.end())
    refuse(quoted(path), " lies beside ",
           indexed ? "the files that model.safetensors.index.json names" : "model.safetensors",
           other == file.tensors.end() ? " and is empty"
                                       : " and is not only a multi-token head (it holds " +
                                             quoted(std::string_view(other->name)) + ")",
           "; move away what does not belong to this model, or write the index anew");
  return file;
}

std::string place_of(const SafetensorsFile& file) {
  return quoted(std::string_view(file.file.path().filename().native()));
}

// Each tensor of the files once, under its canonical name.
void place_tensors(WeightFiles& weights) {
  for (const SafetensorsFile& file : weights.files)
    for (const auto& tensor : file.tensors) {
      if (is_vision(tensor.name)) continue;
      const auto [at, fresh] =
          weights.tensors.emplace(canonical_name(tensor.name), WeightFiles::Place{&file, &tensor});
      if (fresh) continue;
      const std::string_view name = tensor.name, other = at->second.tensor->name;
      if (name == other)
        refuse("tensor ", quoted(name), " is in two files, ", place_of(*at->second.file), " and ",
               place_of(file), "; keep the one that belongs to this model");
      refuse("tensor ", quoted(name), " in ", place_of(file), " is the same as ", quoted(other), " in ",
             place_of(*at->second.file), "; keep the one that belongs to this model");
    }
}

// Every file of the index holds what is mapped to it, and nothing else.
void check_index(const WeightFiles& weights, const WeightMap& map, const fs::path& index, size_t main_count) {
  std::map<std::string_view, std::string> found;  // tensor -> file
  std::vector<std::string> unmapped, absent;
  for (size_t i = 0; i < main_count; i++)
    for (const auto& tensor : weights.files[i].tensors) {
      const std::string file = weights.files[i].file.path().filename();
      found.emplace(tensor.name, file);
      const auto at = map.find(tensor.name);
      if (at == map.end())
        unmapped.push_back(tensor.name);
      else if (at->second != file)
        refuse(quoted(index), " says that tensor ", quoted(std::string_view(tensor.name)), " is in ",
               quoted(std::string_view(at->second)), ", but it is in ", quoted(std::string_view(file)),
               "; write the index anew");
    }
  for (const auto& [tensor, file] : map)
    if (!found.contains(tensor)) absent.push_back(tensor);
  if (!absent.empty())
    refuse(quoted(index), " names ", counted(absent.size(), "tensor"),
           " that its files do not hold: ", listed(absent),
           "; write the index anew, or copy the right files");
  if (!unmapped.empty())
    refuse(quoted(index), " does not name ", counted(unmapped.size(), "tensor"),
           " that its files hold: ", listed(unmapped), "; write the index anew, or copy the right files");
}

}  // namespace

WeightFiles open_weight_files(const fs::path& directory) {
  const std::set<std::string> present = list_directory(directory);
  const fs::path index = directory / index_name;
  std::error_code ignored;
  const bool indexed = fs::symlink_status(index, ignored).type() != fs::file_type::not_found;
  const WeightMap map = indexed ? read_index(index) : WeightMap();
  const std::set<std::string> main = main_files(directory, present, map, indexed);
  if (main.size() > most_weight_files)
    refuse(quoted(index), " names ", main.size(), " files, more than ", most_weight_files);

  WeightFiles result;
  for (const std::string& name : main) result.files.push_back(SafetensorsFile::open(directory / name));
  std::vector<std::string> beside;
  std::set_difference(present.begin(), present.end(), main.begin(), main.end(), std::back_inserter(beside));
  if (beside.size() > 1)
    refuse(quoted(directory), " holds ", beside.size(),
           " *.safetensors files that do not belong to the model: ", listed(beside),
           "; move them away, or write ", index_name, " anew");
  if (!beside.empty()) result.files.push_back(open_side_file(directory / beside[0], indexed));

  for (const SafetensorsFile& file : result.files)
    if (file.format == "pt")
      refuse(quoted(file.file.path()),
             " is in PyTorch's form (\"format\": \"pt\"), where norm weights lack the 1 ",
             "that MLX's conversion adds; convert the model with mlx_lm.convert");
  place_tensors(result);
  if (indexed) check_index(result, map, index, main.size());
  return result;
}

}  // namespace lockstep::engine
