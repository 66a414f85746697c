#include "kernels/gpu/gpu_device.h"

#include <algorithm>
#include <cmath>

#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

namespace {

// Working memory: parts of attention, weights on their way into their layout.
constexpr size_t scratch_bytes = size_t{64} << 20;
constexpr int most_grid_rows = 65535;      // of a launch's y and z
constexpr int held_sums_bytes = 24 << 10;  // of a block of linear layers
constexpr size_t most_repeated = 64;       // keys of repeat() that are remembered

unsigned blocks_of(int64_t count, int per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}
unsigned rows_of_grid(int rows) {
  if (rows > most_grid_rows) {
    throw DeviceError("the GPU takes rounds of at most " + std::to_string(most_grid_rows) +
                      " rows; this one has " + std::to_string(rows));
  }
  return static_cast<unsigned>(rows);
}
const GpuMatrix& stored(const Matrix* matrix) { return static_cast<const GpuMatrix&>(*matrix); }

}  // namespace

GpuDevice::GpuDevice(std::unique_ptr<Runtime> runtime)
    : runtime_(std::move(runtime)), scratch_(runtime_->allocate(scratch_bytes)) {}

GpuDevice::~GpuDevice() { runtime_->release(scratch_); }

void GpuDevice::repeat(std::span<const int32_t> key, const std::function<void()>& work) {
  if (!runtime_->has_graphs()) return work();
  const auto [found, is_new] = repeated_.try_emplace({key.begin(), key.end()});
  Repeated& repeated = found->second;
  repeated.last_used = ++repeats_;
  if (repeated.graph) return runtime_->start(*repeated.graph);
  if (is_new) {
    if (repeated_.size() > most_repeated) {
      repeated_.erase(std::ranges::min_element(
          repeated_, {}, [](const auto& one) -> uint64_t { return one.second.last_used; }));
    }
    return work();
  }
  runtime_->begin_graph();
  try {
    work();
  } catch (...) {
    runtime_->end_graph();
    throw;
  }
  repeated.graph = runtime_->end_graph();
  runtime_->start(*repeated.graph);
}

size_t GpuDevice::kv_page_bytes(int key_heads, int head_dim) const {
  if (head_dim <= 0 || head_dim > 256 || head_dim % 16 != 0) {
    throw DeviceError("the GPU takes attention heads of 16, 32, ... 256 dimensions; this model's have " +
                      std::to_string(head_dim));
  }
  return static_cast<size_t>(key_heads) * static_cast<size_t>(kv_head_bytes(head_dim));
}

void GpuDevice::quantize(int rows, const float* x, const Blocks* blocks) {
  if (!blocks || rows == 0) return;
  const QuantizeArgs args{x, *blocks, static_cast<int64_t>(rows) * (blocks->length / blocks->group)};
  launch("quantize", {blocks_of(args.count, 8)}, 256, 0, args);
}

void GpuDevice::run(const Quantize& op) { quantize(op.rows, op.x, &op.blocks); }

void GpuDevice::run(const Embed& op) {
  if (op.rows == 0) return;
  const EmbedArgs args{stored(op.table).weights, op.tokens, op.out};
  launch("embed", {blocks_of(op.table->inputs, 256), rows_of_grid(op.rows)}, 256, 0, args);
}

void GpuDevice::run(const Norm& op) {
  if (op.rows == 0) return;
  if (op.length > most_norm_length) {
    throw DeviceError("the GPU takes rows of at most " + std::to_string(most_norm_length) +
                      " numbers; this model's have " + std::to_string(op.length));
  }
  const NormArgs args{op.length, op.out_stride, op.eps, op.x,
                      op.add,    op.weight,     op.out, op.blocks ? *op.blocks : Blocks{}};
  launch("rms_norm", {static_cast<unsigned>(op.rows)}, norm_threads,
         (static_cast<size_t>(op.length) + 1) * sizeof(float), args);
}

void GpuDevice::run(const Gather& op) {
  if (op.rows == 0) return;
  const CopyRowsArgs args{op.length, op.row, op.x, op.out};
  launch("gather", {blocks_of(op.length, 256), rows_of_grid(op.rows)}, 256, 0, args);
}

void GpuDevice::run(const CombineExperts& op) {
  if (op.rows == 0) return;
  const CombineArgs args{op.rows, op.top, op.length, op.routed, op.weight, op.shared, op.shared_gate, op.out};
  launch("combine_experts", {blocks_of(op.length, 256), rows_of_grid(op.rows)}, 256, 0, args);
}

void GpuDevice::run(const Router& op) {
  if (op.rows == 0) return;
  const RouterArgs args{op.rows, op.experts, op.top, op.logits, op.expert, op.weight};
  launch("router", {static_cast<unsigned>(op.rows)}, 32, static_cast<size_t>(op.experts) * sizeof(int32_t),
         args);
}

void GpuDevice::run(const Candidates& op) {
  if (op.rows == 0) return;
  const CandidatesArgs args{op.vocabulary, op.count,   op.logits,  op.id,
                            op.logit,      op.maximum, op.log_sum, op.finite};
  launch("candidates", {static_cast<unsigned>(op.rows)}, candidate_threads, candidate_shared_bytes, args);
}

void GpuDevice::linear(const char* kind, const LinearArgs& args, int halves) {
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
  if (!args.expert && args.rows > 32 && runtime_->has_matrix_unit()) {
    const int shared =
        (streams ? streams_bytes(w.bits, w.group, many_warps) : 0) + 2 * many_inputs_bytes(w.group);
    launch(kernel + "many", {blocks_of(args.rows, many_columns), blocks_of(args.strips, many_warps / halves)},
           many_warps * 32, static_cast<size_t>(shared), args);
    return;
  }
  // Kernels are made for 4, 8, 16 or 32 rows, as the chip's tiles allow.
  int columns = runtime_->fewest_rows();
  const int most = args.expert || !runtime_->has_matrix_unit() ? columns : 32;
  while (columns < most && columns < args.rows) columns *= 2;
  const unsigned y = args.expert ? rows_of_grid(args.rows) : blocks_of(args.rows, columns);
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
  const int registers_of_thread = columns == 4 ? 80 : columns == 8 ? 128 : 168;
  const int64_t each = blocks_of(blocks, runtime_->multiprocessors());
  const int most = runtime_->copies_ahead() ? most_warps / halves : fewest_warps;
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
    LinearArgs args{op.in, op.x, op.rows, op.rows_per_input, 0, 0, 0, 0, op.expert, {}};
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
    linear("linear", args, 1);
  }
}

void GpuDevice::run(const SwiGlu& op) {
  if (op.rows == 0) return;
  const GpuMatrix& matrix = stored(op.gate_up);
  LinearArgs args{op.in, op.x, op.rows, op.rows_per_input, 1, matrix.strips, 0, 0, op.expert, {}};
  args.part[0] = {matrix.weights, op.out, matrix.outputs, 0};
  linear("swiglu", args, 2);
  quantize(op.rows, op.out, op.blocks);
}

void GpuDevice::run(const AttentionInputs& op) {
  if (op.round.rows == 0) return;
  const AttentionInputsArgs args{op.round,
                                 op.shape,
                                 op.q_gate,
                                 op.k,
                                 op.v,
                                 op.q_norm,
                                 op.k_norm,
                                 op.inv_freq,
                                 op.eps,
                                 op.q,
                                 static_cast<uint8_t*>(op.kv.data)};
  const int heads = op.shape.query_heads + 2 * op.shape.key_heads;
  launch("attention_inputs", {blocks_of(heads, 4), rows_of_grid(op.round.rows)}, 128,
         size_t{4} * 256 * sizeof(float), args);
}

void GpuDevice::run(const KvRead& op) {
  if (op.positions == 0) return;
  const KvReadArgs args{static_cast<const uint8_t*>(op.kv.data),
                        op.kv.key_heads,
                        op.kv.head_dim,
                        op.positions,
                        op.pages,
                        op.k_high,
                        op.k_low,
                        op.v_high,
                        op.v_low,
                        op.k_multiplier,
                        op.v_multiplier};
  launch("kv_read", {static_cast<unsigned>(op.positions), static_cast<unsigned>(op.kv.key_heads)}, 64, 0,
         args);
}

// Rows are taken in turns for whose parts the scratch has room.
void GpuDevice::run(const Attention& op) {
  if (op.round.rows == 0) return;
  const int dim = op.shape.head_dim, heads = op.shape.query_heads / op.shape.key_heads;
  const int units = units_of_head(dim) > 2 ? 4 : units_of_head(dim);
  AttentionArgs args{op.round, op.shape, op.q, op.q_gate, static_cast<const uint8_t*>(op.kv.data),
                     op.scale, 0,        0,    0,         static_cast<float*>(scratch_),
                     op.out};
  args.spans = static_cast<int32_t>(blocks_of(op.round.most_positions, page_positions * span_pages));
  const size_t row_bytes = static_cast<size_t>(op.shape.query_heads) * static_cast<size_t>(args.spans) *
                           (static_cast<size_t>(dim) + 2) * sizeof(float);
  if (row_bytes > scratch_bytes) {
    throw DeviceError("the GPU has no room to attend over " + std::to_string(op.round.most_positions) +
                      " positions");
  }
  const int turn = static_cast<int>(scratch_bytes / row_bytes);
  const size_t shared = static_cast<size_t>(units) * 2048 + size_t{span_pages} * 2048 + 16 * 260 * 4 +
                        16 * 4 + size_t{2} * span_pages * 16 * 4 + 16 * 4;
  for (int first = 0; first < op.round.rows; first += turn) {
    args.first_row = first;
    args.end_row = std::min(op.round.rows, first + turn);
    const int rows = args.end_row - first;
    const unsigned tiles = blocks_of(static_cast<int64_t>(rows) * heads, 16) +
                           static_cast<unsigned>(std::min(op.round.sequences, rows));
    launch("attention_" + std::to_string(64 * units),
           {static_cast<unsigned>(args.spans), static_cast<unsigned>(op.shape.key_heads),
            rows_of_grid(static_cast<int>(tiles))},
           256, shared, args);
    launch("attention_join", {static_cast<unsigned>(op.shape.query_heads), rows_of_grid(rows)}, 256, 0, args);
  }
  quantize(op.round.rows, op.out, op.blocks);
}

void GpuDevice::convolve(const ConvolutionArgs& args, const DeltaShape& shape) {
  if (args.round.rows == 0) return;
  if (shape.taps > 8) {
    throw DeviceError("the GPU takes convolutions of at most 8 taps; this model's have " +
                      std::to_string(shape.taps));
  }
  const int rows = args.out ? args.round.most_rows : 1;
  launch("convolution",
         {blocks_of(args.channels, 256), rows_of_grid(static_cast<int>(blocks_of(rows, 16))),
          rows_of_grid(args.round.sequences)},
         256, 0, args);
}

void GpuDevice::run(const Convolution& op) {
  const int channels = 2 * op.shape.key_heads * op.shape.key_dim + op.shape.value_heads * op.shape.value_dim;
  convolve({op.round, channels, op.shape.taps, op.x, op.weight, op.state, op.out}, op.shape);
}

void GpuDevice::run(const ConvolutionReplay& op) {
  const int channels = 2 * op.shape.key_heads * op.shape.key_dim + op.shape.value_heads * op.shape.value_dim;
  convolve({op.round, channels, op.shape.taps, op.x, nullptr, op.state, nullptr}, op.shape);
}

void GpuDevice::delta(const char* kind, const DeltaArgs& args) {
  const DeltaShape& s = args.shape;
  if (s.key_dim > 128) {
    throw DeviceError(
        "the GPU takes linear attention with keys of at most 128 dimensions; this model's have " +
        std::to_string(s.key_dim));
  }
  const int most = s.key_dim <= 64 ? 64 : 128;
  const size_t shared = 2 * (static_cast<size_t>(most) * 2 + 2) * sizeof(float);
  launch(
      std::string(kind) + "_" + std::to_string(most),
      {blocks_of(s.value_dim, 32), static_cast<unsigned>(s.value_heads), rows_of_grid(args.round.sequences)},
      128, shared, args);
}

void GpuDevice::run(const DeltaRule& op) {
  if (op.round.rows == 0) return;
  const DeltaArgs args{op.round,
                       op.shape,
                       op.qkv,
                       op.a,
                       op.b,
                       op.z,
                       op.a_log,
                       op.dt_bias,
                       op.norm,
                       op.eps,
                       static_cast<float>(1.0 / std::sqrt(static_cast<double>(op.shape.key_dim))),
                       op.state,
                       op.update,
                       op.out};
  delta("delta_rule", args);
  launch("delta_norm", {blocks_of(op.shape.value_heads, 4), rows_of_grid(op.round.rows)}, 128, 0, args);
  quantize(op.round.rows, op.out, op.blocks);
}

void GpuDevice::run(const DeltaReplay& op) {
  if (op.round.rows == 0) return;
  DeltaArgs args{};
  args.round = op.round;
  args.shape = op.shape;
  args.qkv = op.qkv;
  args.a = op.a;
  args.a_log = op.a_log;
  args.dt_bias = op.dt_bias;
  args.update = const_cast<float*>(op.update);
  args.state = op.state;
  delta("delta_replay", args);
}

}  // namespace lockstep::kernels::gpu
