// Vector instructions that move values between lanes or choose them: moves, selection, V_READFIRSTLANE_B32,
// V_PERMLANEX16_B32, V_MBCNT (RDNA2 ISA 12.7, 12.8 and 12.12, RDNA3 ISA 16.7, 16.8 and 16.12), and what DPP
// and SDWA do to the operands of others (RDNA2 ISA 6.3 and 13.3.7 to 13.3.9, RDNA3 ISA 7.7 DPP16).
#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

// What nobody wrote may be copied; whoever uses the copy is told.
void move(Wave& w, const Instruction& i) {
  uint32_t room[row_words];
  const uint32_t mask = w.active(), good = written_lanes(w, i.source[0]);
  store_row(w, i.target, fetch(w, i.source[0], room), mask);
  w.undefine(i.target, mask & ~good);
}

void choose(Wave& w, const Instruction& i) {
  uint32_t room[2][row_words], out[lanes];
  const uint32_t* no = fetch(w, i.source[0], room[0]);
  const uint32_t* yes = fetch(w, i.source[1], room[1]);
  const auto which = static_cast<uint32_t>(scalar_value(w, i.source[2]));
  for (int l = 0; l < lanes; ++l) out[l] = which >> l & 1 ? yes[l] : no[l];
  if (w.active() & ~written_bits(w, i.source[2])) throw Fault("chooses by a mask that nobody wrote");
  const uint32_t good = (written_lanes(w, i.source[0]) & ~which) | (written_lanes(w, i.source[1]) & which);
  const uint32_t mask = w.active();
  store_row(w, i.target, out, mask);
  w.undefine(i.target, mask & ~good);
}

// The first active lane; lane 0 where none is.
void read_first_lane(Wave& w, const Instruction& i) {
  const int lane = w.active() ? std::countr_zero(w.active()) : 0;
  const uint16_t r = i.source[0].reg;
  if (!(w.defined[r] >> lane & 1)) throw Fault("reads v" + std::to_string(r) + ", which nobody wrote");
  w.set_scalar(i.scalar_target, w.v[r][lane]);
}

// Each lane reads one of the other 16 of its pair of rows: four bits a lane choose. A lane whose source is
// inactive keeps what it had.
void permute_other_row(Wave& w, const Instruction& i) {
  const uint64_t choice = scalar_value(w, i.source[1]) | scalar_value(w, i.source[2]) << 32;
  const uint16_t r = i.source[0].reg;
  uint32_t out[lanes], mask = 0, good = 0;
  for (int l = 0; l < lanes; ++l) {
    const int from = ((l & 16) ^ 16) + static_cast<int>(choice >> 4 * (l % 16) & 15);
    out[l] = w.v[r][from];
    mask |= (w.active() >> from & 1) << l;
    good |= (w.defined[r] >> from & 1) << l;
  }
  mask &= w.active();
  if (mask & ~good) throw Fault("reads lanes of v" + std::to_string(r) + ", which nobody wrote");
  store_row(w, i.target, out, mask);
}

// Bits of the mask below each lane, added.
void count_below(Wave& w, const Instruction& i) {
  uint32_t room[2][row_words], out[lanes];
  const uint32_t *mask = fetch(w, i.source[0], room[0]), *sum = fetch(w, i.source[1], room[1]);
  for (int l = 0; l < lanes; ++l)
    out[l] = static_cast<uint32_t>(std::popcount(mask[l] & ((1u << l) - 1))) + sum[l];
  const uint32_t good = written_lanes(w, i);
  store_row(w, i.target, out, w.active());
  w.undefine(i.target, w.active() & ~good);
}

uint32_t part_of(uint32_t word, Part part, bool is_signed) {
  switch (part) {
    case Part::word: return word;
    case Part::low_half:
    case Part::high_half: {
      const uint32_t half = part == Part::high_half ? word >> 16 : word & 0xffff;
      return is_signed ? static_cast<uint32_t>(static_cast<int16_t>(half)) : half;
    }
    default: {
      const uint32_t byte = word >> 8 * (static_cast<int>(part) - static_cast<int>(Part::byte0)) & 0xff;
      return is_signed ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
    }
  }
}

const Entry entries[] = {
    {.mnemonic = "v_mov_b32", .run = move, .moves = true},
    {.mnemonic = "v_cndmask_b32", .run = choose, .moves = true},
    {.mnemonic = "v_readfirstlane_b32", .run = read_first_lane, .form = Form::mask, .moves = true},
    {.mnemonic = "v_permlanex16_b32", .run = permute_other_row, .moves = true},
    {.mnemonic = "v_mbcnt_lo_u32_b32", .run = count_below},
};

}  // namespace

// Source 0 comes from the lane that lane_table names. Where that lane is inactive the result is that of 0
// with BOUND_CTRL, and nothing is written without.
void run_dpp(Wave& w, const Instruction& i) {
  const uint32_t active = w.active();
  const uint16_t r = i.original[0].reg;
  const uint32_t* from = w.v[r];
  uint32_t* row = w.v[spare + 1];
  uint32_t mask = active & i.write_mask;
  if (active == all_lanes && w.defined[r] == all_lanes) {
    for (int l = 0; l < lanes; ++l) row[l] = from[i.lane_table[l]];
  } else {
    uint32_t valid = 0, good = 0;
    for (int l = 0; l < lanes; ++l) {
      const uint32_t lane = i.lane_table[l];
      const bool there = active >> lane & 1;
      row[l] = there ? from[lane] : 0;
      valid |= static_cast<uint32_t>(there) << l;
      good |= (there ? w.defined[r] >> lane & 1 : 1u) << l;
    }
    if (!i.bound_control) mask &= valid;
    if (mask & ~good) throw Fault("reads lanes of v" + std::to_string(r) + ", which nobody wrote");
  }
  w.defined[spare + 1] = all_lanes;
  w.s[exec] = mask;
  i.inner(w, i);
  w.s[exec] = active;
}

// RDNA2 only: parts of words as sources and target; the rest of the target becomes 0 (UNUSED_PAD).
void run_parts(Wave& w, const Instruction& i) {
  for (int n = 0; n < 2; ++n) {
    const Source& s = i.original[n];
    if (s.kind == Source::none) continue;
    uint32_t room[row_words];
    const uint32_t* from = fetch(w, s, room);
    uint32_t* row = w.v[spare + 1 + n];
    for (int l = 0; l < lanes; ++l) row[l] = part_of(from[l], i.source_part[n], i.source_signed[n]);
    w.defined[spare + 1 + n] = all_lanes;
  }
  i.inner(w, i);
  if (i.target_part == Part::word) return;
  const bool half = i.target_part == Part::low_half || i.target_part == Part::high_half;
  const int shift = half ? 16 * (i.target_part == Part::high_half)
                         : 8 * (static_cast<int>(i.target_part) - static_cast<int>(Part::byte0));
  uint32_t out[lanes];
  for (int l = 0; l < lanes; ++l) out[l] = (w.v[i.target][l] & (half ? 0xffffu : 0xffu)) << shift;
  store_row(w, i.final_target, out, w.active());
}

std::span<const Entry> special_entries() { return entries; }

}  // namespace lockstep::rdna
