#include "engine/sampling/form/number_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace lockstep::engine {
namespace {

using Bound = NumberShape::Bound;

// A bound's digits, not negative.
struct Decimal {
  std::string whole, part;  // "0" or no leading zero; no trailing zero
  bool exclusive = false;
};

std::optional<Decimal> decimal(double value, bool exclusive) {
  char text[400];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const std::string all(text, end);
  const size_t point = all.find('.');
  Decimal out{all.substr(0, point), point == std::string::npos ? "" : all.substr(point + 1), exclusive};
  if (out.whole.size() + out.part.size() > NumberShape::bounded_digits) return std::nullopt;
  return out;
}

// Compares a number that is read digit by digit with a bound: -1, 0 or 1 so far, where before the point only
// numbers of as many digits are compared.
int compare_digit(int so_far, const std::string& bound, size_t at, char digit) {
  if (so_far != 0) return so_far;
  const char other = at < bound.size() ? bound[at] : '0';
  return digit < other ? -1 : digit > other;
}
int compare_whole(int so_far, const Decimal& bound, size_t count) {
  if (count != bound.whole.size()) return count < bound.whole.size() ? -1 : 1;
  return so_far;
}
int compare_end(int so_far, const Decimal& bound, size_t count) {
  return so_far == 0 && count < bound.part.size() ? -1 : so_far;
}

// Numbers that are not negative, between two bounds, without an exponent.
class Magnitudes {
 public:
  Magnitudes(GrammarBuilder& builder, bool integer, std::optional<Decimal> low, std::optional<Decimal> high,
             Grammar::State to)
      : builder_(builder), integer_(integer), low_(std::move(low)), high_(std::move(high)), to_(to) {
    size_t whole = integer ? NumberShape::bounded_digits : 9;
    for (const auto& bound : {low_, high_})
      if (bound) whole = std::max(whole, bound->whole.size());
    whole_digits_ = static_cast<int>(whole);
    part_digits_ = NumberShape::bounded_digits - whole_digits_;
  }

  void add(Grammar::State from) {
    states_[{Stage::begin, 0, 0, 0}] = from;
    todo_.push_back({Stage::begin, 0, 0, 0});
    for (size_t next = 0; next < todo_.size(); ++next) {
      const Key key = todo_[next];
      leave(key, states_[key]);
    }
  }

 private:
  enum class Stage { begin, zero, whole, point, part };
  using Key = std::tuple<Stage, int, int, int>;  // digits of the stage so far, comparison with low, with high

  void leave(const Key& key, Grammar::State from) {
    const auto [stage, count, low, high] = key;
    if (stage == Stage::begin) {
      digit(from, '0', Stage::zero, 1, 0, 0);
      for (char c = '1'; c <= '9'; ++c) digit(from, c, Stage::whole, 1, 0, 0);
      return;
    }
    const bool before_point = stage == Stage::zero || stage == Stage::whole;
    if (stage == Stage::whole && count < whole_digits_)
      for (char c = '0'; c <= '9'; ++c) digit(from, c, Stage::whole, count + 1, low, high);
    const int by_low = before_point && low_ ? compare_whole(low, *low_, static_cast<size_t>(count)) : low;
    const int by_high =
        before_point && high_ ? compare_whole(high, *high_, static_cast<size_t>(count)) : high;
    if (before_point && !integer_ && part_digits_ > 0) step(from, '.', {Stage::point, 0, by_low, by_high});
    if (!before_point && count < part_digits_)
      for (char c = '0'; c <= '9'; ++c) {
        const auto at = static_cast<size_t>(count);
        step(from, c,
             {Stage::part, count + 1, low_ ? compare_digit(low, low_->part, at, c) : 0,
              high_ ? compare_digit(high, high_->part, at, c) : 0});
      }
    if (stage == Stage::point) return;
    const auto digits = static_cast<size_t>(before_point ? 0 : count);
    const int end_low = low_ ? compare_end(by_low, *low_, digits) : 1;
    const int end_high = high_ ? compare_end(by_high, *high_, digits) : -1;
    const bool above = end_low > 0 || (end_low == 0 && !low_->exclusive);
    const bool below = end_high < 0 || (end_high == 0 && !high_->exclusive);
    if (above && below) builder_.skip(from, to_);
  }
  void digit(Grammar::State from, char c, Stage stage, int count, int low, int high) {
    const auto at = static_cast<size_t>(count - 1);
    step(from, c,
         {stage, count, low_ ? compare_digit(low, low_->whole, at, c) : 0,
          high_ ? compare_digit(high, high_->whole, at, c) : 0});
  }
  void step(Grammar::State from, char c, const Key& key) {
    const auto [at, fresh] = states_.try_emplace(key, 0);
    if (fresh) {
      at->second = builder_.state();
      todo_.push_back(key);
    }
    builder_.byte(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), at->second);
  }

  GrammarBuilder& builder_;
  const bool integer_;
  const std::optional<Decimal> low_, high_;
  const Grammar::State to_;
  int whole_digits_, part_digits_;
  std::map<Key, Grammar::State> states_;
  std::vector<Key> todo_;
};

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]{1,2})?, with a limit on digits.
void add_any(GrammarBuilder& builder, bool integer, Grammar::State from, Grammar::State to) {
  const Grammar::State first = builder.state(), whole = builder.state();
  builder.skip(from, first);
  builder.skip(builder.literal(from, "-"), first);
  builder.byte(first, '0', '0', whole);
  const auto digits = [&](Grammar::State at, uint8_t low, int most, Grammar::State end) {
    for (int i = 0; i < most; ++i, low = '0') {
      const Grammar::State next = builder.state();
      builder.byte(at, low, '9', next);
      builder.skip(next, end);
      at = next;
    }
  };
  digits(first, '1', NumberShape::digits, whole);
  builder.skip(whole, to);
  if (integer) return;
  const Grammar::State part = builder.state(), exponent = builder.state(),
                       unsigned_exponent = builder.state();
  builder.skip(whole, part);
  digits(builder.literal(whole, "."), '0', NumberShape::digits, part);
  builder.skip(part, to);
  builder.byte(part, 'e', 'e', exponent);
  builder.byte(part, 'E', 'E', exponent);
  builder.skip(exponent, unsigned_exponent);
  builder.byte(exponent, '+', '+', unsigned_exponent);
  builder.byte(exponent, '-', '-', unsigned_exponent);
  digits(unsigned_exponent, '0', 2, to);
}

}  // namespace

bool add_numbers(GrammarBuilder& builder, const NumberShape& shape, Grammar::State from, Grammar::State to) {
  if (!shape.low && !shape.high) {
    add_any(builder, shape.integer, from, to);
    return true;
  }
  std::optional<Decimal> low, high;
  if (shape.low && !(low = decimal(shape.low->value, shape.low->exclusive))) return false;
  if (shape.high && !(high = decimal(shape.high->value, shape.high->exclusive))) return false;
  const bool above_zero = shape.low && shape.low->value >= 0,
             below_zero = shape.high && shape.high->value < 0;
  const Decimal zero{"0", "", false};
  if (!below_zero) {
    const bool from_zero = !shape.low || shape.low->value < 0;
    Magnitudes(builder, shape.integer, from_zero ? std::nullopt : low, high, to).add(from);
  }
  if (!above_zero) {
    // The bounds change places; numbers below zero are those with a "-" that are not zero.
    std::optional<Decimal> least = below_zero ? high : Decimal{"0", "", true};
    Magnitudes(builder, shape.integer, least, low, to).add(builder.literal(from, "-"));
  }
  return true;
}

}  // namespace lockstep::engine
