// What the machine can do at best, for kernels to be compared with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::kernels {

struct Probe {
  const char* product;  // the quickest instruction of 8-bit or 16-bit products
  int products;         // of 15-bit inputs with codes that one of them does: half of its byte products
  uint64_t (*read)(const uint8_t* data, size_t bytes);  // sums all of them; bytes: a multiple of 256
  uint32_t (*multiply)(int64_t instructions);           // runs that many in registers, a multiple of 16
};

const Probe& probe_avx2();
const Probe& probe_avx512();

}  // namespace lockstep::kernels
