#include "engine/files/quantization.h"

#include "engine/files/json.h"
#include "engine/files/refuse.h"
#include "engine/files/tensor_names.h"

namespace lockstep::engine {

namespace {

namespace dom = simdjson::dom;

void check_mode(const JsonObject& object) {
  const auto mode = object.string("mode");
  if (mode && *mode != "affine")
    refuse(object.name("mode"), " is ", quoted(std::string_view(*mode)),
           "; only affine quantization is supported: convert the model with it");
}

CodeFormat read_format(const JsonObject& object, std::optional<CodeFormat> standard) {
  check_mode(object);
  const auto bits = object.integer("bits", 2, 8), group = object.integer("group_size", 1, 1 << 20);
  if (!bits && !standard) refuse_missing(object.name("bits"));
  if (!group && !standard) refuse_missing(object.name("group_size"));
  const CodeFormat format{bits ? static_cast<int>(*bits) : standard->bits,
                          group ? static_cast<int>(*group) : standard->group};
  if (format.bits == 7) refuse(object.name("bits"), " is 7; codes of 2, 3, 4, 5, 6 and 8 bits are supported");
  if (format.group != 32 && format.group != 64 && format.group != 128)
    refuse(object.name("group_size"), " is ", format.group, "; groups of 32, 64 and 128 are supported");
  return format;
}

std::string canonical_module(std::string_view key) {
  std::string name = canonical_name(std::string(key) + ".");
  name.pop_back();
  return name;
}

Quantization read_one(const JsonObject& object) {
  if (const auto method = object.string("quant_method"); method && *method != "affine")
    refuse(object.name("quant_method"), " is ", quoted(std::string_view(*method)),
           "; only the affine quantization of MLX is supported: convert the model with mlx_lm.convert");
  Quantization result;
  result.standard = read_format(object, std::nullopt);
  std::map<std::string, std::string> keys;  // canonical module -> the key it came under
  for (const auto& [key, value] : object.fields()) {
    if (key == "bits" || key == "group_size" || key == "mode" || key == "quant_method" || is_vision(key))
      continue;
    const std::string module = canonical_module(key);
    std::optional<CodeFormat> format;
    bool on = false;
    if (value.is_object())
      format = read_format(JsonObject(value, object.name(key)), result.standard);
    else if (value.get_bool().get(on))
      refuse(object.name(key), " must be an object with bits and group_size, true or false, not ",
             kind(value));
    else if (on)
      format = result.standard;
    const auto [at, fresh] = result.exceptions.emplace(module, format);
    if (!fresh && at->second != format)
      refuse(object.where(), " has two different exceptions for one module, ", quoted(keys[module]), " and ",
             quoted(key), "; keep one");
    keys.emplace(module, key);
  }
  return result;
}

}  // namespace

Quantization read_quantization(const JsonObject& config) {
  const auto first = config.object("quantization"), second = config.object("quantization_config");
  if (!first && !second) return {};
  const Quantization result = read_one(first ? *first : *second);
  if (first && second && read_one(*second) != result)
    refuse(config.name("quantization"), " and quantization_config differ; keep the one that is right");
  return result;
}

}  // namespace lockstep::engine
