// The local protocol's messages in the daemon's words, and back.
#pragma once

#include <vector>

#include "daemon/json/value.h"
#include "daemon/openai/error.h"
#include "daemon/openai/reply.h"
#include "daemon/service.h"
#include "ipc/ipc.h"

namespace lockstep::daemon {

// The request as an OpenAI client would send it, so that both are checked by the same table of fields.
// Throws ApiError.
json::Value to_chat_body(const ipc::Chat& chat);

ipc::Delta to_local(engine::Delta&& delta);
ipc::Final to_local(const openai::ReplyHead& head, const engine::Reply& reply);
ipc::Error to_local(const openai::ApiError& error);
std::vector<ipc::Model> local_models(const Service& service);
ipc::Status local_status(const Service& service);

// Collects a reply for callers who want it whole.
class LocalWhole {
 public:
  void add(engine::Delta&& delta);
  ipc::Whole take(const openai::ReplyHead& head);

 private:
  ipc::Whole whole_;
};

}  // namespace lockstep::daemon
