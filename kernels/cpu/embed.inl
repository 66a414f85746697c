// Rows of an embedding table. Included by linear_avx2.cpp and linear_avx512.cpp.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {
namespace {

// Codes of 32 inputs of one output, four a number; dwords: its first of the chunk (matrix.h has the form).
template <int bits>
inline void one_output(const uint8_t* dwords, uint32_t* four) {
  uint32_t word[bits];
  for (int v = 0; v < bits; ++v) __builtin_memcpy(word + v, dwords + 64 * v, 4);
  for (int u = 0; u < 8; ++u) {
    if (bits == 8) four[u] = word[u];
    if (bits == 4 || bits == 5 || bits == 6) four[u] = word[u / 2] >> 4 * (u % 2) & 0x0f0f0f0fu;
    if (bits == 2 || bits == 3) four[u] = word[u / 4] >> 2 * (u % 4) & 0x03030303u;
    if (bits == 3) four[u] |= (word[2] >> u & 0x01010101u) << 2;
    if (bits == 5) four[u] |= (word[4] >> u & 0x01010101u) << 4;
    if (bits == 6) four[u] |= (word[4 + u / 4] >> 2 * (u % 4) & 0x03030303u) << 4;
  }
}

template <int bits>
void embed_codes(const PackedMatrix& table, const uint8_t* tile, int output, int first, int last,
                 float* out) {
  const int code_bytes = 2 * table.group * bits, scale_bytes = table.scale_type == ScaleType::fp32 ? 64 : 32;
  for (int g = first; g < last; ++g) {
    const uint8_t* group = tile + static_cast<size_t>(g) * table.group_bytes;
    float scales[tile_outputs], biases[tile_outputs];
    store(scales, load_scales(group + code_bytes, table.scale_type));
    store(biases, load_scales(group + code_bytes + scale_bytes, table.scale_type));
    const Floats scale = broadcast(scales[output]), bias = broadcast(biases[output]);
    for (int chunk = 0; chunk < table.group / chunk_inputs; ++chunk) {
      uint32_t four[8];
      one_output<bits>(group + chunk * 64 * bits + 4 * output, four);
      for (int half = 0; half < 2; ++half) {
        int32_t code[lanes];
        for (int i = 0; i < lanes; ++i)
          code[i] = static_cast<int32_t>(four[4 * half + i / 4] >> 8 * (i % 4) & 255);
        store(out + g * table.group + chunk * chunk_inputs + half * lanes,
              fma(scale, to_floats(load(code)), bias));
      }
    }
  }
}

void embed_dense(const PackedMatrix& table, const uint8_t* tile, int output, float* out) {
  for (int i = 0; i < table.inputs; ++i) {
    uint16_t bits;
    __builtin_memcpy(&bits, tile + static_cast<size_t>(i / 2) * table.group_bytes + 4 * output + 2 * (i % 2),
                     2);
    out[i] = canon::float_of(static_cast<uint32_t>(bits) << 16);
  }
}

// Groups [first, last) of one row; all of it for bf16.
void embed_part(const PackedMatrix& table, int token, int first, int last, float* out) {
  const uint8_t* tile = table.tile(0, token / tile_outputs);
  const int output = token % tile_outputs;
  switch (table.bits) {
    case 2: return embed_codes<2>(table, tile, output, first, last, out);
    case 3: return embed_codes<3>(table, tile, output, first, last, out);
    case 4: return embed_codes<4>(table, tile, output, first, last, out);
    case 5: return embed_codes<5>(table, tile, output, first, last, out);
    case 6: return embed_codes<6>(table, tile, output, first, last, out);
    case 8: return embed_codes<8>(table, tile, output, first, last, out);
    default: return embed_dense(table, tile, output, out);
  }
}

}  // namespace

void embed(const Embed& op, Pool& pool) {
  const auto& table = static_cast<const PackedMatrix&>(*op.table);
  constexpr int together = 8;  // groups of a task
  const int groups = table.group ? table.inputs / table.group : 1, tasks = (groups + together - 1) / together;
  pool.run(op.rows * tasks, [&](int task) {
    const int row = task / tasks, first = task % tasks * together;
    float* out = op.out + static_cast<size_t>(row) * static_cast<size_t>(table.inputs);
    embed_part(table, op.tokens[row], first, first + together < groups ? first + together : groups, out);
  });
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
