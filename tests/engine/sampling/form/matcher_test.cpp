#include "engine/sampling/form/matcher.h"

#include "tests/catch.h"
#include "tests/engine/sampling/form/form_texts.h"

using namespace lockstep::engine;
using namespace lockstep::test;

namespace {

// a^n b^n
std::shared_ptr<const Grammar> balanced() {
  GrammarBuilder builder;
  const int32_t rule = builder.rule();
  const auto start = builder.state(), inside = builder.literal(start, "a"), end = builder.state(),
             after = builder.state();
  builder.define(rule, start);
  builder.call(inside, rule, after);
  builder.skip(inside, after);
  builder.skip(builder.literal(after, "b"), end);
  builder.accept(end);
  return builder.finish(rule);
}

TEST_CASE("rules that call themselves are counted by their frames") {
  CHECK(fits(balanced(), "ab"));
  CHECK(fits(balanced(), "aaabbb"));
  CHECK_FALSE(fits(balanced(), "aab"));
  CHECK_FALSE(fits(balanced(), "abb"));
  CHECK_FALSE(fits(balanced(), ""));
}

TEST_CASE("the depth is bounded and never leads to a dead end") {
  Matcher matcher(balanced());
  int depth = 0;
  for (; matcher.allows("a"); ++depth) matcher.advance("a");
  CHECK(depth == Grammar::max_depth + 1);
  for (; matcher.allows("b"); --depth) matcher.advance("b");
  CHECK(depth == 0);
  CHECK(matcher.complete());
}

TEST_CASE("what is kept is bounded, and forgetting changes nothing") {
  // Nested JSON makes ever new sets of ways.
  const auto grammar = compiled(R"({"type":"array","items":{"$ref":"#"}})").grammar;
  Matcher matcher(grammar);
  std::string open;
  for (int round = 0; round < 3000; ++round) {
    const bool opens = round % 37 < 20 && open.size() < 40;
    const char* byte = opens ? "[" : open.empty() ? "[" : "]";
    if (!matcher.allows(byte)) byte = matcher.allows(",") ? "," : "[";
    REQUIRE(matcher.allows(byte));
    matcher.advance(byte);
    if (*byte == '[') open += '[';
    if (*byte == ']') open.pop_back();
    if (open.empty()) {
      CHECK(matcher.complete());
      matcher = Matcher(grammar);
    } else {
      CHECK_FALSE(matcher.complete());
    }
  }
}

TEST_CASE("a grammar that cannot end or begins with itself is refused") {
  GrammarBuilder endless;
  const int32_t rule = endless.rule();
  const auto start = endless.state();
  endless.define(rule, start);
  endless.byte(start, 'a', 'a', start);
  CHECK_THROWS_AS(endless.finish(rule), FormError);
  GrammarBuilder left;
  const int32_t itself = left.rule();
  const auto begin = left.state(), end = left.state();
  left.define(itself, begin);
  left.call(begin, itself, end);
  left.skip(left.literal(begin, "x"), end);
  left.accept(end);
  CHECK_THROWS_AS(left.finish(itself), FormError);
}

}  // namespace
