#include <random>

#include "engine/tokenizer/tokenizer.h"
#include "tests/catch.h"

namespace lockstep::engine {
namespace {

constexpr std::string_view bad = "\uFFFD";

std::string stream(std::string_view bytes, const std::vector<size_t>& cuts) {
  Utf8Stream utf8;
  std::string text;
  size_t at = 0;
  for (const size_t cut : cuts) {
    text += utf8.push(bytes.substr(at, cut - at));
    at = cut;
  }
  text += utf8.push(bytes.substr(at));
  return text + utf8.finish();
}

// Well-formed as table 3-7 of the Unicode standard lists it, row by row.
bool well_formed(std::string_view text) {
  const auto in = [&](size_t i, unsigned low, unsigned high) {
    return i < text.size() && static_cast<uint8_t>(text[i]) >= low && static_cast<uint8_t>(text[i]) <= high;
  };
  for (size_t i = 0; i < text.size();) {
    const auto tail = [&](size_t from, size_t to) {
      for (size_t j = i + from; j < i + to; ++j)
        if (!in(j, 0x80, 0xBF)) return false;
      return true;
    };
    if (in(i, 0, 0x7F)) {
      i += 1;
    } else if (in(i, 0xC2, 0xDF) && tail(1, 2)) {
      i += 2;
    } else if (((in(i, 0xE0, 0xE0) && in(i + 1, 0xA0, 0xBF)) ||
                (in(i, 0xE1, 0xEC) && in(i + 1, 0x80, 0xBF)) ||
                (in(i, 0xED, 0xED) && in(i + 1, 0x80, 0x9F)) ||
                (in(i, 0xEE, 0xEF) && in(i + 1, 0x80, 0xBF))) &&
               tail(2, 3)) {
      i += 3;
    } else if (((in(i, 0xF0, 0xF0) && in(i + 1, 0x90, 0xBF)) ||
                (in(i, 0xF1, 0xF3) && in(i + 1, 0x80, 0xBF)) ||
                (in(i, 0xF4, 0xF4) && in(i + 1, 0x80, 0x8F))) &&
               tail(2, 4)) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

TEST_CASE("F02 a character split over pushes arrives whole") {
  Utf8Stream utf8;
  CHECK(utf8.push("a\xF0\x9F") == "a");
  CHECK(utf8.push("\x98") == "");
  CHECK(utf8.push("\x80!") == "😀!");
  CHECK(utf8.push("\xE4") == "");
  CHECK(utf8.push("\xBD\xA0\xE5\xA5") == "你");
  CHECK(utf8.push("\xBD") == "好");
  CHECK(utf8.finish() == "");
}

TEST_CASE("F02 what can never become a character is replaced, part by part") {
  const std::string replaced(bad);
  // Examples of the Unicode standard, tables 3-8 to 3-11.
  CHECK(stream("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", {}) ==
        replaced + replaced + replaced + replaced + replaced + replaced + replaced + replaced + "A");
  CHECK(stream("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", {}) ==
        replaced + replaced + replaced + replaced + replaced + replaced + replaced + replaced + "A");
  CHECK(stream("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", {}) ==
        replaced + replaced + replaced + replaced + replaced + "A" + replaced + replaced + "B");
  CHECK(stream("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", {}) ==
        replaced + replaced + replaced + replaced + "A");
  CHECK(stream("\xF0\x9F\x98", {1, 2}) == replaced);
  CHECK(stream("\xF0\x9F\x98", {3}) == replaced);
  CHECK(stream("\x80", {}) == replaced);
}

TEST_CASE("F02 joined pushes equal decoding the whole, every piece is valid UTF-8") {
  const uint32_t seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> parts{"a",    "é",        "你",          "😀",    "\xF0",
                                       "\x9F", "\x98\x80", "\xE4\xBD",    "\xC3", "\xED\xA0",
                                       "\xFF", "\x80",     "\xEF\xBF\xBD"};
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (size_t n = random() % 12; n > 0; --n) bytes += parts[random() % parts.size()];
    Utf8Stream utf8;
    std::string text;
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = 1 + random() % 4;
      const std::string piece = utf8.push(std::string_view(bytes).substr(at, length));
      REQUIRE(well_formed(piece));
      text += piece;
      at += length;
    }
    text += utf8.finish();
    REQUIRE(text == stream(bytes, {}));
    if (well_formed(bytes)) REQUIRE(text == bytes);
  }
}

TEST_CASE("F02 tokens that are halves of characters decode to the characters") {
  const Tokenizer tokenizer =
      Tokenizer::load(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tiny-dense");
  const std::string text = "👩‍👩‍👧‍👦 你好 𝛑 naïve";
  const std::vector<int32_t> ids = tokenizer.encode(text, false);
  Utf8Stream utf8;
  std::string joined;
  size_t halves = 0;
  for (const int32_t id : ids) {
    halves += !well_formed(tokenizer.bytes(id));
    const std::string piece = utf8.push(tokenizer.bytes(id));
    CHECK(well_formed(piece));
    joined += piece;
  }
  CHECK(joined == text);
  CHECK(halves > 10);
  CHECK(tokenizer.decode(ids, true) == text);
  // Cut inside a character: only that one is replaced.
  const std::vector<int32_t> cut(ids.begin(), ids.begin() + 2);
  CHECK(tokenizer.decode(cut, true) == bad);
}

}  // namespace
}  // namespace lockstep::engine
