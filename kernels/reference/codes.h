// Reading what checkpoints store: codes, scales and half-width floats. Host code, shared by every
// implementation's pack().
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace lockstep::kernels {

// Throws DeviceError in one sentence unless the source is a shape and width the operations know.
void check_source(const MatrixSource&);
// Likewise for a gate and an up matrix that are to be one pair: both of one shape, width and group.
void check_pair(const MatrixSource& gate, const MatrixSource& up);

// The first n codes of a little-endian bit stream: code i is the `bits` bits from bit i*bits on.
void unpack_codes(const uint8_t* stream, int bits, int n, uint8_t* codes);

float bf16_to_float(uint16_t bits);
float fp16_to_float(uint16_t bits);

// Element i of an array of scales or biases, widened exactly.
float read_scale(const void* array, ScaleType type, size_t i);

}  // namespace lockstep::kernels
