// GpuDevice's linear layers: which kernel takes how many rows, and how its blocks share a chip.
#include <algorithm>

#include "kernels/gpu/launch.h"
#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

namespace {

constexpr int held_sums_bytes = 24 << 10;  // of a block of linear layers

}  // namespace

// Makes groups of at most `size` rows of one expert, and gives how many.
int GpuDevice::group_rows(LinearArgs& args, int experts, int size) {
  const int groups = args.rows / size + experts;
  auto* group = static_cast<RowGroup*>(scratch_);
  auto* order = reinterpret_cast<int32_t*>(group + groups);
  const size_t bytes =
      static_cast<size_t>(groups) * sizeof(RowGroup) + static_cast<size_t>(args.rows) * sizeof(int32_t);
  if (bytes > scratch_bytes) {
    throw DeviceError("the GPU has " + std::to_string(scratch_bytes) +
                      " bytes to group a round's routed rows, " + std::to_string(args.rows) + " rows need " +
                      std::to_string(bytes) + "; a smaller chunk needs fewer");
  }
  launch("group_rows", {static_cast<unsigned>(experts)}, 256, 2 * 256 / 32 * sizeof(int32_t),
         GroupRowsArgs{args.rows, size, args.expert, order, group});
  args.expert = nullptr;
  args.order = order;
  args.groups = group;
  return groups;
}

void GpuDevice::linear(const char* kind, LinearArgs args, int halves, int experts) {
  const PackedWeights& w = args.part[0].weights;
  const auto strips = static_cast<unsigned>(args.strips);
  if (w.bits == 16) {
    const unsigned y = args.expert ? rows_of_grid(args.rows) : blocks_of(args.rows, 8);
    launch(std::string(kind) + "_dense", {strips, y}, 256, size_t{8} * 8 * 32 * sizeof(float), args);
    return;
  }
  const std::string kernel =
      std::string(kind) + "_" + std::to_string(w.bits) + "_" + std::to_string(w.group) + "_";
  const bool streams = runtime_->copies_ahead();
  // From two rows an expert on, most experts have some to share their weights.
  const bool grouped = args.expert && args.rows >= 2 * experts;
  const auto blocks = [&](int columns) {
    return grouped ? static_cast<unsigned>(group_rows(args, experts, columns))
                   : blocks_of(args.rows, columns);
  };
  if ((grouped || (!args.expert && args.rows > 32)) && runtime_->has_matrix_unit()) {
    const int warps = many_warps(w.bits, w.group, streams);
    const Grid grid{blocks(many_columns), blocks_of(args.strips, warps / halves)};
    launch(kernel + "many", grid, static_cast<unsigned>(warps) * 32,
           static_cast<size_t>(many_bytes(w.bits, w.group, warps, streams)), args);
    return;
  }
  // Kernels are made for 4, 8 or 16 rows, or 16 or 32, as the chip's tiles and registers allow.
  int columns = runtime_->fewest_rows();
  const int most = args.expert || !runtime_->has_matrix_unit() ? columns : streams ? 16 : 32;
  while (columns < most && columns < args.rows) columns *= 2;
  const unsigned y = rows_of_grid(args.expert && !grouped ? args.rows : static_cast<int>(blocks(columns)));
  LinearArgs shared_out = args;
  share_out(shared_out, columns, halves, strips * y);
  const int warps = halves * shared_out.warps;
  const int shared =
      (streams ? streams_bytes(w.bits, w.group, warps) : 0) + shared_out.turns * sums_bytes(columns, warps);
  launch(kernel + std::to_string(columns), {strips, y}, static_cast<unsigned>(warps) * 32,
         static_cast<size_t>(shared), shared_out);
}

// Shares a strip's segments out among so many warps that the multiprocessor with the most blocks ends first;
// one streams at its full rate from about 20 warps on.
void GpuDevice::share_out(LinearArgs& args, int columns, int halves, unsigned blocks) const {
  const PackedWeights& w = args.part[0].weights;
  const int segments = (w.inputs + segment_inputs - 1) / segment_inputs;
  constexpr int full_rate_warps = 20, registers = 65536, shared = 220 << 10, most_threads = 2048;
  const int registers_of_thread = columns == 4 ? 80 : 128;
  const int64_t each = blocks_of(blocks, runtime_->multiprocessors());
  const int most = runtime_->copies_ahead() ? most_warps(columns) / halves : fewest_warps;
  int64_t least = INT64_MAX;
  for (int warps = fewest_warps; warps <= most; ++warps) {
    const int turns = (segments + warps - 1) / warps, sums = sums_bytes(columns, halves * warps);
    const int held = std::clamp(held_sums_bytes / sums, 1, turns);
    const int bytes = streams_bytes(w.bits, w.group, halves * warps) + held * sums + 1024;
    const int64_t resident = std::max(1, std::min({registers / (registers_of_thread * 32 * halves * warps),
                                                   shared / bytes, most_threads / (32 * halves * warps)}));
    const auto time = [&](int64_t at_once) {
      return turns * std::max<int64_t>(at_once * halves * warps, full_rate_warps);
    };
    const int64_t rest = each % resident;
    const int64_t all = each / resident * time(resident) + (rest ? time(rest) : 0);
    if (all >= least) continue;
    least = all;
    args.warps = warps;
    args.turns = held;
  }
}

// Parts of one width, group and form share a launch.
void GpuDevice::run(const Linear& op) {
  if (op.rows == 0) return;
  std::vector<bool> done(op.outputs.size(), false);
  for (size_t first = 0; first < op.outputs.size(); ++first) {
    if (done[first]) continue;
    LinearArgs args{op.in, op.x, op.rows, op.rows_per_input, 0, 0, 0, 0, op.expert, nullptr, nullptr, {}};
    const PackedWeights& w = stored(op.outputs[first].matrix).weights;
    for (size_t i = first; i < op.outputs.size(); ++i) {
      const GpuMatrix& matrix = stored(op.outputs[i].matrix);
      if (done[i] || matrix.weights.bits != w.bits || matrix.weights.group != w.group ||
          args.parts == most_parts)
        continue;
      args.part[args.parts++] = {matrix.weights, op.outputs[i].y, op.outputs[i].stride, args.strips};
      args.strips += matrix.strips;
      done[i] = true;
    }
    linear("linear", args, 1, op.outputs[first].matrix->experts);
  }
}

void GpuDevice::run(const SwiGlu& op) {
  if (op.rows == 0) return;
  const GpuMatrix& matrix = stored(op.gate_up);
  LinearArgs args{op.in, op.x, op.rows,   op.rows_per_input, 1,       matrix.strips,
                  0,     0,    op.expert, nullptr,           nullptr, {}};
  args.part[0] = {matrix.weights, op.out, matrix.outputs, 0};
  linear("swiglu", args, 2, matrix.experts);
  quantize(op.rows, op.out, op.blocks);
}

}  // namespace lockstep::kernels::gpu
