// Ranking logits: logit falling, then id rising. Plain code, shared by the instruction sets.
#pragma once

#include <cstdint>

namespace lockstep::kernels::cpu {

// A finite logit and its id as one number, larger for what ranks earlier: above, the logit as an integer in
// the order of logits (both zeros alike); below, the inverted id.
uint64_t rank_key(float logit, int32_t id);
int32_t id_of(uint64_t key);

// The integer of a key's logit, the float of such an integer, and the largest float below it.
uint32_t order_of(uint64_t key);
float float_at(uint32_t order);
float float_below(uint32_t order);

// Moves the `count` largest of n keys to the front, the least of them last when there are that many. Returns
// how many are kept.
int keep_largest(uint64_t* keys, int n, int count);
// Sorts n keys, largest first.
void sort_largest_first(uint64_t* keys, int n);

}  // namespace lockstep::kernels::cpu
