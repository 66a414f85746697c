// Responses that are kept, so that a later request can go on from one by its id: in memory, within limits,
// the one used longest ago goes first. Threads: any.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/json/value.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

struct KeptResponse {
  std::string id;
  json::Value body;                       // as the client got it
  json::Array input;                      // the request's items
  std::vector<engine::Message> messages;  // the conversation up to and with the reply, without instructions
};

class ResponsesStore {
 public:
  void keep(KeptResponse response);
  std::shared_ptr<const KeptResponse> find(const std::string& id);  // null: not there
  bool remove(const std::string& id);

 private:
  struct Entry {
    std::shared_ptr<const KeptResponse> response;
    std::size_t bytes;
  };
  using Entries = std::list<Entry>;
  void drop(Entries::iterator entry);

  std::mutex mutex_;
  Entries entries_;  // the one used last in front
  std::unordered_map<std::string, Entries::iterator> by_id_;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep::daemon::openai
