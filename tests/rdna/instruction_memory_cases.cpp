#include "tests/rdna/instruction_cases.h"

namespace lockstep::rdna::test {

namespace {

// Bytes at an address of either memory, low byte first.
uint32_t word_at(const std::vector<uint8_t>& bytes, uint64_t at, int count) {
  uint32_t word = 0;
  for (int n = 0; n < count; ++n)
    word += static_cast<uint32_t>(bytes[at + static_cast<uint64_t>(n)]) << 8 * n;
  return word;
}
void put_at(std::vector<uint8_t>& bytes, uint64_t at, uint32_t word, int count) {
  for (int n = 0; n < count; ++n) bytes[at + static_cast<uint64_t>(n)] = static_cast<uint8_t>(word >> 8 * n);
}

// v[0:1] hold addresses of the memory, v2 offsets in it, s[0:1] its address; v4 offsets in the LDS.
std::function<void(State&)> load(int bytes, bool base, int offset) {
  return [=](State& s) {
    const State in = s;
    for (int l = 0; l < 32; ++l) {
      const uint64_t at = (base ? in.v[2][l] : in.wide(0, l) - in.memory_at) + static_cast<uint64_t>(offset);
      for (int n = 0; n < bytes; n += 4)
        if (in.active(l))
          s.put(16 + n / 4, l, word_at(in.memory, at + static_cast<uint64_t>(n), std::min(4, bytes)));
    }
  };
}
std::function<void(State&)> store(int bytes, bool base, int offset) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) {
      const uint64_t at = (base ? s.v[2][l] : s.wide(0, l) - s.memory_at) + static_cast<uint64_t>(offset);
      for (int n = 0; n < bytes; n += 4)
        if (s.active(l))
          put_at(s.memory, at + static_cast<uint64_t>(n), s.v[16 + n / 4][l], std::min(4, bytes));
    }
  };
}
std::function<void(State&)> lds_load(int bytes, int first, int second = -1) {
  return [=](State& s) {
    const State in = s;
    for (int l = 0; l < 32; ++l) {
      if (!in.active(l)) continue;
      for (int n = 0; n < bytes; n += 4) {
        s.put(16 + n / 4, l, word_at(in.lds, in.v[4][l] + static_cast<uint32_t>(first + n), 4));
        if (second >= 0)
          s.put(16 + (bytes + n) / 4, l, word_at(in.lds, in.v[4][l] + static_cast<uint32_t>(second + n), 4));
      }
    }
  };
}
std::function<void(State&)> lds_store(int bytes, int first, int second = -1) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) {
      if (!s.active(l)) continue;
      for (int n = 0; n < bytes; n += 4) {
        put_at(s.lds, s.v[4][l] + static_cast<uint32_t>(first + n), s.v[16 + n / 4][l], std::min(4, bytes));
        if (second >= 0) put_at(s.lds, s.v[4][l] + static_cast<uint32_t>(second + n), s.v[20 + n / 4][l], 4);
      }
    }
  };
}
std::function<void(State&)> lds_add(bool gives) {
  return [=](State& s) {
    for (int l = 0; l < 32; ++l) {
      if (!s.active(l)) continue;
      const uint32_t old = word_at(s.lds, s.v[4][l], 4), data = s.v[16][l];
      put_at(s.lds, s.v[4][l], old + data, 4);
      if (gives) s.put(17, l, old);
    }
  };
}
std::function<void(State&)> scalar_load(int words, int offset) {
  return [=](State& s) {
    for (int n = 0; n < words; ++n) s.s[8 + n] = word_at(s.memory, static_cast<uint64_t>(offset + 4 * n), 4);
  };
}

}  // namespace

std::vector<Case> memory_cases() {
  std::vector<Case> list;
  const auto add = [&](std::vector<std::string> names, const std::string& operands,
                       std::function<void(State&)> effect, Inputs inputs) {
    list.push_back({std::move(names), operands, std::move(effect), Compare::bits, inputs});
  };
  const auto registers = [](int first, int bytes) {
    const int words = (bytes + 3) / 4;
    return words == 1 ? "v" + std::to_string(first)
                      : "v[" + std::to_string(first) + ":" + std::to_string(first + words - 1) + "]";
  };
  struct Width {
    int bytes;
    const char *early, *late, *early_store, *late_store;
  };
  const Width widths[] = {
      {1, "ubyte", "u8", "byte", "b8"},         {2, "ushort", "u16", "short", "b16"},
      {4, "dword", "b32", "dword", "b32"},      {8, "dwordx2", "b64", "dwordx2", "b64"},
      {12, "dwordx3", "b96", "dwordx3", "b96"}, {16, "dwordx4", "b128", "dwordx4", "b128"}};
  for (const Width& w : widths) {
    const std::vector<std::string> loads = {std::string("global_load_") + w.early,
                                            std::string("global_load_") + w.late};
    const std::vector<std::string> stores = {std::string("global_store_") + w.early_store,
                                             std::string("global_store_") + w.late_store};
    const std::string data = registers(16, w.bytes);
    add(loads, data + ", v[0:1], off offset:12", load(w.bytes, false, 12), Inputs::addresses);
    add(loads, data + ", v2, s[0:1] offset:-4", load(w.bytes, true, -4), Inputs::addresses);
    add(stores, "v[0:1], " + data + ", off offset:12", store(w.bytes, false, 12), Inputs::addresses);
    add(stores, "v2, " + data + ", s[0:1]", store(w.bytes, true, 0), Inputs::addresses);
  }
  add({"flat_store_b32"}, "v[0:1], v16 offset:8", store(4, false, 8), Inputs::addresses);
  const std::pair<int, const char*> scalars[] = {{1, "b32"},  {2, "b64"},  {3, "b96"},
                                                 {4, "b128"}, {8, "b256"}, {16, "b512"}};
  for (const auto& [words, late] : scalars) {
    const std::string early = words == 1 ? "dword" : "dwordx" + std::to_string(words);
    const std::string target = words == 1 ? "s8" : "s[8:" + std::to_string(7 + words) + "]";
    add({"s_load_" + early, std::string("s_load_") + late}, target + ", s[0:1], 0x18",
        scalar_load(words, 0x18), Inputs::addresses);
  }
  const auto lds = Inputs::lds_addresses;
  add({"ds_read_b32", "ds_load_b32"}, "v16, v4 offset:8", lds_load(4, 8), lds);
  add({"ds_read_b64", "ds_load_b64"}, "v[16:17], v4 offset:8", lds_load(8, 8), lds);
  add({"ds_read_b128", "ds_load_b128"}, "v[16:19], v4 offset:16", lds_load(16, 16), lds);
  add({"ds_read2_b32", "ds_load_2addr_b32"}, "v[16:17], v4 offset0:2 offset1:5", lds_load(4, 8, 20), lds);
  add({"ds_read2_b64", "ds_load_2addr_b64"}, "v[16:19], v4 offset1:3", lds_load(8, 0, 24), lds);
  add({"ds_read2st64_b32", "ds_load_2addr_stride64_b32"}, "v[16:17], v4 offset0:1 offset1:2",
      lds_load(4, 256, 512), lds);
  add({"ds_write_b8", "ds_store_b8"}, "v4, v16 offset:3", lds_store(1, 3), lds);
  add({"ds_write_b32", "ds_store_b32"}, "v4, v16 offset:4", lds_store(4, 4), lds);
  add({"ds_write_b64", "ds_store_b64"}, "v4, v[16:17]", lds_store(8, 0), lds);
  add({"ds_write_b128", "ds_store_b128"}, "v4, v[16:19] offset:16", lds_store(16, 16), lds);
  add({"ds_write2_b32", "ds_store_2addr_b32"}, "v4, v16, v20 offset0:1 offset1:3", lds_store(4, 4, 12), lds);
  add({"ds_write2st64_b32", "ds_store_2addr_stride64_b32"}, "v4, v16, v20 offset1:8", lds_store(4, 0, 2048),
      lds);
  add({"ds_add_u32"}, "v4, v16", lds_add(false), lds);
  add({"ds_add_rtn_u32"}, "v17, v4, v16", lds_add(true), lds);
  return list;
}

}  // namespace lockstep::rdna::test
