// Operations that treat each row by itself: norm, blocks, gather.
#include <cstring>

#include "kernels/canon/blocks.h"
#include "kernels/canon/fold.h"
#include "kernels/canon/math.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

void write_blocks(const Blocks& blocks, int row, const float* x) {
  const int groups = blocks.length / blocks.group;
  for (int g = 0; g < groups; ++g) {
    const ptrdiff_t block = static_cast<ptrdiff_t>(row) * groups + g;
    const ptrdiff_t first = block * blocks.group;
    blocks.multiplier[block] =
        canon::make_block(x + static_cast<ptrdiff_t>(g) * blocks.group, blocks.group, blocks.high + first,
                          blocks.low + first, blocks.sum ? blocks.sum + block : nullptr);
  }
}

void ReferenceDevice::run(const Norm& op) {
  std::vector<float> result(static_cast<size_t>(op.length));
  for (int row = 0; row < op.rows; ++row) {
    float* x = op.x + static_cast<ptrdiff_t>(row) * op.length;
    if (op.add) {
      const float* add = op.add + static_cast<ptrdiff_t>(row) * op.length;
      for (int i = 0; i < op.length; ++i) x[i] = x[i] + add[i];
    }
    const float ss = canon::sum_of_squares(x, op.length);
    const float r = canon::inverse_root(ss / static_cast<float>(op.length) + op.eps);
    for (int i = 0; i < op.length; ++i) result[static_cast<size_t>(i)] = (x[i] * r) * op.weight[i];
    if (op.out) {
      std::memcpy(op.out + static_cast<ptrdiff_t>(row) * op.out_stride, result.data(),
                  result.size() * sizeof(float));
    }
    if (op.blocks) write_blocks(*op.blocks, row, result.data());
  }
}

void ReferenceDevice::run(const Quantize& op) {
  for (int row = 0; row < op.rows; ++row) {
    write_blocks(op.blocks, row, op.x + static_cast<ptrdiff_t>(row) * op.blocks.length);
  }
}

void ReferenceDevice::run(const Gather& op) {
  for (int row = 0; row < op.rows; ++row) {
    std::memcpy(op.out + static_cast<ptrdiff_t>(row) * op.length,
                op.x + static_cast<ptrdiff_t>(op.row[row]) * op.length,
                static_cast<size_t>(op.length) * sizeof(float));
  }
}

}  // namespace lockstep::kernels
