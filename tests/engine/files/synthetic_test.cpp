// The synthetic checkpoints that other tests stand on.
#include "tests/tools/synthetic.h"

#include <cmath>
#include <cstring>
#include <set>

#include "engine/files/half.h"
#include "tests/catch.h"
#include "tests/engine/files/model_copy.h"
#include "tests/engine/support/solo.h"
#include "tests/tools/random_weights.h"

namespace lockstep::engine {

TEST_CASE("synthetic checkpoints open, and cover every width, group and scale type") {
  std::set<int> scale_types, widths, groups;
  for (const tools::SyntheticShape& shape : tools::synthetic_shapes()) {
    INFO(shape.name);
    const Checkpoint checkpoint = Checkpoint::open(tools::synthetic(shape.name));
    CHECK(checkpoint.config().mtp_layers == shape.mtp_layers);
    CHECK(checkpoint.config().experts == shape.experts);
    CHECK(checkpoint.config().head_dim == shape.head_dim);
    CHECK(checkpoint.config().rope_theta == shape.rope_theta);
    CHECK(checkpoint.config().delta_value_heads == shape.delta_value_heads);
    for (const ExpectedMatrix& matrix : checkpoint.tensors().matrices) {
      const MatrixInfo& info = checkpoint.matrix_info(matrix.name);
      widths.insert(info.bits);
      groups.insert(info.group);
      if (info.bits < 16) scale_types.insert(static_cast<int>(info.scale_type));
    }
  }
  CHECK(widths == std::set<int>{2, 3, 4, 5, 6, 8, 16});
  CHECK(groups == std::set<int>{0, 32, 64, 128});
  CHECK(scale_types == std::set<int>{0, 1, 2});
}

TEST_CASE("synthetic weights are the same numbers wherever they are drawn") {
  CHECK(Checkpoint::open(tools::synthetic("w3")).fingerprint() ==
        "51e0acfd0db5ddd2788a6cf4aef8b0cc00793bddf71e0552e3c953d129130b62");
  CHECK(Checkpoint::open(tools::synthetic("moe-mixed")).fingerprint() ==
        "b556e98fbd479cb4cd5d9e159c2ec276a37c595343829a4c8f54aa6a96e522ff");
  const tools::TemporaryDirectory directory;
  tools::SyntheticShape shape = tools::synthetic_shapes()[1];
  shape.shards = 4;
  shape.mtp_file = true;
  tools::write_synthetic(shape, directory.path() / "x",
                         std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tiny-dense");
  CHECK(Checkpoint::open(directory.path() / "x").fingerprint() ==
        Checkpoint::open(tools::synthetic("w3")).fingerprint());
}

TEST_CASE("synthetic weights have the scale they are meant to have") {
  const Checkpoint checkpoint = Checkpoint::open(tools::synthetic("w4"));
  const HostMatrix matrix = checkpoint.matrix("model.layers.0.mlp.down_proj", 256, 640);
  const auto* codes = reinterpret_cast<const uint8_t*>(matrix.weights.data());
  const auto* scales = reinterpret_cast<const float*>(matrix.scales.data());
  const auto* biases = reinterpret_cast<const float*>(matrix.biases.data());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 256 * 640; i++) {
    const double w = scales[i / 128] * (codes[i / 2] >> i % 2 * 4 & 15) + biases[i / 128];
    sum += w;
    squares += w * w;
  }
  const double deviation = std::sqrt(squares / (256 * 640)) * std::sqrt(640.0);
  CHECK(std::abs(sum / (256 * 640)) < 0.01);
  CHECK(deviation > 0.8);
  CHECK(deviation < 1.3);
}

TEST_CASE("synthetic numbers are rounded to bf16 and fp16 as they should be") {
  tools::Random random(9, "halves");
  for (int i = 0; i < 100000; i++) {
    const float x = random.normal(1) * std::ldexp(1.0f, -static_cast<int>(random.next() % 26));
    const uint16_t half = tools::to_fp16(x), brain = tools::to_bf16(x);
    for (int step : {-1, 1}) {
      const float other = from_fp16(static_cast<uint16_t>(half + step)),
                  next = from_bf16(static_cast<uint16_t>(brain + step));
      if ((half & 0x7fff) != 0) REQUIRE(std::abs(from_fp16(half) - x) <= std::abs(other - x));
      REQUIRE(std::abs(from_bf16(brain) - x) <= std::abs(next - x));
    }
  }
  CHECK(tools::to_fp16(1.0f + 0x1p-11f) == 0x3c00);
  CHECK(tools::to_fp16(1.0f + 0x3p-11f) == 0x3c02);
  CHECK(tools::to_fp16(-0x1.8p-24f) == 0x8002);
  CHECK(tools::to_bf16(1.0f + 0x1p-8f) == 0x3f80);
}

TEST_CASE("synthetic long-context copies differ in max_position_embeddings only") {
  const std::filesystem::path model = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tiny-dense";
  const std::filesystem::path copy = tools::copy_with_max_positions(model, 65536);
  CHECK(copy == tools::copy_with_max_positions(model, 65536));
  CHECK(Checkpoint::open(copy).config().max_positions == 65536);
  CHECK(Checkpoint::open(copy).fingerprint() == Checkpoint::open(model).fingerprint());
  CHECK(tools::read_file(copy / "tokenizer.json") == tools::read_file(model / "tokenizer.json"));
}

TEST_CASE("synthetic models give the same logits on every implementation, in chunks and whole") {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 70; i++) prompt.push_back((i * i * 7 + 13) % 2030);
  for (const tools::SyntheticShape& shape : tools::synthetic_shapes()) {
    std::vector<float> first;
    int chunk = 64;
    for (const std::string& device : kernels::implementations()) {
      INFO(shape.name << " on " << device << ", chunks of " << chunk);
      test::Solo solo(tools::synthetic(shape.name), device, 128);
      std::vector<float> all, logits = solo.feed(prompt, chunk);
      std::set<int32_t> different;
      for (int i = 0; i < 16; i++) {
        all.insert(all.end(), logits.begin(), logits.end());
        const int32_t token = test::largest(logits);
        different.insert(token);
        logits = solo.feed(std::span(&token, 1), 1);
      }
      for (float logit : all) REQUIRE(std::isfinite(logit));
      CHECK(different.size() > 8);
      if (first.empty()) first = all;
      CHECK(std::memcmp(first.data(), all.data(), first.size() * sizeof(float)) == 0);
      chunk = chunk == 64 ? 7 : 64;
    }
  }
}

}  // namespace lockstep::engine
