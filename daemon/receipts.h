// Receipts of replies: made, read again, and judged.
#pragma once

#include "daemon/exchange.h"
#include "daemon/openai/request.h"
#include "engine/engine.h"
#include "ipc/ipc.h"

namespace lockstep::daemon {

// As they held for a reply, without its seed.
ipc::Sampling parameters_of(const engine::Sampling& sampling);

// Nothing when prompt and reply have more tokens than a message can carry.
std::optional<ipc::Receipt> receipt_of(const Exchange& exchange, const engine::Reply& reply);

// The request that computes a receipt's reply anew, from nothing. Throws ApiError: the receipt is of another
// model or canon, contradicts itself, or does not fit here.
openai::Request to_request(const ipc::Receipt& receipt, const engine::Engine& engine,
                           const engine::Sampling& defaults);

ipc::Verdict verdict_on(const ipc::Receipt& receipt, const engine::Reply& computed,
                        const engine::ModelInfo& model);

}  // namespace lockstep::daemon
