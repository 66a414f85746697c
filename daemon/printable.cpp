#include "daemon/printable.h"

#include "ipc/ipc.h"

namespace lockstep::daemon {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = ipc::utf8_length(text);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  if (out.size() <= most) return out;
  std::size_t head = most / 2, tail = out.size() - most / 2;
  while (head > 0 && continues_character(out[head])) --head;
  while (tail < out.size() && continues_character(out[tail])) ++tail;
  return out.substr(0, head) + "…" + out.substr(tail);
}

}  // namespace lockstep::daemon
