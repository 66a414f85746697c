#include "daemon/inspection.h"

#include "daemon/json/value.h"
#include "tests/catch.h"
#include "tests/daemon/json_path.h"

namespace lockstep::test {
namespace {

engine::Inspection example() {
  engine::Inspection model;
  model.name = "big";
  model.readable = true;
  model.family = "qwen3_5_moe";
  model.vocabulary = 248320;
  model.context = 262144;
  model.experts = 256;
  model.experts_per_token = 8;
  model.parts.linear_layers = 30;
  model.parts.full_layers = 10;
  model.parts.weights = 34'660'610'688;
  model.parts.active_weights = 3'000'000'000;
  model.parts.bytes = 19'500'000'000;
  model.parts.roles = {{"experts", "4 bits, groups of 64, BF16 scales", 120, 32'212'254'720, 18'119'393'280},
                       {"small tensors", "BF16", 141, 999'999, 2'000'000}};
  model.device = "cpu-avx2";
  model.budget = uint64_t{20} << 30;
  model.weight_bytes = model.parts.bytes;
  model.state_bytes = 65'000'000;
  model.position_bytes = 20480;
  model.lanes = 16;
  model.fits = {{131072, 2'684'354'560, 3}, {262144, 5'368'709'120, 0}};
  return model;
}

TEST_CASE("inspect prints tables that fit 80 columns") {
  const std::string text = daemon::inspection_text(example());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 80);
  }
  CHECK_THAT(
      text, Catch::Contains("experts        4 bits, groups of 64, BF16 scales      120     32 G   17 GiB\n"));
  CHECK_THAT(text, Catch::Contains("1000 k"));
  CHECK_THAT(text, Catch::Contains("131072          2.5 GiB                 3\n"));
  CHECK_THAT(text, Catch::Contains("does not fit\n"));
}

TEST_CASE("inspect says what is missing, as text and as JSON") {
  engine::Inspection broken;
  broken.name = "x";
  broken.problems = {"no config.json\nhere"};
  CHECK(daemon::inspection_text(broken) == "x\ncannot be served: no config.json\\x0ahere\n");
  const auto json = daemon::json::parse(daemon::inspection_json(broken));
  CHECK(text_at(json, "problems.0") == "no config.json\nhere");
  const auto whole = daemon::json::parse(daemon::inspection_json(example()));
  CHECK(text_at(whole, "kvBytesPerToken") == "20480");
  CHECK(text_at(whole, "fits.1.requests") == "0");
  CHECK(text_at(whole, "parts.0.part") == "experts");
}

}  // namespace
}  // namespace lockstep::test
