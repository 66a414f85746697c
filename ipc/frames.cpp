#include <utility>

#include "ipc/ipc.h"

namespace lockstep::ipc {

void FrameReader::push(std::string_view bytes) {
  if (start_ > 0) {
    held_.erase(0, start_);
    searched_ -= start_;
    start_ = 0;
  }
  if (held_.size() + bytes.size() > most_message_bytes + 1)
    throw ProtocolError("a message of more than " + std::to_string(most_message_bytes >> 20) + " MiB");
  held_ += bytes;
}

std::optional<std::string> FrameReader::next() {
  const size_t end = held_.find('\0', searched_);
  if (end == std::string::npos) {
    searched_ = held_.size();
    return std::nullopt;
  }
  if (start_ == 0 && end + 1 == held_.size()) {  // all that is held: nothing is copied, nothing stays
    std::string message = std::exchange(held_, {});
    message.pop_back();
    searched_ = 0;
    return message;
  }
  std::string message = held_.substr(start_, end - start_);
  start_ = searched_ = end + 1;
  return message;
}

}  // namespace lockstep::ipc
