#include "daemon/openai/responses_store.h"

#include "daemon/limits.h"

namespace lockstep::daemon::openai {
namespace {

// About what a response takes.
std::size_t size_of(const KeptResponse& response) {
  std::size_t bytes =
      1024 + 2 * (json::write(response.body).size() + json::write(json::Value(response.input)).size());
  for (const engine::Message& message : response.messages) {
    bytes += sizeof message + message.content.size() + message.reasoning.value_or("").size();
    for (const engine::ToolCall& call : message.calls)
      bytes += sizeof call + call.name.size() + call.arguments.size();
  }
  return bytes;
}

}  // namespace

void ResponsesStore::keep(KeptResponse response) {
  const std::size_t bytes = size_of(response);
  if (bytes > limits::responses_bytes) return;
  const std::lock_guard lock(mutex_);
  entries_.push_front({std::make_shared<const KeptResponse>(std::move(response)), bytes});
  by_id_[entries_.front().response->id] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > limits::responses_bytes || entries_.size() > limits::responses)
    drop(std::prev(entries_.end()));
}

std::shared_ptr<const KeptResponse> ResponsesStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto known = by_id_.find(id);
  if (known == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->response;
}

bool ResponsesStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto known = by_id_.find(id);
  if (known == by_id_.end()) return false;
  drop(known->second);
  return true;
}

void ResponsesStore::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_id_.erase(entry->response->id);
  entries_.erase(entry);
}

}  // namespace lockstep::daemon::openai
