#include "kernels/canon/philox.h"

#include "tests/catch.h"

using namespace lockstep::kernels;

namespace {

void check(canon::PhiloxWords counter, uint32_t key0, uint32_t key1, canon::PhiloxWords expected) {
  const canon::PhiloxWords got = canon::philox(counter, key0, key1);
  for (int i = 0; i < 4; ++i) CHECK(got.word[i] == expected.word[i]);
}

}  // namespace

// The known-answer vectors that the generator's authors publish with Random123 (philox4x32, 10 rounds).
TEST_CASE("Philox4x32-10 gives its published words") {
  check({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  check({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
        {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  check({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
        {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_CASE("the bits of a position take word 0 as the high half and both halves of seed and position") {
  const canon::PhiloxWords words = canon::philox({{5, 7, 0, 0}}, 11, 13);
  CHECK(canon::philox_bits((uint64_t{13} << 32) | 11, (uint64_t{7} << 32) | 5) ==
        ((static_cast<uint64_t>(words.word[0]) << 32) | words.word[1]));
}
