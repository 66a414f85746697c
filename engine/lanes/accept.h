// From a job to its lane.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/lanes/lane.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {

// The lane of a job, ready to wait for its turn; both references must outlive it. Throws RequestError:
// invalid with the field, context_overflow.
std::unique_ptr<Lane> accept(JobId, Job, const ModelInfo&, const Tokenizer&,
                             const std::vector<int32_t>& end_tokens);

}  // namespace lockstep::engine
