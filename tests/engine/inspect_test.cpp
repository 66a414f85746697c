#include <algorithm>
#include <filesystem>

#include "engine/engine.h"
#include "engine/memory/budget.h"
#include "tests/catch.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep;
using namespace lockstep::engine;

namespace {

const std::filesystem::path starter = LOCKSTEP_SOURCE_DIR "/packaging/starter";

Options options_of(const std::filesystem::path& model, uint64_t memory) {
  Options options;
  options.model = model;
  options.memory = memory;
  return options;
}

}  // namespace

TEST_CASE("inspect tells what a checkpoint consists of and what fits") {
  const Inspection seen = inspect(options_of(starter, uint64_t{1} << 30));
  CHECK(seen.name == "starter");
  CHECK(seen.problems.empty());
  CHECK(seen.family == "qwen3_5");
  CHECK(seen.parts.linear_layers + seen.parts.full_layers == 12);
  uint64_t bytes = 0;
  for (const RoleSummary& part : seen.parts.roles) bytes += part.bytes;
  CHECK(bytes == seen.weight_bytes);
  REQUIRE_FALSE(seen.fits.empty());
  CHECK(seen.fits.back().context == seen.context);
  CHECK(seen.fits.back().requests == seen.lanes);
  CHECK(seen.fits.back().kv_bytes == seen.position_bytes * static_cast<uint64_t>(seen.context));
  const Inspection poor = inspect(options_of(starter, uint64_t{1} << 20));
  CHECK(poor.fits.back().requests == 0);
}

TEST_CASE("inspect agrees with what an engine takes") {
  const Options options = options_of(starter, uint64_t{1} << 30);
  const Inspection seen = inspect(options);
  const auto engine = Engine::open(options, [](const std::string&) {});
  const auto pools = engine->status().memory;
  const auto pool = [&](const std::string& name) {
    return std::ranges::find(pools, name, &Status::Pool::name)->bytes;
  };
  CHECK(pool("scratch") == seen.scratch_bytes);
  CHECK(pool("states") == seen.state_bytes * static_cast<uint64_t>(seen.lanes));
  CHECK(pool("kv_pages") == seen.fits.back().kv_bytes * static_cast<uint64_t>(seen.fits.back().requests));
}

TEST_CASE("inspect names everything that is missing") {
  const tools::TemporaryDirectory folder;
  std::filesystem::copy_file(starter / "config.json", folder.path() / "config.json");
  const Inspection seen = inspect(options_of(folder.path(), 0));
  CHECK_FALSE(seen.readable);
  REQUIRE(seen.problems.size() == 3);
  CHECK(seen.problems[0].find("model.safetensors") != std::string::npos);
  CHECK(seen.problems[1].find("tokenizer.json") != std::string::npos);
  CHECK(seen.problems[2].find("chat_template.jinja") != std::string::npos);
  CHECK(inspect(options_of("/nonexistent", 0)).problems.size() == 1);
}

TEST_CASE("a budget is divided: the lanes' pages, then the cache") {
  const Demand demand{1000, 100, 10, 5, 20, 4, 0};
  const Division half = divide(demand);
  CHECK(half.least == 200);
  CHECK(half.cache_slots == 20);
  CHECK(half.cache_pages == 40);
  CHECK(half.lanes_pages == 80);  // (1000 - 100 - 400) / 5 would be 100
  CHECK(divide({1000, 100, 10, 5, 20, 4, 700}).lanes_pages == 40);
  CHECK(divide({150, 100, 10, 5, 20, 4, 0}).least == 200);
}
