#include "engine/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/files/json.h"
#include "engine/files/refuse.h"

namespace lockstep::engine {

namespace {

namespace dom = simdjson::dom;

struct TypeName {
  std::string_view name;
  DataType type;
  uint64_t bits;
};
constexpr TypeName type_names[] = {
    {"BF16", DataType::bf16, 16},    {"F16", DataType::fp16, 16},     {"F32", DataType::fp32, 32},
    {"U32", DataType::u32, 32},      {"BOOL", DataType::other, 8},    {"U8", DataType::other, 8},
    {"I8", DataType::other, 8},      {"F8_E5M2", DataType::other, 8}, {"F8_E4M3", DataType::other, 8},
    {"F8_E8M0", DataType::other, 8}, {"U16", DataType::other, 16},    {"I16", DataType::other, 16},
    {"I32", DataType::other, 32},    {"U64", DataType::other, 64},    {"I64", DataType::other, 64},
    {"F64", DataType::other, 64},    {"C64", DataType::other, 64},
};

std::string in_file(const InputFile& file) { return "in " + quoted(file.path()); }

// One entry of the header. The offset is relative to the data.
SafetensorsFile::Tensor parse_tensor(std::string_view name, dom::element entry, const std::string& where) {
  const std::string tensor = "tensor " + quoted(name) + " " + where;
  const JsonObject object(entry, tensor);
  for (const auto& [key, value] : object.fields())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      refuse(object.name(key), " is not a key of the format");
  const auto type_name = object.string("dtype");
  const auto type = std::find_if(std::begin(type_names), std::end(type_names),
                                 [&](const TypeName& t) { return type_name && t.name == *type_name; });
  if (type == std::end(type_names))
    refuse(tensor, " has ",
           type_name ? "the unknown type " + quoted(std::string_view(*type_name)) : "no type");

  SafetensorsFile::Tensor result{std::string(name), {type->type, {}, 0}, 0};
  const auto shape = object.find("shape");
  dom::array dimensions;
  if (!shape || shape->get_array().get(dimensions)) refuse(tensor, " has no list as its shape");
  if (dimensions.size() > most_dimensions)
    refuse(tensor, " has ", dimensions.size(), " dimensions, more than ", most_dimensions);
  uint64_t elements = 1;
  bool overflow = false, empty = false;
  for (dom::element dimension : dimensions) {
    int64_t length = 0;
    if (!dimension.is_int64() || dimension.get_int64().get(length) || length < 0)
      refuse(tensor, " has ", kind(dimension), " in its shape, where whole numbers from 0 belong");
    result.info.shape.push_back(length);
    empty = empty || length == 0;
    overflow = overflow || __builtin_mul_overflow(elements, static_cast<uint64_t>(length), &elements);
  }
  if (empty) elements = 0;
  uint64_t bits = 0;
  if (!empty && (overflow || __builtin_mul_overflow(elements, type->bits, &bits)))
    refuse(tensor, " has the shape ", text_of(result.info), ", which is more than 64 bits can count");
  result.info.bytes = bits / 8;

  const auto offsets = object.find("data_offsets");
  dom::array pair;
  if (!offsets || offsets->get_array().get(pair) || pair.size() != 2)
    refuse(tensor, " needs two whole numbers, begin and end, as its data_offsets");
  uint64_t bounds[2];
  for (size_t i = 0; i < 2; i++) {
    const dom::element bound = pair.at(i).value_unsafe();
    if (bound.get_uint64().get(bounds[i]) || bounds[i] > std::numeric_limits<int64_t>::max() / 2)
      refuse(tensor, " has ", kind(bound), " in its data_offsets, where two whole numbers from 0 belong");
  }
  if (bounds[0] > bounds[1])
    refuse(tensor, " has reversed data_offsets: it begins at ", bounds[0], " and ends at ", bounds[1]);
  if (bounds[1] - bounds[0] != result.info.bytes)
    refuse(tensor, " has ", bounds[1] - bounds[0], " bytes between its data_offsets, but ",
           text_of(result.info), " takes ", result.info.bytes);
  result.offset = bounds[0];
  return result;
}

// The tensors follow each other without overlap or hole. Returns how many bytes they take.
uint64_t check_layout(const std::vector<SafetensorsFile::Tensor>& tensors, const std::string& where) {
  std::vector<const SafetensorsFile::Tensor*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->info.bytes < b->info.bytes;
  });
  uint64_t end = 0;
  const SafetensorsFile::Tensor* last = nullptr;
  for (const auto* tensor : order) {
    if (tensor->offset < end)
      refuse("tensor ", quoted(tensor->name), " ", where, " begins at byte ", tensor->offset,
             " of the data and overlaps ", quoted(last->name), ", which ends at ", end);
    if (tensor->offset > end)
      refuse("tensor ", quoted(tensor->name), " ", where, " begins at byte ", tensor->offset,
             " of the data and leaves a hole: what comes before it ends at ", end);
    end = tensor->offset + tensor->info.bytes;
    last = tensor;
  }
  return end;
}

std::string read_header(const InputFile& file) {
  unsigned char start[8];
  if (file.size() < sizeof start)
    refuse(quoted(file.path()), " is ", file.size(),
           " bytes long, shorter than the 8 bytes every safetensors file begins with; copy or download it "
           "again");
  file.read(0, start, sizeof start);
  uint64_t length = 0;
  for (int i = 7; i >= 0; i--) length = length << 8 | start[i];
  if (length > most_header_bytes)
    refuse(quoted(file.path()), " says its header is ", length, " bytes long, more than the ",
           most_header_bytes, " that are read; it is damaged or not a safetensors file");
  if (length > file.size() - sizeof start)
    refuse(quoted(file.path()), " is cut short: it is ", file.size(), " bytes long, its header alone needs ",
           length + sizeof start, "; copy or download it again");
  std::string header(length, '\0');
  file.read(sizeof start, header.data(), length);
  return header;
}

}  // namespace

std::string_view name_of(DataType type) {
  for (const TypeName& t : type_names)
    if (t.type == type && type != DataType::other) return t.name;
  return "another type";
}

std::string text_of(const TensorInfo& tensor) {
  std::string text(name_of(tensor.type));
  text += " [";
  for (size_t i = 0; i < tensor.shape.size(); i++)
    text += (i > 0 ? ", " : "") + std::to_string(tensor.shape[i]);
  return text += "]";
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile result{InputFile(path), {}, {}};
  const std::string where = in_file(result.file);
  std::string header = read_header(result.file);
  const uint64_t data = 8 + header.size();
  const JsonDocument document(std::move(header), "the header of " + quoted(path), 8);
  dom::object entries;
  if (document.root().get_object().get(entries)) refuse(document.where(), " is not an object");

  for (auto [name, entry] : entries) {
    if (name == "__metadata__") {
      const JsonObject metadata(entry, document.where() + ": " + quoted(name));
      result.format = metadata.string("format").value_or("");
      continue;
    }
    if (result.tensors.size() == most_tensors_per_file)
      refuse(document.where(), " lists more than ", most_tensors_per_file, " tensors");
    result.tensors.push_back(parse_tensor(name, entry, where));
  }
  std::stable_sort(result.tensors.begin(), result.tensors.end(),
                   [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  for (size_t i = 1; i < result.tensors.size(); i++)
    if (result.tensors[i].name == result.tensors[i - 1].name)
      refuse(document.where(), " lists tensor ", quoted(result.tensors[i].name), " twice, at bytes ",
             result.tensors[i - 1].offset, " and ", result.tensors[i].offset, " of the data");

  const uint64_t size = data + check_layout(result.tensors, where);
  if (result.file.size() < size)
    refuse(quoted(path), " is cut short: it is ", result.file.size(), " bytes long where its header needs ",
           size, "; copy or download it again");
  if (result.file.size() > size)
    refuse(quoted(path), " is too long: it has ", result.file.size(), " bytes where its header needs ", size,
           "; copy or download it again");
  for (Tensor& tensor : result.tensors) tensor.offset += data;
  return result;
}

}  // namespace lockstep::engine
