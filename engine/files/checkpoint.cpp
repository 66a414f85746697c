#include "engine/files/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "engine/files/config_reader.h"
#include "engine/files/fingerprint.h"
#include "engine/files/half.h"
#include "engine/files/tensor_names.h"
#include "engine/files/weight_files.h"

namespace lockstep::engine {

static_assert(std::endian::native == std::endian::little, "safetensors data is used as it is");

struct Checkpoint::State {
  std::filesystem::path directory;
  CheckpointConfig config;
  WeightFiles files;
  ExpectedTensors expected;
  MatrixTable matrices;
  std::once_flag fingerprint_once;
  std::string fingerprint;

  const WeightFiles::Place& place(std::string_view tensor) const {
    const auto at = files.tensors.find(tensor);
    if (at == files.tensors.end()) refuse(quoted(directory), " has no tensor ", quoted(tensor));
    return at->second;
  }

  HostBuffer read(const std::string& tensor) const {
    const WeightFiles::Place& at = place(tensor);
    HostBuffer buffer(at.tensor->info.bytes);
    at.file->file.read(at.tensor->offset, buffer.data(), buffer.size());
    return buffer;
  }
};

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    refuse(quoted(directory),
           error ? " cannot be used as a model: " + error.message() : std::string(" is not a directory"),
           "; name the directory that holds the model's config.json");
  auto state = std::make_unique<State>();
  state->directory = directory;
  state->config = read_config(directory);
  state->files = open_weight_files(directory);
  // MLX's converters drop the multi-token head and leave mtp_num_hidden_layers as it was.
  const auto& tensors = state->files.tensors;
  if (std::none_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return is_mtp(tensor.first); }))
    state->config.model.mtp_layers = 0;
  state->expected = expected_tensors(state->config.model);
  state->matrices = check_tensors(directory, state->expected, state->files, state->config.quantization);
  return Checkpoint(std::move(state));
}

const ModelConfig& Checkpoint::config() const { return state_->config.model; }
const ExpectedTensors& Checkpoint::tensors() const { return state_->expected; }
bool Checkpoint::has(std::string_view tensor) const { return state_->files.tensors.contains(tensor); }
const TensorInfo& Checkpoint::info(std::string_view tensor) const {
  return state_->place(tensor).tensor->info;
}

const MatrixInfo& Checkpoint::matrix_info(std::string_view module) const {
  const auto at = state_->matrices.find(module);
  if (at == state_->matrices.end()) refuse(quoted(state_->directory), " has no matrix ", quoted(module));
  return at->second;
}

HostMatrix Checkpoint::matrix(std::string_view module, int outputs, int inputs, int experts) const {
  const MatrixInfo& info = matrix_info(module);
  if (info.outputs != outputs || info.inputs != inputs || std::max(info.experts, 1) != experts)
    refuse("matrix ", quoted(module), " in ", quoted(state_->directory), " is ", std::max(info.experts, 1),
           " x ", info.outputs, " x ", info.inputs, ", not ", experts, " x ", outputs, " x ", inputs);
  const std::string name(module);
  HostMatrix result;
  result.weights = state_->read(name + ".weight");
  if (info.bits < 16) {
    result.scales = state_->read(name + ".scales");
    result.biases = state_->read(name + ".biases");
  }
  result.source = {.experts = experts,
                   .outputs = outputs,
                   .inputs = inputs,
                   .bits = info.bits,
                   .group = info.group,
                   .scale_type = info.scale_type,
                   .weights = result.weights.data(),
                   .scales = result.scales.data(),
                   .biases = result.biases.data()};
  return result;
}

std::vector<float> Checkpoint::floats(std::string_view tensor, int64_t elements) const {
  const TensorInfo& found = info(tensor);
  int64_t count = 1;
  for (int64_t length : found.shape) count *= length;
  if (count != elements)
    refuse("tensor ", quoted(tensor), " in ", quoted(state_->directory), " has ", count, " elements, not ",
           elements);
  const HostBuffer buffer = state_->read(std::string(tensor));
  std::vector<float> result(static_cast<size_t>(count));
  if (found.type == DataType::fp32) {
    if (count > 0) std::memcpy(result.data(), buffer.data(), buffer.size());
    return result;
  }
  if (found.type != DataType::bf16 && found.type != DataType::fp16)
    refuse("tensor ", quoted(tensor), " in ", quoted(state_->directory), " is ", text_of(found),
           ", which does not hold numbers of fp32 or less");
  for (size_t i = 0; i < result.size(); i++) {
    uint16_t bits;
    std::memcpy(&bits, buffer.data() + 2 * i, 2);
    result[i] = found.type == DataType::bf16 ? from_bf16(bits) : from_fp16(bits);
  }
  return result;
}

const std::string& Checkpoint::fingerprint() const {
  std::call_once(state_->fingerprint_once, [this] {
    state_->fingerprint = sha256(fingerprint_text(state_->config.model, state_->files));
  });
  return state_->fingerprint;
}

}  // namespace lockstep::engine
