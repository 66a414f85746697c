#include "engine/files/tensor_check.h"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/files/refuse.h"

namespace lockstep::engine {

namespace {

using kernels::ScaleType;

std::string text_of(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text += "]";
}

std::string text_of(const CodeFormat& format) {
  return std::to_string(format.bits) + " bits in groups of " + std::to_string(format.group);
}

std::optional<ScaleType> scale_type_of(DataType type) {
  switch (type) {
    case DataType::bf16: return ScaleType::bf16;
    case DataType::fp16: return ScaleType::fp16;
    case DataType::fp32: return ScaleType::fp32;
    default: return std::nullopt;
  }
}

// The tensor under the name it has in its file, for errors.
std::string shown(const WeightFiles::Place& place) {
  return "tensor " + quoted(std::string_view(place.tensor->name)) + " in " + quoted(place.file->file.path());
}

class Check {
 public:
  Check(const WeightFiles& files, const Quantization& quantization)
      : files_(files), quantization_(quantization) {}

  void floats(const ExpectedFloats& expected) {
    const auto* place = take(expected.name);
    if (!place) return;
    const TensorInfo& info = place->tensor->info;
    if (!scale_type_of(info.type))
      refuse(shown(*place), " is ", text_of(info), "; it must be BF16, F16 or F32");
    if (info.shape == expected.shape) return;
    const bool original = expected.name.ends_with("conv1d.weight") && info.shape.size() == 3 &&
                          info.shape[1] == 1 && info.shape[2] == expected.shape[1];
    refuse(shown(*place), " has the shape ", text_of(info.shape), ", config.json asks for ",
           text_of(expected.shape),
           original ? "; this is the original layout: convert the model with mlx_lm.convert" : "");
  }

  void matrix(const ExpectedMatrix& expected) {
    const auto* weight = take(expected.name + ".weight");
    const bool codes = weight ? weight->tensor->info.type == DataType::u32
                              : files_.tensors.contains(expected.name + ".scales");
    MatrixInfo info{expected.outputs, expected.inputs, expected.experts, 16, 0, ScaleType::bf16, 0};
    if (codes) {
      const auto* scales = take(expected.name + ".scales");
      const auto* biases = take(expected.name + ".biases");
      if (!weight || !scales || !biases) return;  // reported as missing
      code_matrix(expected, *weight, *scales, *biases, info);
    } else if (weight) {
      plain_matrix(expected, *weight, info);
    } else {
      return;
    }
    table.emplace(expected.name, info);
  }

  void finish(const std::filesystem::path& directory) {
    std::vector<std::string> unused;
    for (const auto& [name, place] : files_.tensors)
      if (!used_.contains(name)) unused.push_back(place.tensor->name);
    if (missing_.empty() && unused.empty()) return;
    std::string text;
    if (!missing_.empty())
      text += " lacks " + counted(missing_.size(), "tensor") +
              " that its config.json asks for: " + listed(missing_);
    if (!unused.empty())
      text += std::string(text.empty() ? "" : ", and") + " holds " + counted(unused.size(), "tensor") +
              " that it does not ask for: " + listed(unused);
    refuse("the model in ", quoted(directory), text,
           "; config.json and weights must be of the same model, converted with mlx_lm.convert");
  }

  MatrixTable table;

 private:
  const WeightFiles::Place* take(const std::string& name) {
    const auto at = files_.tensors.find(name);
    if (at == files_.tensors.end()) {
      missing_.push_back(name);
      return nullptr;
    }
    used_.insert(name);
    return &at->second;
  }

  static std::vector<int64_t> shape_of(const ExpectedMatrix& expected, int64_t columns) {
    if (expected.experts > 0) return {expected.experts, expected.outputs, columns};
    return {expected.outputs, columns};
  }

  // What config.json says about the module: nullopt for nothing, then codes or bf16.
  std::optional<std::optional<CodeFormat>> exception(const std::string& module) const {
    const auto at = quantization_.exceptions.find(module);
    if (at == quantization_.exceptions.end()) return std::nullopt;
    return at->second;
  }

  void plain_matrix(const ExpectedMatrix& expected, const WeightFiles::Place& weight,
                    MatrixInfo& info) const {
    const TensorInfo& tensor = weight.tensor->info;
    if (tensor.type != DataType::bf16)
      refuse(shown(weight), " is ", text_of(tensor),
             "; matrices must be codes (U32 with scales and biases) or BF16: convert the model to bfloat16");
    if (tensor.shape != shape_of(expected, expected.inputs))
      refuse(shown(weight), " has the shape ", text_of(tensor.shape), ", config.json asks for ",
             text_of(shape_of(expected, expected.inputs)));
    if (const auto said = exception(expected.name); said && *said)
      refuse(shown(weight), " is not quantized, but config.json says ", text_of(**said),
             "; correct \"quantization\" or convert the model again");
    info.bytes = tensor.bytes;
  }

  void code_matrix(const ExpectedMatrix& expected, const WeightFiles::Place& weight,
                   const WeightFiles::Place& scales, const WeightFiles::Place& biases,
                   MatrixInfo& info) const {
    const TensorInfo& codes = weight.tensor->info;
    const int64_t columns = codes.shape.empty() ? 0 : codes.shape.back();
    const int64_t groups = scales.tensor->info.shape.empty() ? 0 : scales.tensor->info.shape.back();
    for (const auto* place : {&scales, &biases}) {
      const TensorInfo& tensor = place->tensor->info;
      if (!scale_type_of(tensor.type))
        refuse(shown(*place), " is ", text_of(tensor), "; it must be BF16, F16 or F32");
      if (tensor.shape != shape_of(expected, groups))
        refuse(shown(*place), " has the shape ", text_of(tensor.shape),
               ", config.json and its neighbours ask for ", text_of(shape_of(expected, groups)));
    }
    if (scales.tensor->info.type != biases.tensor->info.type)
      refuse(shown(scales), " is ", name_of(scales.tensor->info.type), ", but its biases are ",
             name_of(biases.tensor->info.type), "; both must have one type");
    if (codes.shape != shape_of(expected, columns))
      refuse(shown(weight), " has the shape ", text_of(codes.shape), ", config.json asks for ",
             text_of(shape_of(expected, int64_t{expected.inputs} * 4 / 32)), " at 4 bits");
    const CodeFormat stored = stored_format(expected, weight, columns, groups);

    const auto said = exception(expected.name);
    const std::optional<CodeFormat> agreed = said ? *said : quantization_.standard;
    if (agreed != stored)
      refuse(shown(weight), " is stored with ", text_of(stored), ", but config.json says ",
             agreed ? text_of(*agreed) : "that it is not quantized",
             "; correct \"quantization\" or convert the model again");
    info.bits = stored.bits;
    info.group = stored.group;
    info.scale_type = *scale_type_of(scales.tensor->info.type);
    info.bytes = codes.bytes + scales.tensor->info.bytes + biases.tensor->info.bytes;
  }

  // 32 * columns = inputs * bits, and inputs = groups * group.
  static CodeFormat stored_format(const ExpectedMatrix& expected, const WeightFiles::Place& weight,
                                  int64_t columns, int64_t groups) {
    const int64_t inputs = expected.inputs;
    const int64_t group = groups > 0 && inputs % groups == 0 ? inputs / groups : 0;
    if (group != 32 && group != 64 && group != 128)
      refuse(shown(weight), " has ", groups, " scales for the ", inputs,
             " inputs of a row; groups of 32, 64 and 128 inputs are supported");
    const int64_t bits = columns * 32 % inputs == 0 ? columns * 32 / inputs : 0;
    if (bits < 2 || bits > 8 || bits == 7)
      refuse(shown(weight), " has ", columns, " words for the ", inputs,
             " inputs of a row; codes of 2, 3, 4, 5, 6 and 8 bits are supported");
    return {static_cast<int>(bits), static_cast<int>(group)};
  }

  const WeightFiles& files_;
  const Quantization& quantization_;
  std::set<std::string> used_;
  std::vector<std::string> missing_;
};

}  // namespace

MatrixTable check_tensors(const std::filesystem::path& directory, const ExpectedTensors& expected,
                          const WeightFiles& files, const Quantization& quantization) {
  Check check(files, quantization);
  for (const ExpectedMatrix& matrix : expected.matrices) check.matrix(matrix);
  for (const ExpectedFloats& floats : expected.floats) check.floats(floats);
  check.finish(directory);
  return std::move(check.table);
}

}  // namespace lockstep::engine
