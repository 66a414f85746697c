#include "kernels/cpu/ranking.h"

#include <algorithm>
#include <functional>

#include "kernels/canon/base.h"

namespace lockstep::kernels::cpu {

uint64_t rank_key(float logit, int32_t id) {
  const uint32_t bits = canon::bits_of(logit + 0.0f);  // -0 becomes +0
  const uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return static_cast<uint64_t>(ordered) << 32 | ~static_cast<uint32_t>(id);
}

int32_t id_of(uint64_t key) { return static_cast<int32_t>(~static_cast<uint32_t>(key)); }

int keep_largest(uint64_t* keys, int n, int count) {
  if (n < count) return n;
  std::nth_element(keys, keys + count - 1, keys + n, std::greater<>());
  return count;
}

void sort_largest_first(uint64_t* keys, int n) { std::sort(keys, keys + n, std::greater<>()); }

uint32_t order_of(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

float float_at(uint32_t order) { return canon::float_of(order >> 31 ? order & 0x7fffffffu : ~order); }

float float_below(uint32_t order) {
  return float_at(order == 0x80000000u ? 0x7ffffffeu : order - 1);  // 0x7fffffff would be -0, which equals +0
}

}  // namespace lockstep::kernels::cpu
