#include "engine/files/summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/files/checkpoint.h"
#include "engine/files/tensor_names.h"

namespace lockstep::engine {

namespace {

const char* const roles[] = {"embedding", "full attention", "linear attention", "feed-forward", "router",
                             "experts",   "output head",    "multi-token head", "small tensors"};

size_t role_of(const std::string& module) {
  const auto in = [&](std::string_view part) { return module.find(part) != module.npos; };
  if (is_mtp(module)) return 7;
  if (module == "model.embed_tokens") return 0;
  if (in(".self_attn.")) return 1;
  if (in(".linear_attn.")) return 2;
  if (module.ends_with(".mlp.gate") || in(".shared_expert_gate")) return 4;
  if (in(".switch_mlp.")) return 5;
  if (module == "lm_head") return 6;
  return 3;
}

std::string format_of(const MatrixInfo& info) {
  if (info.bits == 16) return "BF16";
  const char* const scales[] = {"BF16", "F16", "F32"};
  return std::to_string(info.bits) + " bits, groups of " + std::to_string(info.group) + ", " +
         scales[static_cast<size_t>(info.scale_type)] + " scales";
}

}  // namespace

CheckpointSummary summarize(const Checkpoint& checkpoint) {
  CheckpointSummary result;
  const ModelConfig& config = checkpoint.config();
  for (LayerKind kind : config.layers)
    (kind == LayerKind::full_attention ? result.full_layers : result.linear_layers)++;

  std::map<std::pair<size_t, std::string>, RoleSummary> found;
  const auto add = [&](size_t role, const std::string& format, int64_t weights, uint64_t bytes) {
    RoleSummary& entry = found[{role, format}];
    entry.role = roles[role];
    entry.format = format;
    entry.tensors++;
    entry.weights += weights;
    entry.bytes += bytes;
    result.weights += weights;
    result.bytes += bytes;
  };
  for (const ExpectedMatrix& matrix : checkpoint.tensors().matrices) {
    const MatrixInfo& info = checkpoint.matrix_info(matrix.name);
    const int64_t one = int64_t{matrix.outputs} * matrix.inputs;
    add(role_of(matrix.name), format_of(info), one * std::max(matrix.experts, 1), info.bytes);
    // An embedding is looked up; as a tied head it is multiplied with.
    const bool multiplied = matrix.name != "model.embed_tokens" || config.tied_head;
    if (multiplied && !is_mtp(matrix.name))
      result.active_weights += one * (matrix.experts > 0 ? config.experts_per_token : 1);
  }
  for (const ExpectedFloats& floats : checkpoint.tensors().floats) {
    const TensorInfo& info = checkpoint.info(floats.name);
    int64_t count = 1;
    for (int64_t length : info.shape) count *= length;
    add(8, std::string(name_of(info.type)), count, info.bytes);
  }
  for (auto& [key, entry] : found) result.roles.push_back(std::move(entry));
  return result;
}

}  // namespace lockstep::engine
