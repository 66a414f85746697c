#include <algorithm>
#include <cstring>

#include "kernels/cpu/matrix.h"
#include "kernels/cpu/pool.h"
#include "kernels/reference/codes.h"

namespace lockstep::kernels::cpu {
namespace {

// In each part of 2*span bits: moves the upper of two fields of `width` bits that lie side by side at the
// bottom to the middle.
template <int span, int width>
uint64_t spread(uint64_t x) {
  constexpr uint64_t field = (uint64_t{1} << width) - 1;
  uint64_t lower = 0;
  for (int at = 0; at < 64; at += 2 * span) lower |= field << at;
  return (x & lower) | (x & lower << width) << (span - width);
}

// Eight codes of a little-endian bit stream that ends at `end`, spread to one a byte.
template <int bits>
uint64_t eight_codes(const uint8_t* source, const uint8_t* end) {
  uint64_t x = 0;
  if (end - source >= 8) {
    std::memcpy(&x, source, sizeof x);  // more than needed: quicker
  } else {
    std::memcpy(&x, source, bits);
  }
  if constexpr (bits == 8) return x;
  return spread<8, bits>(spread<16, 2 * bits>(spread<32, 4 * bits>(x)));
}

// Units of one output: four codes a number.
using Units = uint32_t[chunk_inputs / 4];

// Writes bits [from, from + width) of the units as vectors of 8/width units; dword o of a vector is at 16*v.
template <int from, int width>
void store_plane(const Units& unit, uint32_t* dwords) {
  constexpr uint32_t mask = ((1u << width) - 1) * 0x01010101u;
  constexpr int per_vector = 8 / width;
  for (int v = 0; v < width; ++v) {
    uint32_t all = 0;
    for (int k = 0; k < per_vector; ++k) all |= (unit[v * per_vector + k] >> from & mask) << width * k;
    std::memcpy(dwords + v * tile_outputs, &all, sizeof all);
  }
}

// 32 inputs of one output; dwords: where the output's first dword of the chunk goes.
template <int bits>
void pack_chunk(const uint8_t* source, const uint8_t* end, uint32_t* dwords) {
  Units unit;
  for (int k = 0; k < 4; ++k) {
    const uint64_t eight = eight_codes<bits>(source + k * bits, end);
    std::memcpy(unit + 2 * k, &eight, sizeof eight);
  }
  if constexpr (bits == 8) store_plane<0, 8>(unit, dwords);
  if constexpr (bits == 4 || bits == 5 || bits == 6) store_plane<0, 4>(unit, dwords);
  if constexpr (bits == 2 || bits == 3) store_plane<0, 2>(unit, dwords);
  if constexpr (bits == 3) store_plane<2, 1>(unit, dwords + 2 * tile_outputs);
  if constexpr (bits == 5) store_plane<4, 1>(unit, dwords + 4 * tile_outputs);
  if constexpr (bits == 6) store_plane<4, 2>(unit, dwords + 4 * tile_outputs);
}

// Scale or bias number `to_index` of a group from number `at` of the source. Halves of a pair may differ in
// type; then both are widened.
void store_scale(uint8_t* to, int to_index, ScaleType type, const void* source, ScaleType source_type,
                 size_t at) {
  const size_t width = type == ScaleType::fp32 ? 4 : 2;
  uint8_t* place = to + static_cast<size_t>(to_index) * width;
  if (type == source_type) {
    std::memcpy(place, static_cast<const uint8_t*>(source) + at * width, width);
  } else {
    const float wide = read_scale(source, source_type, at);
    std::memcpy(place, &wide, sizeof wide);
  }
}

// 16 outputs of one source matrix, those from `output` on that there are.
template <int bits>
void pack_tile(const MatrixSource& source, const PackedMatrix& matrix, int expert, int output, uint8_t* to) {
  const int count = std::min(tile_outputs, source.outputs - output), groups = source.inputs / source.group;
  const size_t row_bytes = static_cast<size_t>(source.inputs) / 8 * bits,
               codes = static_cast<size_t>(2 * source.group * bits);
  const size_t first =
      static_cast<size_t>(expert) * static_cast<size_t>(source.outputs) + static_cast<size_t>(output);
  const auto* weights = static_cast<const uint8_t*>(source.weights) + first * row_bytes;
  const uint8_t* end = static_cast<const uint8_t*>(source.weights) +
                       static_cast<size_t>(source.experts) * static_cast<size_t>(source.outputs) * row_bytes;
  for (int g = 0; g < groups; ++g, to += matrix.group_bytes) {
    for (int o = 0; o < count; ++o) {
      const uint8_t* row =
          weights + static_cast<size_t>(o) * row_bytes + static_cast<size_t>(g) * codes / tile_outputs;
      auto* dwords = reinterpret_cast<uint32_t*>(to) + o;
      for (int chunk = 0; chunk < source.group / chunk_inputs; ++chunk)
        pack_chunk<bits>(row + chunk * 4 * bits, end, dwords + chunk * bits * tile_outputs);
      const size_t at =
          (first + static_cast<size_t>(o)) * static_cast<size_t>(groups) + static_cast<size_t>(g);
      store_scale(to + codes, o, matrix.scale_type, source.scales, source.scale_type, at);
      store_scale(to + codes, tile_outputs + o, matrix.scale_type, source.biases, source.scale_type, at);
    }
  }
}

void pack_dense_tile(const MatrixSource& source, int expert, int output, uint8_t* to) {
  const int count = std::min(tile_outputs, source.outputs - output);
  const auto inputs = static_cast<size_t>(source.inputs);
  const size_t first =
      static_cast<size_t>(expert) * static_cast<size_t>(source.outputs) + static_cast<size_t>(output);
  const auto* rows = static_cast<const uint8_t*>(source.weights) + first * inputs * 2;
  for (size_t k = 0; k < inputs; k += 2) {
    const size_t bytes = std::min<size_t>(2, inputs - k) * 2;
    for (int o = 0; o < count; ++o)
      std::memcpy(to + k * 2 * tile_outputs + 4 * o, rows + (static_cast<size_t>(o) * inputs + k) * 2, bytes);
  }
}

void pack_one(const MatrixSource& source, const PackedMatrix& matrix, int expert, int output, uint8_t* to) {
  switch (source.bits) {
    case 2: return pack_tile<2>(source, matrix, expert, output, to);
    case 3: return pack_tile<3>(source, matrix, expert, output, to);
    case 4: return pack_tile<4>(source, matrix, expert, output, to);
    case 5: return pack_tile<5>(source, matrix, expert, output, to);
    case 6: return pack_tile<6>(source, matrix, expert, output, to);
    case 8: return pack_tile<8>(source, matrix, expert, output, to);
    default: return pack_dense_tile(source, expert, output, to);
  }
}

}  // namespace

std::unique_ptr<PackedMatrix> pack_matrix(const MatrixSource& source, const MatrixSource* up, Pool& pool) {
  if (up) {
    check_pair(source, *up);
  } else {
    check_source(source);
  }
  auto matrix = std::make_unique<PackedMatrix>();
  matrix->experts = source.experts;
  matrix->outputs = source.outputs;
  matrix->inputs = source.inputs;
  matrix->bits = source.bits;
  matrix->group = source.bits == 16 ? 0 : source.group;
  matrix->pair = up != nullptr;
  matrix->scale_type = !up || up->scale_type == source.scale_type ? source.scale_type : ScaleType::fp32;
  const int halves = up ? 2 : 1;
  matrix->tiles = (source.outputs + tile_outputs - 1) / tile_outputs * halves;
  if (source.bits == 16) {
    matrix->group_bytes = 4 * tile_outputs;
    matrix->tile_bytes = static_cast<size_t>((source.inputs + 1) / 2) * matrix->group_bytes;
  } else {
    const int scales = tile_outputs * 2 * (matrix->scale_type == ScaleType::fp32 ? 4 : 2);
    matrix->group_bytes = static_cast<size_t>(2 * source.group * source.bits + scales);
    matrix->tile_bytes = static_cast<size_t>(source.inputs / source.group) * matrix->group_bytes;
  }
  matrix->bytes =
      matrix->tile_bytes * static_cast<size_t>(matrix->tiles) * static_cast<size_t>(source.experts);
  matrix->memory = Memory(matrix->bytes);
  uint8_t* data = matrix->memory.data();
  for (int expert = 0; expert < source.experts; ++expert) {
    pool.run(matrix->tiles, [&](int tile) {
      pack_one(up && tile % 2 ? *up : source, *matrix, expert, tile / halves * tile_outputs,
               data + static_cast<size_t>(tile) * matrix->tile_bytes);
    });
    data += static_cast<size_t>(matrix->tiles) * matrix->tile_bytes;
  }
  return matrix;
}

}  // namespace lockstep::kernels::cpu
