// Global and flat memory of lanes (RDNA2 ISA 9, RDNA3 ISA 11, RDNA4 ISA 11) and scalar loads (RDNA2 ISA 7,
// RDNA3 ISA 6.3, RDNA4 ISA 6.3). Addresses are the host's; flat addresses are never LDS here.
#include <cstdio>

#include "tests/rdna/lane_loops.h"

namespace lockstep::rdna {

namespace {

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// The region of these bytes; throws where they are none's.
const Region& region_of(Wave& w, uint64_t address, int bytes) {
  const Region* r = w.region;
  if (r && address >= r->begin && address + static_cast<uint64_t>(bytes) <= r->end) return *r;
  r = w.memory->find(address);
  if (!r) throw Fault("touches address " + hexadecimal(address) + ", where no memory is");
  if (address + static_cast<uint64_t>(bytes) > r->end) {
    throw Fault("touches " + std::to_string(bytes) + " bytes from byte " +
                std::to_string(address - r->begin) + " of an allocation of " +
                std::to_string(r->end - r->begin));
  }
  w.region = r;
  return *r;
}

const uint8_t* readable(Wave& w, uint64_t address, int bytes) {
  const Region& r = region_of(w, address, bytes);
  if (r.written) {
    for (int n = 0; n < bytes; ++n) {
      const uint64_t at = address - r.begin + static_cast<uint64_t>(n);
      if (!r.written[at])
        throw Fault("reads byte " + std::to_string(at) + " of an allocation, which nobody wrote");
    }
  }
  return reinterpret_cast<const uint8_t*>(address);
}

uint8_t* writable(Wave& w, uint64_t address, int bytes) {
  const Region& r = region_of(w, address, bytes);
  if (!r.writable) throw Fault("writes to " + hexadecimal(address) + ", which may only be read");
  if (r.written) std::memset(r.written.get() + (address - r.begin), 1, static_cast<size_t>(bytes));
  return reinterpret_cast<uint8_t*>(address);
}

// Where each lane goes: two registers, or a scalar base and one register.
void addresses(const Wave& w, const Instruction& i, int n, uint64_t* out) {
  const Source& lane = i.source[n];
  const uint32_t* low = w.v[lane.reg];
  const auto offset = static_cast<uint64_t>(int64_t{i.immediate});
  if (lane.words == 2) {
    const uint32_t* high = w.v[lane.reg + 1];
    for (int l = 0; l < lanes; ++l) out[l] = (low[l] | static_cast<uint64_t>(high[l]) << 32) + offset;
  } else {
    const uint64_t base = scalar_value(w, i.source[i.sources - 1]) + offset;
    for (int l = 0; l < lanes; ++l) out[l] = base + low[l];
  }
}

template <int bytes>
void load(Wave& w, const Instruction& i) {
  uint64_t address[lanes];
  addresses(w, i, 0, address);
  for (uint32_t left = w.active(); left; left &= left - 1) {
    const int l = std::countr_zero(left);
    const uint8_t* from = readable(w, address[l], bytes);
    uint32_t word[(bytes + 3) / 4] = {};
    std::memcpy(word, from, bytes);
    for (int n = 0; n < (bytes + 3) / 4; ++n) w.v[i.target + n][l] = word[n];
  }
  for (int n = 0; n < i.targets; ++n) w.define(i.target + n, w.active());
  begin_load(w, load_count, i, true, false);
}

template <int bytes>
void store(Wave& w, const Instruction& i) {
  uint64_t address[lanes];
  addresses(w, i, 0, address);
  const uint16_t data = i.source[1].reg;
  for (uint32_t left = w.active(); left; left &= left - 1) {
    const int l = std::countr_zero(left);
    uint32_t word[(bytes + 3) / 4];
    for (int n = 0; n < (bytes + 3) / 4; ++n) word[n] = w.v[data + n][l];
    std::memcpy(writable(w, address[l], bytes), word, bytes);
  }
  count_store(w, store_count, true, false);
}

// Counted as a store and, as it may go to the LDS, there too.
template <int bytes>
void store_flat(Wave& w, const Instruction& i) {
  store<bytes>(w, i);
  count_store(w, lds_count, false, false);
}

template <int words>
void load_scalar(Wave& w, const Instruction& i) {
  uint64_t address = scalar_value(w, i.source[0]) + static_cast<uint64_t>(int64_t{i.immediate});
  if (i.sources > 1) address += static_cast<uint32_t>(scalar_value(w, i.source[1]));
  address &= ~uint64_t{3};
  uint32_t word[words];
  std::memcpy(word, readable(w, address, 4 * words), sizeof word);
  for (int n = 0; n < words; ++n) w.set_scalar(i.scalar_target + n, word[n]);
  begin_load(w, w.chip->generation == Generation::rdna4 ? scalar_count : lds_count, i, false, false);
}

constexpr Entry loads(const char* name, Run run, int bytes) {
  return {.mnemonic = name, .run = run, .form = Form::load, .data = bytes, .kind = Kind::load};
}
constexpr Entry stores(const char* name, Run run, int bytes) {
  return {.mnemonic = name, .run = run, .form = Form::store, .data = bytes, .kind = Kind::store};
}
constexpr Entry scalar_loads(const char* name, Run run, int bytes) {
  return {.mnemonic = name, .run = run, .form = Form::scalar_load, .data = bytes, .kind = Kind::scalar_load};
}

// RDNA2 counts dwords, later chips bits.
const Entry entries[] = {
    loads("global_load_ubyte", load<1>, 1),
    loads("global_load_u8", load<1>, 1),
    loads("global_load_ushort", load<2>, 2),
    loads("global_load_u16", load<2>, 2),
    loads("global_load_dword", load<4>, 4),
    loads("global_load_b32", load<4>, 4),
    loads("global_load_dwordx2", load<8>, 8),
    loads("global_load_b64", load<8>, 8),
    loads("global_load_dwordx3", load<12>, 12),
    loads("global_load_b96", load<12>, 12),
    loads("global_load_dwordx4", load<16>, 16),
    loads("global_load_b128", load<16>, 16),
    stores("global_store_byte", store<1>, 1),
    stores("global_store_b8", store<1>, 1),
    stores("global_store_short", store<2>, 2),
    stores("global_store_b16", store<2>, 2),
    stores("global_store_dword", store<4>, 4),
    stores("global_store_b32", store<4>, 4),
    stores("global_store_dwordx2", store<8>, 8),
    stores("global_store_b64", store<8>, 8),
    stores("global_store_dwordx4", store<16>, 16),
    stores("global_store_b128", store<16>, 16),
    {.mnemonic = "flat_store_b32",
     .run = store_flat<4>,
     .form = Form::flat_store,
     .data = 4,
     .kind = Kind::store},
    scalar_loads("s_load_dword", load_scalar<1>, 4),
    scalar_loads("s_load_b32", load_scalar<1>, 4),
    scalar_loads("s_load_dwordx2", load_scalar<2>, 8),
    scalar_loads("s_load_b64", load_scalar<2>, 8),
    scalar_loads("s_load_b96", load_scalar<3>, 12),
    scalar_loads("s_load_dwordx4", load_scalar<4>, 16),
    scalar_loads("s_load_b128", load_scalar<4>, 16),
    scalar_loads("s_load_dwordx8", load_scalar<8>, 32),
    scalar_loads("s_load_b256", load_scalar<8>, 32),
    scalar_loads("s_load_dwordx16", load_scalar<16>, 64),
    scalar_loads("s_load_b512", load_scalar<16>, 64),
};

}  // namespace

std::span<const Entry> memory_entries() { return entries; }

}  // namespace lockstep::rdna
