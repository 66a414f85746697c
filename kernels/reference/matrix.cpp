#include "kernels/reference/matrix.h"

#include <cstring>
#include <new>

#include "kernels/canon/base.h"
#include "kernels/reference/codes.h"
#include "kernels/reference/reference_device.h"

namespace lockstep::kernels {

namespace {

constexpr int segment = 256;  // inputs summed before they join the output

size_t bytes_of(const StoredMatrix& m) {
  return m.codes.size() + sizeof(float) * (m.scales.size() + m.biases.size() + m.dense.size());
}

StoredMatrix store(const MatrixSource& s) {
  check_source(s);
  StoredMatrix m;
  m.outputs = s.outputs;
  m.inputs = s.inputs;
  const size_t rows = static_cast<size_t>(s.experts) * static_cast<size_t>(s.outputs);
  const size_t numbers = rows * static_cast<size_t>(s.inputs);
  if (s.bits == 16) {
    m.dense.resize(numbers);
    for (size_t i = 0; i < numbers; ++i) m.dense[i] = read_scale(s.weights, ScaleType::bf16, i);
    return m;
  }
  m.group = s.group;
  m.codes.resize(numbers);
  const size_t stream_bytes = static_cast<size_t>(s.inputs) * static_cast<size_t>(s.bits) / 8;
  const auto* streams = static_cast<const uint8_t*>(s.weights);
  for (size_t row = 0; row < rows; ++row) {
    unpack_codes(streams + row * stream_bytes, s.bits, s.inputs,
                 &m.codes[row * static_cast<size_t>(s.inputs)]);
  }
  const size_t groups = numbers / static_cast<size_t>(s.group);
  m.scales.resize(groups);
  m.biases.resize(groups);
  for (size_t i = 0; i < groups; ++i) {
    m.scales[i] = read_scale(s.scales, s.scale_type, i);
    m.biases[i] = read_scale(s.biases, s.scale_type, i);
  }
  return m;
}

std::unique_ptr<Matrix> store_all(const MatrixSource& first, const MatrixSource* second) {
  try {
    auto matrix = std::make_unique<ReferenceMatrix>();
    matrix->experts = first.experts;
    matrix->outputs = first.outputs;
    matrix->inputs = first.inputs;
    matrix->bits = first.bits;
    matrix->group = first.bits == 16 ? 0 : first.group;
    matrix->pair = second != nullptr;
    matrix->first = store(first);
    if (second) matrix->second = store(*second);
    matrix->bytes = bytes_of(matrix->first) + bytes_of(matrix->second);
    return matrix;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for a matrix of " + std::to_string(first.outputs) + " outputs and " +
                      std::to_string(first.inputs) + " inputs");
  }
}

// The fma pair of one group: D = sum of code*q.
float add_group(const StoredMatrix& m, size_t group, const uint8_t* codes, const InputRow& row, int index,
                float seg) {
  const int16_t* q = row.q + static_cast<ptrdiff_t>(index) * m.group;
  int32_t d = 0;
  for (int i = 0; i < m.group; ++i) d += codes[i] * q[i];
  seg = canon::fma(m.scales[group], static_cast<float>(d) * row.multiplier[index], seg);
  return canon::fma(m.biases[group], row.sum[index], seg);
}

}  // namespace

std::unique_ptr<Matrix> ReferenceDevice::pack(const MatrixSource& source) {
  return store_all(source, nullptr);
}

std::unique_ptr<Matrix> ReferenceDevice::pack_pair(const MatrixSource& gate, const MatrixSource& up) {
  check_pair(gate, up);
  return store_all(gate, &up);
}

float linear_output(const StoredMatrix& m, int expert, int output, const InputRow& row) {
  const size_t line =
      static_cast<size_t>(expert) * static_cast<size_t>(m.outputs) + static_cast<size_t>(output);
  const size_t first = line * static_cast<size_t>(m.inputs);
  float y = 0.0f;
  for (int start = 0; start < m.inputs; start += segment) {
    const int end = start + segment < m.inputs ? start + segment : m.inputs;
    float seg = 0.0f;
    if (m.group == 0) {
      for (int i = start; i < end; ++i) {
        seg = canon::fma(m.dense[first + static_cast<size_t>(i)], row.x[i], seg);
      }
    } else {
      for (int i = start; i < end; i += m.group) {
        const size_t at = first + static_cast<size_t>(i);
        seg = add_group(m, at / static_cast<size_t>(m.group), &m.codes[at], row, i / m.group, seg);
      }
    }
    y = start == 0 ? seg : y + seg;
  }
  return y;
}

float matrix_element(const StoredMatrix& m, int row, int i) {
  const size_t at = static_cast<size_t>(row) * static_cast<size_t>(m.inputs) + static_cast<size_t>(i);
  if (m.group == 0) return m.dense[at];
  const size_t group = at / static_cast<size_t>(m.group);
  return canon::fma(m.scales[group], static_cast<float>(m.codes[at]), m.biases[group]);
}

}  // namespace lockstep::kernels
