// Convolution, delta rule and their replays on the CPU against the reference.
#include "tests/kernels/cpu/same_bits.h"

namespace lockstep::kernels::test {
namespace {

// Rounds of linear attention over the lanes of one model, the output of the convolution feeding the rule.
class DeltaRun {
 public:
  DeltaRun(std::mt19937& random, Device& device, Record& record, const DeltaShape& shape, int group,
           int lanes)
      : device_(device),
        random_(random),
        record_(record),
        shape_(shape),
        group_(group),
        lanes_(random, lanes, 1) {
    channels_ =
        static_cast<size_t>(2 * shape.key_heads * shape.key_dim + shape.value_heads * shape.value_dim);
    const auto slots = static_cast<size_t>(lanes), heads = static_cast<size_t>(shape.value_heads);
    // What a lane finds in its slot at first must not matter.
    history_ = numbers(random, slots * static_cast<size_t>(shape.taps - 1) * channels_);
    state_ = numbers(random, slots * heads * static_cast<size_t>(shape.key_dim * shape.value_dim));
    taps_ = numbers(random, channels_ * static_cast<size_t>(shape.taps), 2);
    a_log_ = numbers(random, heads, 2, 2.0f);
    dt_bias_ = numbers(random, heads, 2, 2.0f);
    norm_ = numbers(random, static_cast<size_t>(shape.value_dim), 1);
  }

  // keep: rows of each sequence to keep by replay, or none to store the state at once.
  void round(const std::vector<int>& rows, const std::vector<int>& keep = {}, int planted = 0) {
    const Round round = lanes_.next(rows, keep.empty());
    const auto n = static_cast<size_t>(round.rows), heads = static_cast<size_t>(shape_.value_heads),
               dv = static_cast<size_t>(shape_.value_dim);
    auto x = numbers(random_, n * channels_);
    if (planted) plant(random_, x, planted);
    std::vector<float> qkv(n * channels_, poison);
    device_.run(Convolution{round, shape_, x.data(), taps_.data(), history_.data(), qkv.data()});
    record_.floats("convolution", qkv);
    const auto a = numbers(random_, n * heads, 3, 30.0f), b = numbers(random_, n * heads, 3, 5.0f),
               z = numbers(random_, n * heads * dv, 3, 3.0f);
    std::vector<float> update(n * heads * dv, poison), out(update);
    OwnBlocks blocks(round.rows, shape_.value_heads * shape_.value_dim, group_);
    device_.run(DeltaRule{round, shape_, qkv.data(), a.data(), b.data(), z.data(), a_log_.data(),
                          dt_bias_.data(), norm_.data(), 1e-6f, state_.data(), update.data(), out.data(),
                          &blocks.blocks});
    record_.floats("update", update);
    record_.floats("out", out);
    blocks.record(record_, "blocks");
    record_state();
    if (keep.empty()) return;
    for (size_t i = 0; i < keep.size(); ++i) {
      lanes_.sequences[i].keep = keep[i];
      lanes_.advance(static_cast<size_t>(lanes_.sequences[i].page_table), keep[i]);
    }
    device_.run(ConvolutionReplay{round, shape_, x.data(), history_.data()});
    device_.run(DeltaReplay{round, shape_, qkv.data(), a.data(), a_log_.data(), dt_bias_.data(),
                            update.data(), state_.data()});
    record_state();
  }

 private:
  void record_state() {
    record_.floats("history", history_);
    record_.floats("state", state_);
  }

  Device& device_;
  std::mt19937& random_;
  Record& record_;
  DeltaShape shape_;
  int group_;
  Lanes lanes_;
  size_t channels_ = 0;
  std::vector<float> history_, state_, taps_, a_log_, dt_bias_, norm_;
};

}  // namespace

TEST_CASE("CPU delta rule: shapes, prompts, decoding and replay") {
  const struct {
    DeltaShape shape;
    int group;
  } models[] = {{{2, 4, 128, 128, 4}, 64}, {{2, 4, 64, 64, 4}, 128}, {{1, 1, 32, 16, 4}, 16},
                {{1, 3, 20, 48, 2}, 16},   {{2, 2, 64, 32, 5}, 32},  {{1, 2, 48, 192, 3}, 32},
                {{1, 12, 32, 64, 1}, 64}};
  unsigned seed = 600;
  for (const auto& model : models) {
    INFO("key_dim " << model.shape.key_dim << ", value_dim " << model.shape.value_dim << ", taps "
                    << model.shape.taps);
    same_on_all(++seed, [&](Device& device, std::mt19937& random, Record& record) {
      DeltaRun run(random, device, record, model.shape, model.group, 3);
      run.round({40, 1, 2});
      run.round({1, 1, 1});
      run.round({0, 33, 64});
      run.round({4, 5, 3}, {0, 5, 2});
      run.round({1, 0, 35}, {1, 34});
      run.round({2, 2, 2});
    });
  }
}

TEST_CASE("CPU delta rule: a round that starts from empty state, replayed") {
  same_on_all(650, [](Device& device, std::mt19937& random, Record& record) {
    DeltaRun run(random, device, record, {1, 2, 32, 32, 4}, 64, 2);
    run.round({3, 2}, {2, 0});
    run.round({1, 2}, {1, 2});
    run.round({1, 1});
  });
}

TEST_CASE("CPU delta rule: a prompt of 1,100 rows") {
  same_on_all(660, [](Device& device, std::mt19937& random, Record& record) {
    DeltaRun run(random, device, record, {1, 2, 32, 64, 4}, 64, 2);
    run.round({1100, 3});
    run.round({1, 1});
  });
}

TEST_CASE("CPU delta rule: zeros, denormals, largest numbers, infinities and NaN") {
  same_on_all(670, [](Device& device, std::mt19937& random, Record& record) {
    for (const int planted : {1, 3, 10, 100}) {
      DeltaRun run(random, device, record, {2, 4, 32, 32, 4}, 64, 2);
      run.round({20, 2}, {}, planted);
      run.round({2, 2}, {1, 2}, planted);
      run.round({1, 1});
    }
  });
}

}  // namespace lockstep::kernels::test
