// Linear layers of many rows. Rows become 16-bit q once a segment, a few tiles become 16-bit codes once for
// all rows; then blocks of tiles x rows are summed in registers.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

inline constexpr int most_groups = segment_inputs / 32;

// One segment of the rows.
struct alignas(64) RowPanel {
  int16_t q[most_rows][segment_inputs];
  float multiplier[most_rows][most_groups];
  float sum[most_rows][most_groups];
};
// One segment of word_tiles tiles.
struct alignas(64) CodePanel {
  int16_t codes[segment_inputs / 2][word_tiles][2 * tile_outputs];  // by pairs of inputs
  float scale[most_groups][word_tiles][tile_outputs];
  float bias[most_groups][word_tiles][tile_outputs];
};

inline void fill(RowPanel& panel, const InputRow* row, int rows, int from, int inputs, int group) {
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < inputs; i += 16)
      store_q(panel.q[r] + i, row[r].high + from + i, row[r].low + from + i);
    for (int g = 0; g < inputs / group; ++g) {
      panel.multiplier[r][g] = row[r].multiplier[from / group + g];
      panel.sum[r][g] = row[r].sum[from / group + g];
    }
  }
}

template <int bits>
void fill(CodePanel& panel, const PackedMatrix& matrix, const uint8_t* tile, int t, int groups) {
  const int code_bytes = 2 * matrix.group * bits,
            scale_bytes = matrix.scale_type == ScaleType::fp32 ? 64 : 32;
  int pair = 0;
  for (int g = 0; g < groups; ++g, tile += matrix.group_bytes) {
    for (int chunk = 0; chunk < matrix.group / chunk_inputs; ++chunk) {
      repeat<8>([&](auto u) {
        repeat<parts>([&](auto part) {
          const Bytes w = unit<bits, u>(tile + chunk * 64 * bits + 32 * part);
          store_words(panel.codes[pair][t], panel.codes[pair + 1][t], w, part);
        });
        pair += 2;
      });
    }
    store(panel.scale[g][t], load_scales(tile + code_bytes, matrix.scale_type));
    store(panel.bias[g][t], load_scales(tile + code_bytes + scale_bytes, matrix.scale_type));
  }
}

// One segment of word_tiles tiles x `rows` rows, from row `first` of the panel on; i counts the sums in
// registers, vectors within rows. (Written as pack expansions: the compiler keeps arrays that loops index in
// memory.)
template <int rows, int... i>
void many_block(const CodePanel& tiles, const RowPanel& panel, int first, int group, int groups, bool start,
                float* to, std::integer_sequence<int, i...>) {
  constexpr int vectors = word_tiles * parts, words = 2 * tile_outputs * word_tiles;  // of a pair of inputs
  alignas(64) float segment[rows][word_tiles][tile_outputs] = {};
  const int16_t* q = panel.q[first];
  const int16_t* codes = tiles.codes[0][0];
  for (int g = 0; g < groups; ++g) {
    Sums d[] = {(static_cast<void>(i), Sums{})...};
    for (int pair = 0; pair < group / 2; ++pair, q += 2, codes += words)
      ((d[i] = multiply_words(d[i], codes + i % vectors * (words / vectors),
                              broadcast_dword(q + i / vectors * segment_inputs))),
       ...);
    alignas(64) Sums sums[rows][vectors];
    ((sums[i / vectors][i % vectors] = d[i]), ...);
    for (int r = 0; r < rows; ++r) {
      const Floats multiplier = broadcast(panel.multiplier[first + r][g]),
                   sum = broadcast(panel.sum[first + r][g]);
      for (int t = 0; t < word_tiles; ++t) {
        const Floats x = to_floats(tile_sums(sums[r] + t * parts)) * multiplier;
        const Floats s = fma(load(tiles.scale[g][t]), x, load(segment[r][t]));
        store(segment[r][t], fma(load(tiles.bias[g][t]), sum, s));
      }
    }
  }
  for (int k = 0; k < rows * word_tiles; ++k, to += tile_outputs) {
    const Floats x = load(segment[k / word_tiles][k % word_tiles]);
    store(to, start ? x : load(to) + x);
  }
}
template <int rows>
void many_block(const CodePanel& tiles, const RowPanel& panel, int first, int group, int groups, bool start,
                float* to) {
  many_block<rows>(tiles, panel, first, group, groups, start, to,
                   std::make_integer_sequence<int, rows * word_tiles * parts>{});
}

using ManyBlock = void (*)(const CodePanel&, const RowPanel&, int, int, int, bool, float*);

template <int... i>
ManyBlock many_block_of(int rows, std::integer_sequence<int, i...>) {
  static constexpr ManyBlock table[] = {static_cast<ManyBlock>(many_block<i + 1>)...};
  return table[rows - 1];
}

// At most most_tiles tiles; writes y from `offset` on.
template <int bits>
void many_of(const TileRun& run, const InputRow* row, float* const* y, int offset, int rows) {
  const PackedMatrix& matrix = *run.matrix;
  RowPanel panel;
  CodePanel codes;
  alignas(64) float sums[most_tiles / word_tiles][most_rows][word_tiles * tile_outputs];
  const size_t segment_bytes = static_cast<size_t>(segment_inputs / matrix.group) * matrix.group_bytes;
  const uint8_t* segment = run.tile;
  for (int from = 0; from < matrix.inputs; from += segment_inputs, segment += segment_bytes) {
    const int inputs = matrix.inputs - from < segment_inputs ? matrix.inputs - from : segment_inputs;
    fill(panel, row, rows, from, inputs, matrix.group);
    for (int first = 0; first < run.count; first += word_tiles) {
      const int tiles = run.count - first < word_tiles ? run.count - first : word_tiles;
      const uint8_t* tile = segment + static_cast<size_t>(first) * matrix.tile_bytes;
      for (int t = 0; t < tiles; ++t)
        fill<bits>(codes, matrix, tile + static_cast<size_t>(t) * matrix.tile_bytes, t,
                   inputs / matrix.group);
      if (first + 2 * word_tiles <= run.count)
        prefetch(tile + word_tiles * matrix.tile_bytes, matrix.tile_bytes, word_tiles, segment_bytes);
      for (int r = 0; r < rows; r += word_rows) {
        const int some = rows - r < word_rows ? rows - r : word_rows;
        many_block_of(some, std::make_integer_sequence<int, word_rows>{})(
            codes, panel, r, matrix.group, inputs / matrix.group, from == 0, sums[first / word_tiles][r]);
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < run.outputs; o += lanes)
      store_within(y[r] + offset, o, run.outputs,
                   load(sums[o / (word_tiles * tile_outputs)][r] + o % (word_tiles * tile_outputs)));
  }
}

void many(const TileRun& run, const InputRow* row, float* const* y, int rows) {
  for (int t = 0; t < run.count; t += most_tiles) {
    const int count = run.count - t < most_tiles ? run.count - t : most_tiles, offset = t * tile_outputs;
    const TileRun part{
        run.matrix, run.tile + static_cast<size_t>(t) * run.matrix->tile_bytes, count,
        run.outputs - offset < count * tile_outputs ? run.outputs - offset : count * tile_outputs};
    switch (run.matrix->bits) {
      case 2: many_of<2>(part, row, y, offset, rows); break;
      case 3: many_of<3>(part, row, y, offset, rows); break;
      case 4: many_of<4>(part, row, y, offset, rows); break;
      case 5: many_of<5>(part, row, y, offset, rows); break;
      case 6: many_of<6>(part, row, y, offset, rows); break;
      default: many_of<8>(part, row, y, offset, rows); break;
    }
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
