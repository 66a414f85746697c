// Matrix tiles of bytes with exact 32-bit sums: what a warp multiplies at once.
//
// A step is 16 rows (A) times `tile_columns` columns (B) over 32 numbers k of both. Each lane holds some
// bytes of A and of B; which ones differs between chips, and only this file knows. The form of B in memory is
// `k` bytes of one column side by side, or a packed unit: 64 k of all columns of a tile, ordered so that each
// lane reads its bytes at once.
#pragma once

#include "kernels/device/words.h"
#include "kernels/gpu/layout.h"

// Of loops whose bodies multiply tiles: without a matrix unit one body is long enough.
#if defined(LOCKSTEP_AMD) && !defined(__GFX11__) && !defined(__GFX12__)
#define LOCKSTEP_NO_MATRIX_UNIT 1
#define UNROLL_TILES NO_UNROLL
#else
#define UNROLL_TILES UNROLL
#endif

namespace lockstep::kernels::gpu {

#if defined(LOCKSTEP_NO_MATRIX_UNIT)
constexpr bool matrix_unit = false;
#else
constexpr bool matrix_unit = true;
#endif
constexpr int tile_rows = 16;
constexpr int step_inputs = 32;  // k of one step

#if defined(LOCKSTEP_AMD)

constexpr int tile_columns = 16;
constexpr bool whole_columns = false;  // see WholeColumns
constexpr bool joined_planes = false;  // see tile_inputs
constexpr int tile_sums = 8;           // sums of a tile that a lane holds
constexpr int lane_tile_rows = 8;      // different rows among them

#if defined(__GFX11__)
// Lanes 0 to 15 and 16 to 31 must both hold all 32 k of row or column lane%16.
struct TileA {
  uint32_t word[8];
};
struct TileB {
  uint32_t word[8];
};
#else
// Lane l holds k 16*(l/16) to +15 of row or column l%16.
struct TileA {
  uint32_t word[4];
};
struct TileB {
  uint32_t word[4];
};
#endif
struct TileSums {
  int32_t sum[tile_sums];
};

// Row and column of a lane's i-th sum.
DEVICE_FUNCTION int sum_row(int lane, int i) {
#if defined(__GFX11__)
  return 2 * i + lane / 16;
#else
  return i + 8 * (lane / 16);
#endif
}
DEVICE_FUNCTION int sum_column(int lane, int) { return lane % 16; }
// Which of the lane's `lane_tile_rows` rows the i-th sum has; row_place() is where row r is among all lanes'
// rows, those of one lane side by side.
DEVICE_FUNCTION constexpr int sum_row_index(int i) { return i; }
DEVICE_FUNCTION int row_chunk(int lane) { return lane / 16; }
DEVICE_FUNCTION int row_chunk_of(int row) {
#if defined(__GFX11__)
  return row % 2;
#else
  return row / 8;
#endif
}
DEVICE_FUNCTION int row_index_of(int row) {
#if defined(__GFX11__)
  return row / 2;
#else
  return row % 8;
#endif
}

// The lane that holds byte k (0 to 31) of row r in a packed step of A, and where among its 16 bytes.
DEVICE_FUNCTION int a_lane(int row, int k) { return row + 16 * (k / 16); }
DEVICE_FUNCTION int a_byte(int, int k) { return k % 16; }
DEVICE_FUNCTION int a_row(int lane, int) { return lane % 16; }
DEVICE_FUNCTION int a_k(int lane, int byte) { return 16 * (lane / 16) + byte; }

DEVICE_FUNCTION int b_column(int lane) { return lane % 16; }

constexpr int b_unit_bytes = tile_columns * unit_inputs;
DEVICE_FUNCTION int b_unit_at(int column, int k) {
  return (k / 32) * 512 + (column + 16 * (k % 32 / 16)) * 16 + k % 16;
}

DEVICE_FUNCTION void widen(const Quad& own, uint32_t* word) {
#if defined(__GFX11__)
  const bool upper = thread_index() % 32 >= 16;
  UNROLL for (int i = 0; i < 4; ++i) {
    const uint32_t other = exchange_bits<16>(own.word[i]);
    word[i] = upper ? other : own.word[i];
    word[4 + i] = upper ? own.word[i] : other;
  }
#else
  UNROLL for (int i = 0; i < 4; ++i) word[i] = own.word[i];
#endif
}
DEVICE_FUNCTION TileB tile_b_plain(const int8_t* column, int lane);
DEVICE_FUNCTION void tile_b_two(const int8_t* column, int lane, TileB* two) {
  two[0] = tile_b_plain(column, lane);
  two[1] = tile_b_plain(column + step_inputs, lane);
}
DEVICE_FUNCTION int input_of_step(int, int step, int k) { return step * step_inputs + k; }
DEVICE_FUNCTION int step_of_input(int, int input) { return input / step_inputs; }
DEVICE_FUNCTION int number_of_input(int, int input) { return input % step_inputs; }
// What is computed from v is computed anew from here on rather than kept in registers.
DEVICE_FUNCTION void recompute(uint32_t& v) { asm volatile("" : "+v"(v)); }
constexpr bool tiles_in_turn = !matrix_unit;
constexpr bool scarce_registers = true;  // tiles take twice those of NVIDIA's, of A on gfx11 four times
DEVICE_FUNCTION void keep_order() { __builtin_amdgcn_sched_barrier(0); }  // brings nothing forward past here

// The 16 bytes of a lane, as a_lane() and a_byte() place them, to a tile.
DEVICE_FUNCTION TileA tile_a(const Quad& own) {
  TileA a;
  widen(own, a.word);
  return a;
}
// One step of a packed unit.
DEVICE_FUNCTION TileB tile_b_packed(const uint8_t* unit, int lane, int step) {
  TileB b;
  widen(*reinterpret_cast<const Quad*>(unit + step * 512 + lane * 16), b.word);
  return b;
}
// One step of a column whose 32 bytes are side by side; 8-byte aligned.
DEVICE_FUNCTION TileB tile_b_plain(const int8_t* column, [[maybe_unused]] int lane) {
  TileB b;
#if defined(__GFX11__)
  UNROLL for (int i = 0; i < 4; ++i) {
    const Duo d = reinterpret_cast<const Duo*>(column)[i];
    b.word[2 * i] = d.word[0];
    b.word[2 * i + 1] = d.word[1];
  }
#else
  UNROLL for (int i = 0; i < 2; ++i) {
    const Duo d = reinterpret_cast<const Duo*>(column + 16 * (lane / 16))[i];
    b.word[2 * i] = d.word[0];
    b.word[2 * i + 1] = d.word[1];
  }
#endif
  return b;
}

#if defined(__GFX11__) || defined(__GFX12__)
typedef int32_t Int2 __attribute__((ext_vector_type(2)));
typedef int32_t Int4 __attribute__((ext_vector_type(4)));
typedef int32_t Int8 __attribute__((ext_vector_type(8)));
#endif

#if defined(LOCKSTEP_NO_MATRIX_UNIT)
// A lane's half of the product of one row of A with its column, plus `sum`.
template <bool a_signed, int row>
DEVICE_FUNCTION int32_t half_product(const TileA& a, const TileB& b, int32_t sum) {
  UNROLL for (int i = 0; i < 4; ++i) {
    const int32_t x =
        __builtin_amdgcn_update_dpp(0, static_cast<int32_t>(a.word[i]), 0x150 | row, 0xf, 0xf, true);
    const int32_t flip = a_signed ? 0 : static_cast<int32_t>(0x80808080u);
    sum = __builtin_amdgcn_sdot4(x ^ flip, static_cast<int32_t>(b.word[i]), sum, false);
  }
  return sum;
}
template <bool a_signed, int row>
DEVICE_FUNCTION void multiply_rows(TileSums& sums, const TileA& a, const TileB& b, int32_t offset,
                                   bool upper) {
  const int32_t first = half_product<a_signed, row>(a, b, offset);
  const int32_t second = half_product<a_signed, row + 8>(a, b, offset);
  sums.sum[row] += (upper ? second : first) + exchange<16>(upper ? first : second);
  __builtin_amdgcn_sched_barrier(0);
}
#endif

// sums += A * B; A's bytes unsigned or signed, B's signed.
template <bool a_signed>
DEVICE_FUNCTION void multiply(TileSums& sums, const TileA& a, const TileB& b) {
#if defined(__GFX11__) || defined(__GFX12__)
  Int8 c;
  UNROLL for (int i = 0; i < 8; ++i) c[i] = sums.sum[i];
  UNROLL for (int half = 0; half < 2; ++half) {
#if defined(__GFX11__)
    Int4 x, y;
    UNROLL for (int i = 0; i < 4; ++i) {
      x[i] = static_cast<int32_t>(a.word[4 * half + i]);
      y[i] = static_cast<int32_t>(b.word[4 * half + i]);
    }
    c = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(a_signed, x, true, y, c, false);
#else
    Int2 x, y;
    UNROLL for (int i = 0; i < 2; ++i) {
      x[i] = static_cast<int32_t>(a.word[2 * half + i]);
      y[i] = static_cast<int32_t>(b.word[2 * half + i]);
    }
    c = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(a_signed, x, true, y, c, false);
#endif
  }
  UNROLL for (int i = 0; i < 8; ++i) sums.sum[i] = c[i];
#else
  // No matrix unit: each lane takes its half of k for rows i and i+8 of its column, then halves join.
  const bool upper = thread_index() % 32 >= 16;
  int32_t offset = 0;
  if constexpr (!a_signed) {  // x - 128 is signed: x*y = (x - 128)*y + 128*y
    UNROLL for (int i = 0; i < 4; ++i) {
      offset = __builtin_amdgcn_sdot4(0x01010101, static_cast<int32_t>(b.word[i]), offset, false);
    }
    offset *= 128;
  }
  TileA rows = a;  // rows that are kept for the next tile take more registers than there are
  UNROLL for (int i = 0; i < 4; ++i) recompute(rows.word[i]);
  multiply_rows<a_signed, 0>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 1>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 2>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 3>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 4>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 5>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 6>(sums, rows, b, offset, upper);
  multiply_rows<a_signed, 7>(sums, rows, b, offset, upper);
#endif
}

#else  // NVIDIA's m16n8k32; the host's lanes compute the same one

constexpr int tile_columns = 8;
constexpr bool whole_columns = true;  // see WholeColumns
constexpr bool joined_planes = true;  // see tile_inputs
constexpr int tile_sums = 4;
constexpr int lane_tile_rows = 2;

// Lane 4*g + t holds k 8*t to 8*t+7 of rows g and g+8, and of column g.
struct TileA {
  uint32_t word[4];
};
struct TileB {
  uint32_t word[2];
};
struct TileSums {
  int32_t sum[tile_sums];
};

DEVICE_FUNCTION int sum_row(int lane, int i) { return lane / 4 + 8 * (i / 2); }
DEVICE_FUNCTION int sum_column(int lane, int i) { return 2 * (lane % 4) + i % 2; }
DEVICE_FUNCTION constexpr int sum_row_index(int i) { return i / 2; }
DEVICE_FUNCTION int row_chunk(int lane) { return lane / 4; }
DEVICE_FUNCTION int row_chunk_of(int row) { return row % 8; }
DEVICE_FUNCTION int row_index_of(int row) { return row / 8; }

// Words of A, as the instruction wants them: row g k 0-3, row g+8 k 0-3, row g k 4-7, row g+8 k 4-7 (from
// 8*t).
DEVICE_FUNCTION int a_lane(int row, int k) { return row % 8 * 4 + k / 8; }
DEVICE_FUNCTION int a_byte(int row, int k) { return k % 8 / 4 * 8 + row / 8 * 4 + k % 4; }
DEVICE_FUNCTION int a_row(int lane, int byte) { return lane / 4 + 8 * (byte / 4 % 2); }
DEVICE_FUNCTION int a_k(int lane, int byte) { return lane % 4 * 8 + byte / 8 * 4 + byte % 4; }

DEVICE_FUNCTION int b_column(int lane) { return lane / 4; }

constexpr int b_unit_bytes = tile_columns * unit_inputs;
DEVICE_FUNCTION int b_unit_at(int column, int k) {
  return (column * 4 + k % 32 / 8) * 16 + k / 32 * 8 + k % 8;
}

// Both steps of 64 inputs of a column; their numbers are in the order of step_of_input().
DEVICE_FUNCTION void tile_b_two(const int8_t* column, int lane, TileB* two) {
  const Quad q = *reinterpret_cast<const Quad*>(column + lane % 4 * 16);
  two[0] = {{q.word[0], q.word[1]}};
  two[1] = {{q.word[2], q.word[3]}};
}
// Which of the 64 inputs of a tile is number k of a step: where groups allow it, what a lane holds of both
// steps lies side by side.
DEVICE_FUNCTION int input_of_step(int group, int step, int k) {
  return group == 32 ? step * step_inputs + k : k / 8 * 16 + step * 8 + k % 8;
}
DEVICE_FUNCTION int step_of_input(int group, int input) { return group == 32 ? input / 32 : input / 8 % 2; }
DEVICE_FUNCTION int number_of_input(int group, int input) {
  return group == 32 ? input % 32 : input / 16 * 8 + input % 8;
}
DEVICE_FUNCTION void recompute(uint32_t&) {}
constexpr bool scarce_registers = false, tiles_in_turn = false;
DEVICE_FUNCTION void keep_order() {}

DEVICE_FUNCTION TileA tile_a(const Quad& own) {
  return {{own.word[0], own.word[1], own.word[2], own.word[3]}};
}
DEVICE_FUNCTION TileB tile_b_packed(const uint8_t* unit, int lane, int step) {
  const Duo d = *reinterpret_cast<const Duo*>(unit + lane * 16 + step * 8);
  return {{d.word[0], d.word[1]}};
}
DEVICE_FUNCTION TileB tile_b_plain(const int8_t* column, int lane) {
  const Duo d = *reinterpret_cast<const Duo*>(column + lane % 4 * 8);
  return {{d.word[0], d.word[1]}};
}

template <bool a_signed>
DEVICE_FUNCTION void multiply(TileSums& sums, const TileA& a, const TileB& b) {
#if defined(LOCKSTEP_NVIDIA)
  int32_t* c = sums.sum;
  if constexpr (a_signed) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));
  }
#else
  const uint32_t own[6] = {a.word[0], a.word[1], a.word[2], a.word[3], b.word[0], b.word[1]};
  const lanes::Posted* all = lanes::post(own, 6);
  const int lane = lanes::thread_index() % 32;
  for (int i = 0; i < tile_sums; ++i) {
    const int row = sum_row(lane, i), column = sum_column(lane, i);
    for (int k = 0; k < step_inputs; k += 4) {
      const uint32_t x = all[a_lane(row, k)].word[a_byte(row, k) / 4];
      const uint32_t y = all[column * 4 + k / 8].word[4 + k % 8 / 4];
      for (int shift = 0; shift < 32; shift += 8) {
        const auto byte = static_cast<uint8_t>(x >> shift);
        sums.sum[i] += (a_signed ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte)) *
                       static_cast<int8_t>(y >> shift);
      }
    }
  }
#endif
}

#endif

// Rows of inputs are two planes of bytes, whose products with A join to one result. The planes are tiles of
// their own, or neighbouring columns of one tile where a lane holds the sums of both.
constexpr int tile_inputs = joined_planes ? tile_columns / 2 : tile_columns;  // rows of inputs of a tile
constexpr int tile_results = joined_planes ? tile_sums / 2 : tile_sums;       // of a lane
constexpr int tile_planes = joined_planes ? 1 : 2;                            // tiles for the same rows
DEVICE_FUNCTION int input_of_lane(int lane) { return joined_planes ? b_column(lane) / 2 : b_column(lane); }
DEVICE_FUNCTION int plane_of_lane(int lane, int plane) { return joined_planes ? b_column(lane) % 2 : plane; }
// All results of a lane are of one row of inputs.
DEVICE_FUNCTION int result_input(int lane) {
  return joined_planes ? sum_column(lane, 0) / 2 : sum_column(lane, 0);
}
DEVICE_FUNCTION int result_row(int lane, int i) { return sum_row(lane, joined_planes ? 2 * i : i); }
DEVICE_FUNCTION constexpr int result_row_index(int i) { return sum_row_index(joined_planes ? 2 * i : i); }
DEVICE_FUNCTION int32_t result(const TileSums* plane, int i) {
  if constexpr (joined_planes) {
    return plane[0].sum[2 * i] * 256 + plane[0].sum[2 * i + 1];
  } else {
    return plane[0].sum[i] * 256 + plane[1].sum[i];
  }
}

constexpr int a_unit_bytes = tile_rows * unit_inputs;
// Where byte k (0 to 63) of row r lies in a packed unit of A: [step][lane][16].
DEVICE_FUNCTION int a_unit_at(int row, int k) {
  return k / 32 * 512 + a_lane(row, k % 32) * 16 + a_byte(row, k % 32);
}
DEVICE_FUNCTION TileA tile_a_packed(const uint8_t* unit, int lane, int step) {
  return tile_a(*reinterpret_cast<const Quad*>(unit + step * 512 + lane * 16));
}

DEVICE_FUNCTION TileSums no_sums() {
  TileSums s;
  UNROLL for (int i = 0; i < tile_sums; ++i) s.sum[i] = 0;
  return s;
}

}  // namespace lockstep::kernels::gpu
