// Philox4x32-10: random words that are a pure function of a key and a counter (Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", 2011; the constants are the paper's).
#pragma once

#include "kernels/canon/base.h"

namespace lockstep::kernels::canon {

struct PhiloxWords {
  uint32_t word[4];
};

LOCKSTEP_CANON PhiloxWords philox(PhiloxWords counter, uint32_t key0, uint32_t key1) {
  uint32_t* c = counter.word;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(0xd2511f53u) * c[0];
    const uint64_t b = static_cast<uint64_t>(0xcd9e8d57u) * c[2];
    const uint32_t next0 = static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0;
    const uint32_t next2 = static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1;
    c[1] = static_cast<uint32_t>(b);
    c[3] = static_cast<uint32_t>(a);
    c[0] = next0;
    c[2] = next2;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return counter;
}

// The 64 random bits of one absolute position under one seed: word 0 is the high half, word 1 the low half.
LOCKSTEP_CANON uint64_t philox_bits(uint64_t seed, uint64_t position) {
  const PhiloxWords counter = {
      {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0}};
  const PhiloxWords words = philox(counter, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return (static_cast<uint64_t>(words.word[0]) << 32) | words.word[1];
}

}  // namespace lockstep::kernels::canon
