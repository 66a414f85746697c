// Attention on the CPU against the reference.
#include <algorithm>

#include "kernels/canon/rotary.h"
#include "tests/kernels/cpu/same_bits.h"

namespace lockstep::kernels::test {
namespace {

struct Model {
  AttentionShape shape;
  int group;  // of the output's blocks
  int planted = 0;
  bool non_finite = false;
  float size = 1.0f;
};

// Rounds of attention over the lanes of one model.
class AttentionRun {
 public:
  AttentionRun(Device& device, std::mt19937& random, Record& record, const Model& model, int lanes, int pages)
      : device_(device), random_(random), record_(record), model_(model), lanes_(random, lanes, pages) {
    const AttentionShape& s = model.shape;
    const size_t bytes = device.kv_page_bytes(s.key_heads, s.head_dim) * lanes_.pages.size();
    kv_ = {device.allocate(bytes), s.key_heads, s.head_dim};
    q_norm_ = numbers(random, static_cast<size_t>(s.head_dim), 1);
    k_norm_ = numbers(random, static_cast<size_t>(s.head_dim), 1);
    for (int i = 0; i < s.rotary_dim / 2; ++i)
      inv_freq_.push_back(canon::inverse_frequency(1e5, i, s.rotary_dim));
  }
  ~AttentionRun() { device_.release(kv_.data); }

  void round(const std::vector<int>& rows, bool keep = true) {
    const Round round = lanes_.next(rows, keep);
    const AttentionShape& s = model_.shape;
    const auto n = static_cast<size_t>(round.rows), dim = static_cast<size_t>(s.head_dim);
    const auto hq = static_cast<size_t>(s.query_heads), hk = static_cast<size_t>(s.key_heads);
    auto q_gate = inputs(n * hq * 2 * dim), k = inputs(n * hk * dim), v = inputs(n * hk * dim);
    OwnBlocks q(round.rows, s.query_heads * s.head_dim, s.head_dim, false);
    device_.run(AttentionInputs{round, s, q_gate.data(), k.data(), v.data(), q_norm_.data(), k_norm_.data(),
                                1e-6f, inv_freq_.data(), q.blocks, kv_});
    q.record(record_, "q");
    std::vector<float> out(n * hq * dim, poison);
    OwnBlocks blocks(round.rows, s.query_heads * s.head_dim, model_.group);
    Attention op{round,      s,
                 q.blocks,   q_gate.data(),
                 kv_,        static_cast<float>(1.0 / std::sqrt(s.head_dim)),
                 out.data(), &blocks.blocks};
    device_.run(op);
    record_.floats("out", out);
    blocks.record(record_, "blocks");
    std::vector<float> again(out.size(), poison);
    op.out = again.data();
    op.blocks = nullptr;
    device_.run(op);
    record_.floats("out without blocks", again);
  }

  void read(size_t lane, int pages_of_lane) {
    const auto positions = static_cast<size_t>(lanes_.length(lane)),
               hk = static_cast<size_t>(model_.shape.key_heads);
    const size_t n = positions * hk * static_cast<size_t>(model_.shape.head_dim);
    std::vector<int8_t> kh(n, 99), kl(n, 99), vh(n, 99), vl(n, 99);
    std::vector<float> km(positions * hk, poison), vm(km);
    device_.run(KvRead{kv_, lanes_.pages.data() + lane * static_cast<size_t>(pages_of_lane),
                       lanes_.length(lane), kh.data(), kl.data(), vh.data(), vl.data(), km.data(),
                       vm.data()});
    record_.numbers("k_high", kh);
    record_.numbers("k_low", kl);
    record_.numbers("v_high", vh);
    record_.numbers("v_low", vl);
    record_.floats("k_multiplier", km);
    record_.floats("v_multiplier", vm);
  }

 private:
  std::vector<float> inputs(size_t n) {
    auto x = numbers(random_, n, 8, model_.size);
    if (model_.planted) plant(random_, x, model_.planted, model_.non_finite);
    return x;
  }

  Device& device_;
  std::mt19937& random_;
  Record& record_;
  Model model_;
  Lanes lanes_;
  KvPages kv_;
  std::vector<float> q_norm_, k_norm_, inv_freq_;
};

void run_all(unsigned seed, const Model& model, int lanes, int pages,
             const std::vector<std::vector<int>>& rounds) {
  same_on_all(seed, [&](Device& device, std::mt19937& random, Record& record) {
    AttentionRun run(device, random, record, model, lanes, pages);
    for (const auto& rows : rounds) run.round(rows);
    for (int lane = 0; lane < lanes; ++lane) run.read(static_cast<size_t>(lane), pages);
  });
}

}  // namespace

TEST_CASE("CPU attention: a prompt of 1,150 positions in chunks, then decoding, beside a short lane") {
  run_all(1, {{4, 2, 32, 16}, 32}, 2, 20, {{512, 3}, {512, 1}, {126, 1}, {1, 1}, {1, 0}, {5, 2}});
}

TEST_CASE("CPU attention: head shapes") {
  const Model models[] = {{{8, 2, 64, 32}, 64}, {{6, 1, 256, 64}, 128}, {{3, 3, 64, 16}, 64},
                          {{2, 1, 48, 48}, 32}, {{16, 1, 128, 64}, 64}, {{2, 2, 64, 64}, 128},
                          {{2, 2, 16, 8}, 32}};
  unsigned seed = 10;
  for (const Model& model : models) {
    INFO("head_dim " << model.shape.head_dim << ", heads " << model.shape.query_heads << "/"
                     << model.shape.key_heads);
    run_all(++seed, model, 3, 6, {{70, 17, 1}, {1, 1, 1}, {60, 0, 9}, {3, 64, 2}, {200, 1, 1}});
  }
}

TEST_CASE("CPU attention: every number of rows in a round") {
  std::vector<std::vector<int>> rounds;
  for (int rows = 1; rows <= 20; ++rows) rounds.push_back({rows, 21 - rows});
  run_all(30, {{2, 1, 32, 32}, 32}, 2, 6, rounds);
}

TEST_CASE("CPU attention: zeros, denormals, largest numbers, infinities and NaN") {
  run_all(40, {{4, 2, 32, 16}, 32, 40, false, 1.0f}, 2, 6, {{150, 40}, {1, 1}, {100, 64}});
  run_all(41, {{4, 2, 32, 16}, 32, 3, true, 1.0f}, 2, 6, {{90, 40}, {1, 1}, {100, 64}, {1, 1}});
  run_all(42, {{4, 2, 32, 16}, 32, 0, false, 1e30f}, 2, 6, {{90, 40}, {1, 1}});
  run_all(43, {{4, 2, 32, 16}, 32, 0, false, 0.0f}, 2, 6, {{90, 40}, {1, 1}});
}

TEST_CASE("CPU attention: rows that are not kept are overwritten by the next round") {
  same_on_all(50, [](Device& device, std::mt19937& random, Record& record) {
    AttentionRun run(device, random, record, {{4, 2, 64, 32}, 64}, 1, 8);
    run.round({61});
    for (int i = 0; i < 4; ++i) {
      run.round({5}, false);
      run.round({3});
    }
    run.read(0, 8);
  });
}

}  // namespace lockstep::kernels::test
