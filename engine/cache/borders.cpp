#include "engine/cache/borders.h"

#include <map>

namespace lockstep::engine {

std::vector<Border> borders(std::span<const int32_t> tokens, std::optional<int32_t> message_start) {
  constexpr int interval = 2048, closest = 16;
  const int length = static_cast<int>(tokens.size());
  std::vector<int> starts;
  for (int i = 0; i < length; ++i)
    if (message_start && tokens[i] == *message_start) starts.push_back(i);

  std::map<int, bool> wanted;  // position to `system`
  for (int position = interval; position < length; position += interval) wanted[position] = false;
  for (size_t back = 1; back <= 2 && back <= starts.size(); ++back)
    wanted[starts[starts.size() - back]] = false;
  if (starts.size() > 2) wanted[starts[1]] = true;
  const int last = starts.empty() ? length - 1 : starts.back();
  wanted[last] = false;

  std::vector<Border> result;
  int before = 0;
  for (const auto& [position, system] : wanted) {
    if (position <= 0 || (position - before < closest && position != last)) continue;
    result.push_back({position, system});
    before = position;
  }
  return result;
}

}  // namespace lockstep::engine
