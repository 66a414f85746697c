// The local protocol's messages in the daemon's words, and back.
#pragma once

#include <vector>

#include "daemon/json/value.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/error.h"
#include "daemon/openai/reply.h"
#include "daemon/service.h"
#include "ipc/ipc.h"

namespace lockstep::daemon {

// Requests take the form that an OpenAI client sends, so that both are checked by the same table of fields.
// Throw ApiError.
openai::Request to_request(const ipc::Chat& chat, const engine::Sampling& defaults);
openai::Request to_request(const ipc::Complete& complete, const engine::Sampling& defaults);
std::vector<int32_t> tokens_of(const ipc::Tokenize& tokenize, const engine::Engine& engine,
                               const engine::Sampling& defaults);

ipc::Delta to_local(engine::Delta&& delta);
ipc::Final to_local(const openai::ReplyHead& head, const engine::Reply& reply);
ipc::Error to_local(const openai::ApiError& error);
std::vector<ipc::Model> local_models(const Service& service);
ipc::Status local_status(const Service& service, const Caller& caller);
ipc::LawCount to_local(const engine::LawCount& law);
// Of the daemon's own directory, for the pool: the disk is read.
ipc::SnapshotList local_snapshots(const Service& service);
bool same_but_time(const ipc::Status& a, const ipc::Status& b);

// Collects a reply for callers who want it whole.
class LocalWhole {
 public:
  void add(engine::Delta&& delta);
  ipc::Whole take(const openai::ReplyHead& head);

 private:
  ipc::Whole whole_;
};

}  // namespace lockstep::daemon
