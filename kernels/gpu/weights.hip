// Weights into the layout of weights.h, and single rows out of it (embedding).
#include "kernels/gpu/weights.h"

namespace lockstep::kernels::gpu {

DEVICE_FUNCTION float read_bf16(const uint8_t* at) {
  return canon::float_of(static_cast<uint32_t>(*reinterpret_cast<const uint16_t*>(at)) << 16);
}
DEVICE_FUNCTION float read_fp16(const uint8_t* at) {
  const uint32_t bits = *reinterpret_cast<const uint16_t*>(at);
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
  if (exponent == 0) {  // zero or denormal: fraction * 2^-24, exact in fp32
    return canon::float_of(canon::bits_of(static_cast<float>(fraction) * 0x1p-24f) | sign);
  }
  return canon::float_of(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

// Code i of a little-endian bit stream.
DEVICE_FUNCTION uint32_t stream_code(const uint8_t* stream, int bits, int i) {
  const int64_t bit = static_cast<int64_t>(i) * bits;
  const uint8_t* at = stream + bit / 8;
  const int shift = static_cast<int>(bit % 8);
  uint32_t v = at[0];
  if (shift + bits > 8) v |= static_cast<uint32_t>(at[1]) << 8;
  return v >> shift & ((1u << bits) - 1);
}

DEVICE_FUNCTION uint8_t* strip_of(const PackedWeights& w, int expert, int strip, int half) {
  return const_cast<uint8_t*>(w.data) + static_cast<uint64_t>(expert) * w.expert_bytes +
         static_cast<uint64_t>(strip * w.halves + half) * w.strip_bytes;
}

// One warp a tile of 16 outputs and 64 inputs. Grid: x tiles of 64 inputs, y strips, z experts; block: 64.
KERNEL(pack_codes, PackArgs, 64) {
  wait_for_inputs();
  const PackedWeights& w = a.to;
  const int bits = w.bits, strip = block_y(), expert = block_z(), tile = warp_index(), lane = lane_index();
  const int per_unit = inputs_of_unit(w.group) / 64, part = block_x() % per_unit;
  uint8_t* unit = strip_of(w, expert, strip, a.half) +
                  static_cast<int64_t>(block_x() / per_unit) * unit_bytes(bits, w.group, w.wide);
  uint8_t* to = unit + (part * strip_tiles + tile) * tile_code_bytes(bits);
  const uint64_t row_bytes = static_cast<uint64_t>(w.inputs) * bits / 8;
  uint32_t four[4] = {}, two[2] = {}, one = 0;
  for (int step = 0; step < 2; ++step) {
    Quad whole = {};
    for (int byte = 0; byte < 16; ++byte) {
      const int output = strip * strip_outputs + tile * tile_rows + a_row(lane, byte);
      const int input = block_x() * 64 + input_of_step(w.group, step, a_k(lane, byte));
      uint32_t code = 0;
      if (output < w.outputs && input < w.inputs) {
        code = stream_code(a.weights + (static_cast<uint64_t>(expert) * w.outputs + output) * row_bytes, bits,
                           input);
      }
      const int i = byte / 4, at = byte % 4 * 8;
      whole.word[i] |= code << at;
      int shift = 0;
      if (bits & 4) {
        four[step * 2 + i / 2] |= (code & 15u) << (at + i % 2 * 4);
        shift = 4;
      }
      if (bits & 2) {
        two[step] |= (code >> shift & 3u) << (at + 2 * i);
        shift += 2;
      }
      if (bits & 1) one |= (code >> shift & 1u) << (at + 4 * step + i);
    }
    if (bits == 8) reinterpret_cast<Quad*>(to)[step * 32 + lane] = whole;
  }
  if (bits == 8) return;
  if (bits & 4) {
    reinterpret_cast<Quad*>(to)[lane] = {{four[0], four[1], four[2], four[3]}};
    to += 512;
  }
  if (bits & 2) {
    reinterpret_cast<Duo*>(to)[lane] = {{two[0], two[1]}};
    to += 256;
  }
  if (bits & 1) reinterpret_cast<uint32_t*>(to)[lane] = one;
}

// One thread a scale and bias. Grid: x groups, y strips, z experts; block: 32.
KERNEL(pack_scales, PackArgs, 32) {
  wait_for_inputs();
  const PackedWeights& w = a.to;
  const int group = block_x(), strip = block_y(), expert = block_z(), output = thread_index();
  const int in_unit = inputs_of_unit(w.group) / w.group;
  uint8_t* to = strip_of(w, expert, strip, a.half) +
                static_cast<int64_t>(group / in_unit) * unit_bytes(w.bits, w.group, w.wide) +
                unit_code_bytes(w.bits, w.group) + group % in_unit * scale_bytes(w.wide);
  const int row = strip * strip_outputs + output, groups = w.inputs / w.group;
  float scale = 0.0f, bias = 0.0f;
  if (row < w.outputs && group < groups) {
    const uint64_t at = (static_cast<uint64_t>(expert) * w.outputs + row) * groups + group;
    const auto type = static_cast<ScaleType>(a.scale_type);
    if (type == ScaleType::fp32) {
      scale = reinterpret_cast<const float*>(a.scales)[at];
      bias = reinterpret_cast<const float*>(a.biases)[at];
    } else if (type == ScaleType::fp16) {
      scale = read_fp16(a.scales + at * 2);
      bias = read_fp16(a.biases + at * 2);
    } else {
      scale = read_bf16(a.scales + at * 2);
      bias = read_bf16(a.biases + at * 2);
    }
  }
  if (w.wide) {
    reinterpret_cast<Duo*>(to)[scale_at(output)] = {{canon::bits_of(scale), canon::bits_of(bias)}};
  } else {
    reinterpret_cast<uint32_t*>(to)[scale_at(output)] = canon::bits_of(scale) >> 16 | canon::bits_of(bias);
  }
}

// bf16 weights. Grid: x inputs / 32, y strips, z experts; block: 256.
KERNEL(pack_dense, PackArgs, 256) {
  wait_for_inputs();
  const PackedWeights& w = a.to;
  const int strip = block_y(), expert = block_z(), output = thread_index() % 32;
  auto* to = reinterpret_cast<uint16_t*>(strip_of(w, expert, strip, a.half));
  const int row = strip * strip_outputs + output;
  for (int input = block_x() * 32 + thread_index() / 32; input < block_x() * 32 + 32; input += 8) {
    if (input >= w.inputs) return;
    uint16_t v = 0;
    if (row < w.outputs) {
      v = reinterpret_cast<const uint16_t*>(
          a.weights)[(static_cast<uint64_t>(expert) * w.outputs + row) * w.inputs + input];
    }
    to[static_cast<int64_t>(input) * strip_outputs + output] = v;
  }
}

// The code of one output and input.
DEVICE_FUNCTION uint32_t stored_code(const uint8_t* tile, int bits, int group, int row, int input) {
  const int step = step_of_input(group, input), k = number_of_input(group, input);
  const int lane = a_lane(row, k), byte = a_byte(row, k);
  const int i = byte / 4, in_word = byte % 4;
  if (bits == 8) return tile[(step * 32 + lane) * 16 + byte];
  uint32_t code = 0;
  int shift = 0;
  if (bits & 4) {
    code = tile[lane * 16 + (step * 2 + i / 2) * 4 + in_word] >> (i % 2 * 4) & 15u;
    tile += 512;
    shift = 4;
  }
  if (bits & 2) {
    code |= (tile[lane * 8 + step * 4 + in_word] >> (2 * i) & 3u) << shift;
    tile += 256;
    shift += 2;
  }
  if (bits & 1) code |= (tile[lane * 4 + in_word] >> (4 * step + i) & 1u) << shift;
  return code;
}

// Grid: x inputs / 256, y rows.
KERNEL(embed, EmbedArgs, 256) {
  wait_for_inputs();
  let_next_start();
  const PackedWeights& w = a.table;
  const int input = block_x() * 256 + thread_index();
  if (input >= w.inputs) return;
  const int64_t row = block_y();
  const int token = a.tokens[row], output = token % strip_outputs;
  const uint8_t* strip = strip_of(w, 0, token / strip_outputs, 0);
  float* out = a.out + row * w.inputs + input;
  if (w.bits == 16) {
    *out = read_bf16(strip + (static_cast<int64_t>(input) * strip_outputs + output) * 2);
    return;
  }
  const int unit_length = inputs_of_unit(w.group), in_unit = input % unit_length;
  const uint8_t* unit =
      strip + static_cast<int64_t>(input / unit_length) * unit_bytes(w.bits, w.group, w.wide);
  const uint8_t* tile = unit + (in_unit / 64 * strip_tiles + output / tile_rows) * tile_code_bytes(w.bits);
  const uint32_t code = stored_code(tile, w.bits, w.group, output % tile_rows, in_unit % 64);
  const uint8_t* pairs = unit + unit_code_bytes(w.bits, w.group) + in_unit / w.group * scale_bytes(w.wide);
  float scale, bias;
  if (w.wide) {
    const Duo pair = reinterpret_cast<const Duo*>(pairs)[scale_at(output)];
    scale = canon::float_of(pair.word[0]);
    bias = canon::float_of(pair.word[1]);
  } else {
    const uint32_t pair = reinterpret_cast<const uint32_t*>(pairs)[scale_at(output)];
    scale = low_bf16(pair);
    bias = high_bf16(pair);
  }
  *out = canon::fma(scale, static_cast<float>(code), bias);
}

}  // namespace lockstep::kernels::gpu
