#include "engine/models/rows.h"

#include <vector>

namespace lockstep::engine {

Rows::Rows(kernels::Device& device, int rows, int length, std::initializer_list<int> groups)
    : device_(&device), x_(device, size_t(rows) * length) {
  for (int group : groups) {
    Form& form = forms_[group / 64];
    const size_t values = size_t(rows) * length, blocks = values / group;
    form.high = DeviceArray<int8_t>(device, values);
    form.low = DeviceArray<int8_t>(device, values);
    form.multiplier = DeviceArray<float>(device, blocks);
    form.sum = DeviceArray<float>(device, blocks);
    form.view = {form.high.data(), form.low.data(), form.multiplier.data(), form.sum.data(), length, group};
  }
}

void Rows::begin(int rows, int length) {
  rows_ = rows;
  length_ = length;
  for (Form& form : forms_) {
    form.view.length = length;
    form.ready = false;
  }
}

Rows::Form& Rows::form(const kernels::Matrix& reader) { return forms_[reader.group / 64]; }

const kernels::Blocks* Rows::fused(const kernels::Matrix& reader) {
  if (reader.group == 0) return nullptr;
  Form& wanted = form(reader);
  wanted.ready = true;
  return &wanted.view;
}

kernels::Blocks Rows::blocks(const kernels::Matrix& reader) {
  if (reader.group == 0) return {};
  Form& wanted = form(reader);
  if (!wanted.ready) device_->run(kernels::Quantize{rows_, x_.data(), wanted.view});
  wanted.ready = true;
  return wanted.view;
}

uint64_t Rows::bytes() const {
  uint64_t sum = x_.bytes();
  for (const Form& form : forms_)
    sum += form.high.bytes() + form.low.bytes() + form.multiplier.bytes() + form.sum.bytes();
  return sum;
}

void project(kernels::Device& device, Rows& from, std::initializer_list<kernels::LinearOutput> outputs) {
  for (int group : {0, 32, 64, 128}) {
    std::array<kernels::LinearOutput, 8> same;
    size_t count = 0;
    for (const kernels::LinearOutput& output : outputs)
      if (output.matrix->group == group) same[count++] = output;
    if (count)
      device.run(kernels::Linear{
          from.rows(), from.blocks(*same[0].matrix), from.x(), {same.data(), count}, nullptr, 1});
  }
}

}  // namespace lockstep::engine
