#include "daemon/printable.h"

#include "tests/catch.h"

using lockstep::daemon::printable;

TEST_CASE("printable text stays, control characters and what is no UTF-8 is shown in hex") {
  CHECK(printable("plain é你👩", 100) == "plain é你👩");
  CHECK(printable(std::string_view("a\0b\n\x7f", 5), 100) == "a\\x00b\\x0a\\x7f");
  CHECK(printable("\xff\xed\xa0\x80!", 100) == "\\xff\\xed\\xa0\\x80!");
  CHECK(printable("cut \xe4\xbd", 100) == "cut \\xe4\\xbd");
  CHECK(printable("", 10).empty());
}

TEST_CASE("of long text the middle is left out, no character is cut") {
  CHECK(printable("0123456789", 10) == "0123456789");
  CHECK(printable("0123456789a", 10) == "01234…6789a");
  std::string text = "x";
  for (int i = 0; i < 100; ++i) text += "你";
  for (std::size_t most = 0; most < 40; ++most) {
    const std::string shown = printable(text, most);
    CHECK(shown.size() <= most + 3);
    CHECK(shown.find("\\x") == std::string::npos);
    CHECK(printable(shown, 100) == shown);
  }
}
