#include "engine/sampling/stop.h"

#include <chrono>
#include <optional>
#include <random>
#include <stdexcept>

#include "tests/catch.h"

namespace lockstep::engine {
namespace {

// The definition, slowly: the first place where a stop string ends, and the longest that ends there.
std::pair<std::string, bool> cut(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops)
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0)
        longest = std::max(longest, stop.size());
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

struct Sent {
  std::string text;
  bool matched;
};

Sent stream(const std::vector<std::string>& pieces, const std::vector<std::string>& stops) {
  StopMatcher matcher(stops);
  std::string text;
  for (const std::string& piece : pieces) text += matcher.push(piece);
  text += matcher.finish();
  return {text, matcher.matched()};
}

TEST_CASE("F01 a stop string that spans tokens is cut exactly, held-back text is released") {
  const Sent spanning = stream({"one tw", "o thr", "ee four"}, {"o three"});
  CHECK(spanning.text == "one tw");
  CHECK(spanning.matched);

  StopMatcher matcher({"\n", "Alice:"});
  CHECK(matcher.push("Hello Al") == "Hello ");
  CHECK(matcher.push("ic") == "");
  CHECK(matcher.push("ia, and Alice") == "Alicia, and ");
  CHECK(matcher.finish() == "Alice");
  CHECK_FALSE(matcher.matched());

  const Sent nested = stream({"Bob: hi", "\n", "Alice: x"}, {"\n", "\nAlice:"});
  CHECK(nested.text == "Bob: hi");
  CHECK(nested.matched);

  const Sent repeating = stream({"aab", "aaa", "b"}, {"aaab"});
  CHECK(repeating.text == "aab");
  CHECK(repeating.matched);

  const Sent inner = stream({"xabcdef"}, {"abcdef", "cd"});  // "cd" is complete first
  CHECK(inner.text == "xab");
  const Sent suffix = stream({"xabcdef"}, {"cd", "bcd"});  // both end at once: the longer
  CHECK(suffix.text == "xa");

  const Sent wide = stream({"日", "本", "語"}, {"本語"});
  CHECK(wide.text == "日");
  CHECK(wide.matched);
}

TEST_CASE("F01 nothing follows a match") {
  StopMatcher matcher({"stop"});
  CHECK(matcher.push("a stop b") == "a ");
  CHECK(matcher.push("more") == "");
  CHECK(matcher.finish() == "");
  CHECK(matcher.matched());
}

TEST_CASE("F01 every split into pushes sends the same text") {
  const uint32_t seed = 20240601;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> letters{"a", "b", "\n", "é", "ê", "本", "😀"};
  const auto word = [&](size_t most, size_t alphabet) {
    std::string text;
    for (size_t n = random() % (most + 1); n > 0; --n) text += letters[random() % alphabet];
    return text;
  };
  int matches = 0;
  for (int round = 0; round < 20000; ++round) {
    const size_t alphabet = 1 + random() % letters.size();
    std::vector<std::string> stops;
    for (size_t n = random() % 5; n > 0; --n) {
      const std::string stop = word(8, alphabet);
      if (!stop.empty()) stops.push_back(stop);
      if (!stop.empty() && random() % 3 == 0) stops.push_back(stop + word(3, alphabet));
    }
    const std::string text = word(60, alphabet);
    const auto [expected, found] = cut(text, stops);
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % 9;  // splits characters too
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    const Sent sent = stream(pieces, stops);
    CAPTURE(round, text, stops);
    REQUIRE(sent.text == expected);
    REQUIRE(sent.matched == found);
    matches += found;
  }
  CHECK(matches > 5000);
  CHECK(matches < 15000);
}

TEST_CASE("stop strings hold back no more than they must") {
  StopMatcher matcher({"aab", "本語"});
  CHECK(matcher.push("xa") == "x");
  CHECK(matcher.push("a") == "");
  CHECK(matcher.push("a") == "a");  // "aa" may still begin "aab"
  CHECK(matcher.push("c") == "aac");
  CHECK(matcher.push("日本") == "日");
  CHECK(matcher.push("人") == "本人");
  StopMatcher none({});
  CHECK(none.push("text") == "text");
}

TEST_CASE("stop strings past their limits are refused") {
  CHECK_THROWS_AS(StopMatcher({""}), std::invalid_argument);
  CHECK_THROWS_AS(StopMatcher({std::string(StopMatcher::max_bytes + 1, 'x')}), std::invalid_argument);
  CHECK_THROWS_AS(StopMatcher(std::vector<std::string>(StopMatcher::max_stops + 1, "x")),
                  std::invalid_argument);
  CHECK_NOTHROW(StopMatcher(
      std::vector<std::string>(StopMatcher::max_stops, std::string(StopMatcher::max_bytes, 'x'))));
}

TEST_CASE("stop strings take linear time") {
  // Almost matches all along: a quadratic matcher would need minutes.
  std::vector<std::string> stops;
  for (size_t n = 0; n < StopMatcher::max_stops; ++n)
    stops.push_back(std::string(StopMatcher::max_bytes - 1 - n, 'a') + "b");
  StopMatcher matcher(stops);
  const std::string text(1 << 20, 'a');
  const auto begin = std::chrono::steady_clock::now();
  std::string sent = matcher.push(text);
  sent += matcher.finish();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK((sent == text));
}

}  // namespace
}  // namespace lockstep::engine
