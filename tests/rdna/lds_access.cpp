// The LDS (RDNA2 ISA 10 and 12.13, RDNA3 ISA 12 and 16.15, RDNA4 ISA 12 and 16.15): loads, stores, pairs of
// them whose offsets count elements or 64 elements, and an atomic sum.
#include "tests/rdna/lane_loops.h"
#include "tests/rdna/workgroup.h"

namespace lockstep::rdna {

namespace {

// What lanes read comes into spare rows first: targets may be where addresses are.
void read_lanes(Wave& w, const Instruction& i, int row, int bytes, uint32_t offset) {
  Lds& lds = w.group->lds;
  const uint32_t* address = w.v[i.source[0].reg];
  for (uint32_t left = w.active(); left; left &= left - 1) {
    const int l = std::countr_zero(left);
    for (int n = 0; n * 4 < bytes; ++n) {
      w.v[row + n][l] = lds.read(address[l] + offset + static_cast<uint32_t>(4 * n), 4, w.index);
    }
  }
}

void finish_read(Wave& w, const Instruction& i, int words) {
  for (int n = 0; n < words; ++n) store_row(w, i.target + n, w.v[spare + n], w.active());
  begin_load(w, lds_count, i, true, true);
}

void write_lanes(Wave& w, const Instruction& i, int data, int bytes, uint32_t offset) {
  Lds& lds = w.group->lds;
  const uint32_t* address = w.v[i.source[0].reg];
  for (uint32_t left = w.active(); left; left &= left - 1) {
    const int l = std::countr_zero(left);
    for (int n = 0; n * 4 < bytes; ++n) {
      lds.write(address[l] + offset + static_cast<uint32_t>(4 * n), w.v[data + n][l], std::min(4, bytes),
                w.index);
    }
  }
}

template <int bytes>
void read_one(Wave& w, const Instruction& i) {
  read_lanes(w, i, spare, bytes, static_cast<uint32_t>(i.immediate));
  finish_read(w, i, bytes / 4);
}

template <int bytes, int stride>
void read_two(Wave& w, const Instruction& i) {
  read_lanes(w, i, spare, bytes, static_cast<uint32_t>(i.immediate * bytes * stride));
  read_lanes(w, i, spare + bytes / 4, bytes, static_cast<uint32_t>(i.immediate2 * bytes * stride));
  finish_read(w, i, bytes / 2);
}

template <int bytes>
void write_one(Wave& w, const Instruction& i) {
  write_lanes(w, i, i.source[1].reg, bytes, static_cast<uint32_t>(i.immediate));
  count_store(w, lds_count, true, true);
}

template <int bytes, int stride>
void write_two(Wave& w, const Instruction& i) {
  write_lanes(w, i, i.source[1].reg, bytes, static_cast<uint32_t>(i.immediate * bytes * stride));
  write_lanes(w, i, i.source[2].reg, bytes, static_cast<uint32_t>(i.immediate2 * bytes * stride));
  count_store(w, lds_count, true, true);
}

template <bool gives_old>
void add(Wave& w, const Instruction& i) {
  uint32_t old[lanes] = {};
  for (uint32_t left = w.active(); left; left &= left - 1) {
    const int l = std::countr_zero(left);
    const uint32_t address = w.v[i.source[0].reg][l] + static_cast<uint32_t>(i.immediate);
    old[l] = w.group->lds.add(address, w.v[i.source[1].reg][l], w.index);
  }
  if constexpr (gives_old) {
    store_row(w, i.target, old, w.active());
    begin_load(w, lds_count, i, true, true);
  } else {
    count_store(w, lds_count, true, true);
  }
}

constexpr Entry entry(const char* name, Run run, Form form, int bytes) {
  return {.mnemonic = name, .run = run, .form = form, .data = bytes, .kind = Kind::lds};
}

const Entry entries[] = {
    entry("ds_read_b32", read_one<4>, Form::lds_load, 4),
    entry("ds_load_b32", read_one<4>, Form::lds_load, 4),
    entry("ds_read_b64", read_one<8>, Form::lds_load, 8),
    entry("ds_load_b64", read_one<8>, Form::lds_load, 8),
    entry("ds_read_b128", read_one<16>, Form::lds_load, 16),
    entry("ds_load_b128", read_one<16>, Form::lds_load, 16),
    entry("ds_read2_b32", read_two<4, 1>, Form::lds_load, 8),
    entry("ds_read2_b64", read_two<8, 1>, Form::lds_load, 16),
    entry("ds_load_2addr_b32", read_two<4, 1>, Form::lds_load, 8),
    entry("ds_load_2addr_b64", read_two<8, 1>, Form::lds_load, 16),
    entry("ds_read2st64_b32", read_two<4, 64>, Form::lds_load, 8),
    entry("ds_load_2addr_stride64_b32", read_two<4, 64>, Form::lds_load, 8),
    entry("ds_write_b8", write_one<1>, Form::lds_store, 1),
    entry("ds_store_b8", write_one<1>, Form::lds_store, 1),
    entry("ds_write_b32", write_one<4>, Form::lds_store, 4),
    entry("ds_store_b32", write_one<4>, Form::lds_store, 4),
    entry("ds_write_b64", write_one<8>, Form::lds_store, 8),
    entry("ds_store_b64", write_one<8>, Form::lds_store, 8),
    entry("ds_write_b128", write_one<16>, Form::lds_store, 16),
    entry("ds_store_b128", write_one<16>, Form::lds_store, 16),
    entry("ds_write2_b32", write_two<4, 1>, Form::lds_store, 8),
    entry("ds_store_2addr_b32", write_two<4, 1>, Form::lds_store, 8),
    entry("ds_write2st64_b32", write_two<4, 64>, Form::lds_store, 8),
    entry("ds_store_2addr_stride64_b32", write_two<4, 64>, Form::lds_store, 8),
    entry("ds_add_u32", add<false>, Form::lds_store, 4),
    entry("ds_add_rtn_u32", add<true>, Form::lds_return, 4),
};

}  // namespace

std::span<const Entry> lds_entries() { return entries; }

}  // namespace lockstep::rdna
