// Linear layers, gate|up with SwiGLU, embedding rows (canon.md, "Linear layers").
#include <vector>

#include "kernels/canon/math.h"
#include "kernels/reference/matrix.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

namespace {

const ReferenceMatrix& stored(const Matrix* matrix) { return static_cast<const ReferenceMatrix&>(*matrix); }

// The input rows of a layer with their two bytes joined again.
class Inputs {
 public:
  Inputs(const Blocks& in, const float* x, int inputs) : in_(in), x_(x), inputs_(inputs) {
    if (in.high) q_.resize(static_cast<size_t>(in.length));
  }

  // Valid until the next call.
  InputRow row(int r) {
    const size_t start = static_cast<size_t>(r) * static_cast<size_t>(in_.length);
    for (size_t i = 0; i < q_.size(); ++i) {
      q_[i] = static_cast<int16_t>(256 * in_.high[start + i] + in_.low[start + i]);
    }
    InputRow row{q_.data(), nullptr, nullptr, nullptr};
    if (!q_.empty()) {
      row.multiplier = in_.multiplier + start / static_cast<size_t>(in_.group);
      row.sum = in_.sum + start / static_cast<size_t>(in_.group);
    }
    if (x_) row.x = x_ + static_cast<size_t>(r) * static_cast<size_t>(inputs_);
    return row;
  }

 private:
  Blocks in_;
  const float* x_;
  int inputs_;
  std::vector<int16_t> q_;
};

}  // namespace

void ReferenceDevice::run(const Linear& op) {
  Inputs inputs(op.in, op.x, op.outputs[0].matrix->inputs);
  InputRow row{};
  for (int r = 0; r < op.rows; ++r) {
    if (r % op.rows_per_input == 0) row = inputs.row(r / op.rows_per_input);
    const int expert = op.expert ? op.expert[r] : 0;
    for (const LinearOutput& output : op.outputs) {
      float* y = output.y + static_cast<ptrdiff_t>(r) * output.stride;
      const StoredMatrix& matrix = stored(output.matrix).first;
      for (int o = 0; o < matrix.outputs; ++o) y[o] = linear_output(matrix, expert, o, row);
    }
  }
}

void ReferenceDevice::run(const SwiGlu& op) {
  const ReferenceMatrix& pair = stored(op.gate_up);
  Inputs inputs(op.in, op.x, pair.inputs);
  InputRow row{};
  for (int r = 0; r < op.rows; ++r) {
    if (r % op.rows_per_input == 0) row = inputs.row(r / op.rows_per_input);
    const int expert = op.expert ? op.expert[r] : 0;
    float* out = op.out + static_cast<ptrdiff_t>(r) * pair.outputs;
    for (int o = 0; o < pair.outputs; ++o) {
      const float gate = linear_output(pair.first, expert, o, row);
      out[o] = canon::silu(gate) * linear_output(pair.second, expert, o, row);
    }
    if (op.blocks) write_blocks(*op.blocks, r, out);
  }
}

void ReferenceDevice::run(const Embed& op) {
  const StoredMatrix& table = stored(op.table).first;
  for (int r = 0; r < op.rows; ++r) {
    float* out = op.out + static_cast<ptrdiff_t>(r) * table.inputs;
    for (int i = 0; i < table.inputs; ++i) out[i] = matrix_element(table, op.tokens[r], i);
  }
}

}  // namespace lockstep::kernels
