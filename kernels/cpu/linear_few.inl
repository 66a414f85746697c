// Linear layers of a few rows: each weight is read once and meets all rows in registers.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

// Asks for `bytes` of each of some tiles.
inline void prefetch(const uint8_t* tile, size_t tile_bytes, int tiles, size_t bytes) {
  for (int t = 0; t < tiles; ++t, tile += tile_bytes) {
    for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(tile + i);
  }
}
inline constexpr int few_ahead = 1024;  // bytes; measured: less comes late, more is evicted again

// Some tiles of codes; writes n outputs of each row.
template <int bits, int tiles, int rows>
void few_tile(const PackedMatrix& matrix, const uint8_t* tile, const InputRow* row, float* const* y,
              int offset, int n) {
  const int group = matrix.group, groups = matrix.inputs / group, together = segment_inputs / group;
  const int code_bytes = 2 * group * bits, scale_bytes = matrix.scale_type == ScaleType::fp32 ? 64 : 32;
  Floats all[rows][tiles] = {}, segment[rows][tiles] = {};
  for (int first = 0; first < groups; first += together) {
    const int last = first + together < groups ? first + together : groups;
    for (int g = first; g < last; ++g, tile += matrix.group_bytes) {
      Ints d[rows][tiles];
      prefetch(tile + few_ahead, matrix.tile_bytes, tiles, matrix.group_bytes);
      dot_group<bits, tiles, rows>(tile, matrix.tile_bytes, group, row, g * group, d[0]);
      for (int t = 0; t < tiles; ++t) {
        const uint8_t* scales = tile + static_cast<size_t>(t) * matrix.tile_bytes + code_bytes;
        const Floats scale = load_scales(scales, matrix.scale_type);
        const Floats bias = load_scales(scales + scale_bytes, matrix.scale_type);
        for (int r = 0; r < rows; ++r) {
          const Floats s = g == first ? broadcast(0.0f) : segment[r][t];
          const Floats x = fma(scale, to_floats(d[r][t]) * broadcast(row[r].multiplier[g]), s);
          segment[r][t] = fma(bias, broadcast(row[r].sum[g]), x);
        }
      }
    }
    for (int r = 0; r < rows; ++r) {
      for (int t = 0; t < tiles; ++t) all[r][t] = first == 0 ? segment[r][t] : all[r][t] + segment[r][t];
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int t = 0; t < tiles; ++t) store_within(y[r] + offset, t * tile_outputs, n, all[r][t]);
  }
}

// One segment of a tile of bf16 weights; i counts parts of the tile within rows. (A pack expansion: the
// compiler keeps arrays that loops index in memory.)
template <int rows, int... i>
[[gnu::noinline]] void dense_segment(const uint8_t* tile, const InputRow* row, int from, int inputs,
                                     Floats* segment, std::integer_sequence<int, i...>) {
  Numbers sum[] = {(static_cast<void>(i), Numbers{})...};
  for (int k = 0; k < inputs; ++k, tile += 4 * tile_outputs) {
    ((sum[i] = multiply_add(load_dense(tile + i % parts * 32, false), row[i / parts].x[from + k], sum[i])),
     ...);
    if (++k == inputs) break;
    ((sum[i] = multiply_add(load_dense(tile + i % parts * 32, true), row[i / parts].x[from + k], sum[i])),
     ...);
  }
  for (int r = 0; r < rows; ++r) segment[r] = tile_numbers(sum + r * parts);
}

// One tile of bf16 weights.
template <int rows>
void dense_tile(const PackedMatrix& matrix, const uint8_t* tile, const InputRow* row, float* const* y,
                int offset, int n) {
  Floats all[rows] = {}, segment[rows];
  for (int from = 0; from < matrix.inputs; from += segment_inputs) {
    const int inputs = matrix.inputs - from < segment_inputs ? matrix.inputs - from : segment_inputs;
    dense_segment<rows>(tile, row, from, inputs, segment, std::make_integer_sequence<int, rows * parts>{});
    for (int r = 0; r < rows; ++r) all[r] = from == 0 ? segment[r] : all[r] + segment[r];
    tile += segment_inputs / 2 * matrix.group_bytes;
  }
  for (int r = 0; r < rows; ++r) store_within(y[r] + offset, 0, n, all[r]);
}

using FewTile = void (*)(const PackedMatrix&, const uint8_t* tile, const InputRow*, float* const*, int, int);

// The functions of 1, 2, … rows.
template <int bits, int tiles, int... i>
const FewTile* few_tile_of(std::integer_sequence<int, i...>) {
  static constexpr FewTile table[] = {few_tile<bits, tiles, i + 1>...};
  return table;
}
template <int... i>
const FewTile* dense_tile_of(std::integer_sequence<int, i...>) {
  static constexpr FewTile table[] = {dense_tile<i + 1>...};
  return table;
}

template <int tiles>
const FewTile* few_tile_of(int bits) {
  constexpr std::make_integer_sequence<int, few_rows> rows{};
  switch (bits) {
    case 2: return few_tile_of<2, tiles>(rows);
    case 3: return few_tile_of<3, tiles>(rows);
    case 4: return few_tile_of<4, tiles>(rows);
    case 5: return few_tile_of<5, tiles>(rows);
    case 6: return few_tile_of<6, tiles>(rows);
    default: return few_tile_of<8, tiles>(rows);
  }
}

void few(const TileRun& run, const InputRow* row, float* const* y, int rows) {
  const int bits = run.matrix->bits, most = bits == 16 ? dense_rows : few_rows;
  for (int t = 0, tiles; t < run.count; t += tiles) {
    tiles = bits == 16 || run.count - t < few_tiles ? 1 : few_tiles;
    const FewTile* functions = bits == 16   ? dense_tile_of(std::make_integer_sequence<int, dense_rows>{})
                               : tiles == 1 ? few_tile_of<1>(bits)
                                            : few_tile_of<few_tiles>(bits);
    const uint8_t* tile = run.tile + static_cast<size_t>(t) * run.matrix->tile_bytes;
    const int offset = t * tile_outputs;
    for (int r = 0; r < rows; r += most) {
      const int some = rows - r < most ? rows - r : most;
      functions[some - 1](*run.matrix, tile, row + r, y + r, offset, run.outputs - offset);
    }
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
