#include "engine/board.h"

#include "tests/catch.h"

using namespace lockstep::engine;

TEST_CASE("what was told before anybody listened comes at once, but for details, and once") {
  Board board;
  board.tell({false, "one"});
  board.tell({true, "detail"});
  std::vector<std::string> first, second;
  board.on_notice([&](const Notice& notice) { first.push_back(notice.text); });
  CHECK(first == std::vector<std::string>{"one"});
  board.tell({true, "detail"});
  CHECK(first == std::vector<std::string>{"one", "detail"});
  board.on_notice([&](const Notice& notice) { second.push_back(notice.text); });
  board.tell({false, "two"});
  CHECK(first.size() == 2);
  CHECK(second == std::vector<std::string>{"two"});
}

TEST_CASE("a beat may ask for the status and set another beat") {
  Board board;
  board.beat();  // nobody listens
  std::vector<std::string> faults;
  board.on_beat([&] {
    faults.push_back(board.status().fault);
    board.on_beat([&] { faults.push_back("other"); });
  });
  board.count_refused();
  board.fault("lost");
  board.beat();
  board.beat();
  CHECK(faults == std::vector<std::string>{"lost", "other"});
  CHECK(board.status().refused == 1);
}
