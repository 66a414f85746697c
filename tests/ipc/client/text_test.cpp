#include "ipc/client/text.h"

#include <algorithm>
#include <random>

#include "ipc/utf8.h"
#include "tests/catch.h"

using namespace lockstep::ipc::client;

namespace {

// The lines that a terminal shows after what WordWrap writes.
std::string shown(const std::string& written) {
  std::vector<std::u32string> lines(1);
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i] == '\033') {
      const int back = std::stoi(written.substr(i + 2));
      for (int columns = 0; columns < back; lines.back().pop_back())
        columns += columns_of(lines.back().back());
      i = written.find('K', i);
    } else if (written[i] == '\n') {
      lines.emplace_back();
    } else {
      const auto lead = static_cast<unsigned char>(written[i]);
      const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
      char32_t code = more ? lead & (0x3F >> more) : lead;
      for (int k = 0; k < more; ++k) code = code << 6 | (written[++i] & 0x3F);
      lines.back() += code;
    }
  }
  std::string text;
  for (const auto& line : lines) {
    text += text.empty() && &line == &lines.front() ? "" : "\n";
    for (const char32_t code : line) lockstep::ipc::append_utf8(text, code);
  }
  return text;
}

std::string wrapped(const std::string& text, int width) { return shown(WordWrap(width).add(text)); }

int widest(const std::string& text) {
  int most = 0, columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    columns = byte == '\n' ? 0 : columns + (byte >= 0xE0 ? 2 : (byte & 0xC0) != 0x80);
    most = std::max(most, columns);
  }
  return most;
}

// Whether what stands apart in `text` stands apart in `broken`, too.
bool parts_words(std::string_view text, std::string_view broken) {
  const std::string_view blanks = " \n";
  while (!broken.empty()) {
    const size_t before = std::min(text.find_first_not_of(blanks), text.size());
    const size_t after = std::min(broken.find_first_not_of(blanks), broken.size());
    if (before > 0 && after == 0) return false;
    text.remove_prefix(std::min(before + 1, text.size()));
    broken.remove_prefix(std::min(after + 1, broken.size()));
  }
  return true;
}

}  // namespace

TEST_CASE("lines are broken at blanks") {
  CHECK(wrapped("one two three", 20) == "one two three");
  CHECK(wrapped("one two three", 8) == "one two \nthree");
  CHECK(wrapped("one two", 3) == "one\ntwo");
  CHECK(wrapped("aa bb cc", 5) == "aa bb\ncc");
  CHECK(wrapped("\ta\tb\t\tc", 20) == "        a       b\nc");
  CHECK(wrapped("one two\nthree four", 8) == "one two\nthree \nfour");
  CHECK(wrapped("  indented\n\n  twice", 20) == "  indented\n\n  twice");
  CHECK(wrapped("ab abcdefghijkl", 8) == "ab abcde\nfghijkl");
  CHECK(wrapped("\u4f60\u597d\u4f60\u597d\u4f60\u597d", 9) == "\u4f60\u597d\u4f60\u597d\n\u4f60\u597d");
  CHECK(wrapped("e\u0301e\u0301 e\u0301", 4) == "e\u0301e\u0301 e\u0301");
}

TEST_CASE("however a text is cut into pieces, its lines break alike, fit, and lose nothing") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      static const char* const pieces[] = {"a", "bc", " ", "\n", "\u00fc", "\u597d", "defghij", "  "};
      text += pieces[random() % 8];
    }
    const std::string whole = wrapped(text, 12);
    WordWrap wrap(12);
    std::string pieces;
    for (size_t at = 0; at < text.size();) {
      size_t length = 1;
      while (at + length < text.size() && (random() % 2 || (text[at + length] & 0xC0) == 0x80)) ++length;
      pieces += wrap.add(text.substr(at, length));
      at += length;
    }
    INFO(round << ": " << text);
    CHECK(shown(pieces) == whole);
    CHECK(widest(whole) <= 12);
    const auto visible = [](std::string of) {
      std::erase_if(of, [](char c) { return c == ' ' || c == '\n'; });
      return of;
    };
    CHECK(visible(whole) == visible(text));
    CHECK(parts_words(text, whole));
  }
}

TEST_CASE("tables have columns, numbers at their right") {
  CHECK(table({{"name"}, {"n", true}}, {{"a", "1"}, {"long one", "200"}}) ==
        "name        n\na           1\nlong one  200\n");
  CHECK(table({{"name"}, {"n", true}}, {{"\u597d\u00fc", "1"}, {"abcd", "2"}}) ==
        "name  n\n\u597d\u00fc   1\nabcd  2\n");
  CHECK(cut_lines("abcdef\n\u00fc\u00fc\u00fc\n\u597d\u597d\n", 3) == "abc\n\u00fc\u00fc\u00fc\n\u597d\n");
}

TEST_CASE("characters have the columns that terminals give them, whatever the locale") {
  CHECK(columns_of(U'a') == 1);
  CHECK(columns_of(U'\u00fc') == 1);
  CHECK(columns_of(U'\u2705') == 2);  // pictures are not only in the high planes
  CHECK(columns_of(U'\u2013') == 1);
  CHECK(columns_of(U'\U0001F600') == 2);
  CHECK(columns_of(U'\u0301') == 0);
  CHECK(columns_of(U'\u094D') == 0);  // nor do only Latin letters bear marks
  CHECK(columns_of("a\u597d\u0301") == 3);
  CHECK(wrapped("\u2705 \u2705 \u2705", 6) == "\u2705 \u2705 \n\u2705");
}

TEST_CASE("a terminal that becomes narrower has its lines broken there from then on") {
  WordWrap wrap(20);
  CHECK(wrap.add("one two three") == "one two three");
  wrap.resize(10);  // of the terminal's 11 columns "ee" has two, in a line of its own
  CHECK(shown(wrap.add("fold")) == "fold");
  CHECK(shown(wrap.add(" four")) == " \nfour");
  wrap.resize(30);
  CHECK(shown(wrap.add(" and more of it than thirty")) == " and more of it than \nthirty");
}

TEST_CASE("text is filled at blanks, below where its line began") {
  CHECK(filled("one two three", 9) == "one two\nthree");
  CHECK(filled("  one two three\nfour\n", 10) == "  one two\n  three\nfour\n");
  CHECK(filled("one two", 3, 2) == "one\n  two");
  CHECK(filled("a table   of two\n", 30) == "a table   of two\n");
  CHECK(filled("overlongword x\n\n", 5) == "overlongword\nx\n\n");
  CHECK(filled("one    ", 4) == "one");
  CHECK(filled("", 4).empty());
}
