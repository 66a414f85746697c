// What is on its way: loads and stores of a wave that no wait has covered yet. RDNA2 ISA 4.4, RDNA3 ISA 4.4,
// RDNA4 ISA 4.4: loads of one kind return in order, scalar loads in any order.
#include <algorithm>

#include "tests/rdna/operations.h"

namespace lockstep::rdna {

namespace {

constexpr size_t most_pending = 63;  // the hardware holds a wave back that has more on its way

void arrive(Wave& w, const Pending& p) {
  for (int r = p.first; r < p.first + p.count; ++r) {
    if (p.scalar) {
      if (w.scalar_owner[r] == p.serial) w.awaited.scalar[r / 64] &= ~(uint64_t{1} << r % 64);
    } else if (w.owner[r] == p.serial) {
      w.awaited.vector[r / 64] &= ~(uint64_t{1} << r % 64);
    }
  }
}

void push(Wave& w, Counter counter, const Pending& p) {
  std::vector<Pending>& list = w.pending[counter];
  list.push_back(p);
  if (list.size() > most_pending) {
    arrive(w, list.front());
    list.erase(list.begin());
  }
}

}  // namespace

void begin_load(Wave& w, Counter counter, const Instruction& i, bool in_order, bool lds) {
  Pending p{++w.serial, in_order, lds};
  p.scalar = i.scalar_targets > 0;
  p.first = p.scalar ? i.scalar_target : i.target;
  p.count = p.scalar ? i.scalar_targets : i.targets;
  for (int r = p.first; r < p.first + p.count; ++r) (p.scalar ? w.scalar_owner : w.owner)[r] = p.serial;
  if (p.scalar) {
    w.awaited.add_scalar(p.first, p.count);
  } else {
    w.awaited.add_vector(p.first, p.count);
  }
  push(w, counter, p);
}

void count_store(Wave& w, Counter counter, bool in_order, bool lds) {
  push(w, counter, Pending{++w.serial, in_order, lds});
}

// At most `most_left` operations stay. One that returns in order has come when that many younger ones of its
// kind are left; one of any order only when none is left.
void wait_for(Wave& w, Counter counter, uint32_t most_left) {
  std::vector<Pending>& list = w.pending[counter];
  uint32_t younger = 0;
  for (size_t n = list.size(); n-- > 0;) {
    const bool come = list[n].in_order ? younger >= most_left : most_left == 0;
    if (list[n].in_order) ++younger;
    if (!come) continue;
    arrive(w, list[n]);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
  }
}

void Wave::start(uint32_t lanes_in_use) {
  std::fill(std::begin(defined), std::end(defined), 0);
  std::fill(std::begin(scalar_bits), std::end(scalar_bits), 0);
  full = {};
  awaited = {};
  for (auto& list : pending) list.clear();
  serial = 0;
  region = nullptr;
  started = lanes_in_use;
  next = 0;
  ended = at_barrier = signaled = scc = false;
  s[null] = 0;
  set_scalar(exec, lanes_in_use);
}

}  // namespace lockstep::rdna
