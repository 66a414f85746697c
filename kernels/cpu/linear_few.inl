// Linear layers of a few rows: each weight is read once and meets all rows in registers.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

// One tile of codes; writes n outputs of each row.
template <int bits, int rows>
void few_tile(const PackedMatrix& matrix, const uint8_t* tile, const InputRow* row, float* const* y,
              int offset, int n) {
  const int group = matrix.group, groups = matrix.inputs / group, together = segment_inputs / group;
  const int code_bytes = 2 * group * bits, scale_bytes = matrix.scale_type == ScaleType::fp32 ? 64 : 32;
  Floats all[rows], segment[rows];
  repeat<rows>([&](auto r) { all[r] = broadcast(0.0f); });
  for (int first = 0; first < groups; first += together) {
    repeat<rows>([&](auto r) { segment[r] = broadcast(0.0f); });
    const int last = first + together < groups ? first + together : groups;
    for (int g = first; g < last; ++g, tile += matrix.group_bytes) {
      Ints d[rows];
      dot_group<bits, rows>(tile, group, row, g * group, d);
      const Floats scale = load_scales(tile + code_bytes, matrix.scale_type);
      const Floats bias = load_scales(tile + code_bytes + scale_bytes, matrix.scale_type);
      repeat<rows>([&](auto r) {
        segment[r] = fma(scale, to_floats(d[r]) * broadcast(row[r].multiplier[g]), segment[r]);
        segment[r] = fma(bias, broadcast(row[r].sum[g]), segment[r]);
      });
    }
    repeat<rows>([&](auto r) { all[r] = first == 0 ? segment[r] : all[r] + segment[r]; });
  }
  repeat<rows>([&](auto r) {
    if (n == tile_outputs) {
      store(y[r] + offset, all[r]);
    } else {
      store(y[r] + offset, all[r], n);
    }
  });
}

// One tile of bf16 weights.
template <int rows>
void dense_tile(const PackedMatrix& matrix, const uint8_t* tile, const InputRow* row, float* const* y,
                int offset, int n) {
  Floats all[rows], segment[rows];
  repeat<rows>([&](auto r) { all[r] = broadcast(0.0f); });
  for (int first = 0; first < matrix.inputs; first += segment_inputs) {
    repeat<rows>([&](auto r) { segment[r] = broadcast(0.0f); });
    const int last = first + segment_inputs < matrix.inputs ? first + segment_inputs : matrix.inputs;
    for (int i = first; i < last; i += 2, tile += matrix.group_bytes) {
      const Floats w = load_dense(tile, false), v = load_dense(tile, true);
      repeat<rows>([&](auto r) { segment[r] = fma(w, broadcast(row[r].x[i]), segment[r]); });
      if (i + 1 == last) continue;
      repeat<rows>([&](auto r) { segment[r] = fma(v, broadcast(row[r].x[i + 1]), segment[r]); });
    }
    repeat<rows>([&](auto r) { all[r] = first == 0 ? segment[r] : all[r] + segment[r]; });
  }
  repeat<rows>([&](auto r) { store(y[r] + offset, all[r], n); });
}

using FewTile = void (*)(const PackedMatrix&, const uint8_t* tile, const InputRow*, float* const*, int, int);

// The function of `rows` rows, 1 to few_rows.
template <int bits, int... i>
FewTile few_tile_of(int rows, std::integer_sequence<int, i...>) {
  if constexpr (bits == 16) {
    static constexpr FewTile table[] = {dense_tile<i + 1>...};
    return table[rows - 1];
  } else {
    static constexpr FewTile table[] = {few_tile<bits, i + 1>...};
    return table[rows - 1];
  }
}

FewTile few_tile_of(int bits, int rows) {
  constexpr std::make_integer_sequence<int, few_rows> each{};
  switch (bits) {
    case 2: return few_tile_of<2>(rows, each);
    case 3: return few_tile_of<3>(rows, each);
    case 4: return few_tile_of<4>(rows, each);
    case 5: return few_tile_of<5>(rows, each);
    case 6: return few_tile_of<6>(rows, each);
    case 8: return few_tile_of<8>(rows, each);
    default: return few_tile_of<16>(rows, each);
  }
}

void few(const TileRun& run, const InputRow* row, float* const* y, int rows) {
  for (int t = 0; t < run.count; ++t) {
    const uint8_t* tile = run.tile + static_cast<size_t>(t) * run.matrix->tile_bytes;
    const int offset = t * tile_outputs, left = run.outputs - offset,
              n = left < tile_outputs ? left : tile_outputs;
    for (int r = 0; r < rows; r += few_rows) {
      const int some = rows - r < few_rows ? rows - r : few_rows;
      few_tile_of(run.matrix->bits, some)(*run.matrix, tile, row + r, y + r, offset, n);
    }
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
