#include "kernels/gpu/gpu_device.h"

#include <algorithm>
#include <cmath>

#include "kernels/gpu/launch.h"
#include "kernels/gpu/layout.h"

namespace lockstep::kernels::gpu {

namespace {

constexpr size_t most_repeated = 64;  // keys of repeat() that are remembered

}  // namespace

GpuDevice::GpuDevice(std::unique_ptr<Runtime> runtime, TimeAsleep (*asleep)())
    : runtime_(std::move(runtime)),
      asleep_(asleep),
      slept_before_(asleep().most),
      scratch_(runtime_->allocate(scratch_bytes)) {}

GpuDevice::~GpuDevice() { runtime_->release(scratch_); }

void GpuDevice::waited() {
  if (timer_) timer_->waited();
  if (asleep_().least > slept_before_)
    throw DeviceError("the machine was suspended, and what was in the GPU's memory may be lost");
}

void GpuDevice::repeat(std::span<const int32_t> key, const std::function<void()>& work) {
  if (!runtime_->has_graphs() || timer_) return work();
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

void GpuDevice::time_kernels(bool on) {
  timer_.reset();
  if (on) timer_.emplace(*runtime_);
}

std::vector<KernelTime> GpuDevice::kernel_times() const {
  return timer_ ? timer_->times() : std::vector<KernelTime>{};
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

void GpuDevice::delta(const char* kind, const DeltaArgs& args, int at_once) {
  const DeltaShape& s = args.shape;
  if (s.key_dim > 128) {
    throw DeviceError(
        "the GPU takes linear attention with keys of at most 128 dimensions; this model's have " +
        std::to_string(s.key_dim));
  }
  const bool whole = (s.key_dim == 64 || s.key_dim == 128) && s.value_dim % 32 == 0;
  const int dimensions = whole ? s.key_dim : 128;
  const size_t shared =
      2 * static_cast<size_t>(at_once) * (static_cast<size_t>(dimensions) * 2 + 4) * sizeof(float);
  launch(
      std::string(kind) + "_" + (whole ? std::to_string(dimensions) : "any"),
      {blocks_of(s.value_dim, 32), static_cast<unsigned>(s.value_heads), rows_of_grid(args.round.sequences)},
      128, shared, args);
}

void GpuDevice::run(const DeltaRule& op) {
  if (op.round.rows == 0) return;
  const bool straddle =
      op.blocks && op.shape.value_dim % op.blocks->group != 0;  // a block has numbers of two heads
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
                       op.out,
                       op.blocks && !straddle ? *op.blocks : Blocks{}};
  if (op.round.most_rows > 1) {
    delta("delta_rows", args, delta_rows_at_once);
  } else {
    delta("delta_rule", args, 1);
  }
  launch("delta_norm", {blocks_of(op.shape.value_heads, 4), rows_of_grid(op.round.rows)}, 128, 0, args);
  if (straddle) quantize(op.round.rows, op.out, op.blocks);
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
  delta("delta_replay", args, 1);
}

}  // namespace lockstep::kernels::gpu
