#include <algorithm>

#include "engine/chat/chat_format.h"
#include "engine/engine.h"
#include "engine/files/checkpoint.h"
#include "engine/memory/budget.h"
#include "engine/models/forward.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {
namespace {

// Runs `read` and keeps what it refuses for.
template <class Read>
void noting(std::vector<std::string>& problems, Read read) {
  try {
    read();
  } catch (const CheckpointError& error) {
    problems.push_back(error.what());
  } catch (const TokenizerError& error) {
    problems.push_back(error.what());
  } catch (const TemplateError& error) {
    problems.push_back(error.what());
  }
}

void plan_memory(Inspection& result, const ModelConfig& config, const Options& options) {
  const auto device = kernels::open_device(options.device, options.threads);
  result.budget = options.memory ? options.memory : memory_share(device->free_memory());
  const int most = options.context ? std::min(options.context, config.max_positions) : config.max_positions;
  Weights none;
  if (config.mtp_layers > 0) none.draft.emplace();
  const Forward forward(*device, config, none, serving_capacity(options.chunk, options.lanes, most));
  result.device = device->name();
  result.weight_bytes = result.parts.bytes;
  result.scratch_bytes = forward.scratch_bytes();
  result.state_bytes = forward.state_bytes();
  result.position_bytes = forward.page_bytes() / kernels::page_positions;
  result.lanes = options.lanes;
  const uint64_t fixed =
      result.weight_bytes + result.scratch_bytes + result.state_bytes * static_cast<uint64_t>(options.lanes);
  std::vector<int> contexts;
  for (int context = 2048; context < most; context *= 2) contexts.push_back(context);
  contexts.push_back(most);
  for (const int context : contexts) {
    const int pages = (context + kernels::page_positions - 1) / kernels::page_positions;
    const Division division = divide({result.budget, fixed, result.state_bytes, forward.page_bytes(), pages,
                                      options.lanes, options.cache});
    result.fits.push_back({context, forward.page_bytes() * static_cast<uint64_t>(pages),
                           division.least > result.budget ? 0 : division.lanes_pages / pages});
  }
}

}  // namespace

Inspection inspect(const Options& options) {
  Inspection result;
  result.name = std::filesystem::absolute(options.model).lexically_normal().filename();
  if (result.name.empty()) result.name = options.model;
  try {
    noting(result.problems, [&] {
      const Checkpoint checkpoint = Checkpoint::open(options.model);
      const ModelConfig& config = checkpoint.config();
      result.readable = true;
      result.family = config.model_type;
      result.vocabulary = config.vocabulary;
      result.context = config.max_positions;
      result.experts = config.experts;
      result.experts_per_token = config.experts_per_token;
      result.multi_token_head = config.mtp_layers > 0;
      result.parts = summarize(checkpoint);
      plan_memory(result, config, options);
    });
    if (!std::filesystem::is_directory(options.model)) return result;
    noting(result.problems, [&] { Tokenizer::load(options.model); });
    noting(result.problems, [&] { ChatFormat::load(options.model); });
    return result;
  } catch (const kernels::OutOfMemory& error) {
    throw StartError(StartError::Kind::memory, error.what());
  } catch (const kernels::DeviceError& error) {
    throw StartError(StartError::Kind::device, error.what());
  }
}

}  // namespace lockstep::engine
