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

// One segment of word_tiles tiles x `rows` rows, from row `first` of the panel on.
template <int rows>
void many_block(const CodePanel& tiles, const RowPanel& panel, int first, int group, int groups, float* to) {
  Floats segment[rows][word_tiles];
  repeat<rows>([&](auto r) { repeat<word_tiles>([&](auto t) { segment[r][t] = broadcast(0.0f); }); });
  const int16_t* q = panel.q[first];
  int pair = 0;
  for (int g = 0; g < groups; ++g) {
    Ints d[rows][word_tiles];
    repeat<rows>([&](auto r) { repeat<word_tiles>([&](auto t) { d[r][t] = broadcast(int32_t{0}); }); });
    for (const int end = pair + group / 2; pair < end; ++pair) {
      repeat<rows>([&](auto r) {
        int32_t two;
        __builtin_memcpy(&two, q + r * segment_inputs + 2 * pair, sizeof two);
        const Ints x = broadcast(two);
        repeat<word_tiles>([&](auto t) { d[r][t] = multiply_words(d[r][t], tiles.codes[pair][t], x); });
      });
    }
    repeat<rows>([&](auto r) {
      const Floats multiplier = broadcast(panel.multiplier[first + r][g]),
                   sum = broadcast(panel.sum[first + r][g]);
      repeat<word_tiles>([&](auto t) {
        Floats& s = segment[r][t];
        s = fma(load(tiles.scale[g][t]), to_floats(d[r][t]) * multiplier, s);
        s = fma(load(tiles.bias[g][t]), sum, s);
      });
    });
  }
  repeat<rows>([&](auto r) {
    repeat<word_tiles>([&](auto t) { store(to + (r * word_tiles + t) * tile_outputs, segment[r][t]); });
  });
}

using ManyBlock = void (*)(const CodePanel&, const RowPanel&, int, int, int, float*);

template <int... i>
ManyBlock many_block_of(int rows, std::integer_sequence<int, i...>) {
  static constexpr ManyBlock table[] = {many_block<i + 1>...};
  return table[rows - 1];
}

template <int bits>
void many_of(const TileRun& run, const InputRow* row, float* const* y, int rows) {
  const PackedMatrix& matrix = *run.matrix;
  RowPanel panel;
  CodePanel codes;
  alignas(64) float segment[word_rows][word_tiles * tile_outputs];
  for (int from = 0; from < matrix.inputs; from += segment_inputs) {
    const int inputs = matrix.inputs - from < segment_inputs ? matrix.inputs - from : segment_inputs;
    const int groups = inputs / matrix.group;
    fill(panel, row, rows, from, inputs, matrix.group);
    for (int first = 0; first < run.count; first += word_tiles) {
      const int tiles = run.count - first < word_tiles ? run.count - first : word_tiles;
      for (int t = 0; t < tiles; ++t) {
        const uint8_t* tile = run.tile + static_cast<size_t>(first + t) * matrix.tile_bytes;
        fill<bits>(codes, matrix, tile + static_cast<size_t>(from / matrix.group) * matrix.group_bytes, t,
                   groups);
      }
      const int left = run.outputs - first * tile_outputs;
      const int n = left < word_tiles * tile_outputs ? left : word_tiles * tile_outputs;
      for (int r = 0; r < rows; r += word_rows) {
        const int some = rows - r < word_rows ? rows - r : word_rows;
        many_block_of(some, std::make_integer_sequence<int, word_rows>{})(codes, panel, r, matrix.group,
                                                                          groups, segment[0]);
        for (int k = 0; k < some; ++k) {
          float* to = y[r + k] + first * tile_outputs;
          for (int o = 0; o < n; o += lanes) {
            const Floats part = load(segment[k] + o);
            if (n - o >= lanes) {
              store(to + o, from == 0 ? part : load(to + o) + part);
            } else {
              store(to + o, from == 0 ? part : load(to + o, n - o) + part, n - o);
            }
          }
        }
      }
    }
  }
}

void many(const TileRun& run, const InputRow* row, float* const* y, int rows) {
  switch (run.matrix->bits) {
    case 2: return many_of<2>(run, row, y, rows);
    case 3: return many_of<3>(run, row, y, rows);
    case 4: return many_of<4>(run, row, y, rows);
    case 5: return many_of<5>(run, row, y, rows);
    case 6: return many_of<6>(run, row, y, rows);
    default: return many_of<8>(run, row, y, rows);
  }
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
