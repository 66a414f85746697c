#include "engine/files/summary.h"

#include "engine/files/checkpoint.h"
#include "tests/catch.h"
#include "tests/tools/synthetic.h"

namespace lockstep::engine {

namespace {

const RoleSummary* find(const CheckpointSummary& summary, const std::string& role,
                        const std::string& format) {
  for (const RoleSummary& entry : summary.roles)
    if (entry.role == role && entry.format == format) return &entry;
  return nullptr;
}

}  // namespace

TEST_CASE("summary of the starter model") {
  const std::filesystem::path directory = std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "packaging/starter";
  const CheckpointSummary summary = summarize(Checkpoint::open(directory));
  CHECK(summary.linear_layers == 9);
  CHECK(summary.full_layers == 3);
  CHECK(summary.bytes == 31133416 - 8 - 47112);  // the file without its header
  const RoleSummary* embedding = find(summary, "embedding", "8 bits, groups of 64, BF16 scales");
  REQUIRE(embedding);
  CHECK(embedding->tensors == 1);
  CHECK(embedding->weights == 16384 * 512);
  CHECK(embedding->bytes == 16384 * (512 + 2 * 2 * 8));
  const RoleSummary* feed_forward = find(summary, "feed-forward", "4 bits, groups of 64, BF16 scales");
  REQUIRE(feed_forward);
  CHECK(feed_forward->tensors == 36);
  CHECK(feed_forward->weights == 12 * 3 * 512 * 1280);
  const RoleSummary* a_log = find(summary, "small tensors", "F32");
  REQUIRE(a_log);
  CHECK(a_log->tensors == 9);
  CHECK(a_log->weights == 9 * 4);
  const int attention = 512 * (1024 + 128 + 128 + 512), delta = 512 * (1024 + 512 + 4 + 4 + 512);
  CHECK(summary.active_weights == 16384 * 512 + 12 * 3 * 512 * 1280 + 3 * attention + 9 * delta);
}

TEST_CASE("summary of mixed formats and experts") {
  const CheckpointSummary summary = summarize(Checkpoint::open(tools::synthetic("moe-mixed")));
  const RoleSummary* experts = find(summary, "experts", "3 bits, groups of 128, BF16 scales");
  REQUIRE(experts);
  CHECK(experts->tensors == 4 * 3);
  CHECK(experts->weights == 4 * 3 * 12 * 128 * 256);
  CHECK(find(summary, "router", "BF16"));
  CHECK(find(summary, "feed-forward", "8 bits, groups of 32, F16 scales"));
  CHECK(find(summary, "output head", "4 bits, groups of 32, BF16 scales"));
  CHECK(!find(summary, "multi-token head", "6 bits, groups of 64, F32 scales"));
  CHECK(summary.weights - summary.active_weights > experts->weights / 12 * 9);
}

}  // namespace lockstep::engine
