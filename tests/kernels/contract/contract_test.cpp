// Every implementation on this machine against the reference, and the contract's own controls.
#include "kernels/contract/contract.h"

#include <algorithm>
#include <sstream>

#include "kernels/reference/reference.h"
#include "tests/catch.h"

using namespace lockstep::kernels;

namespace {

void check_implementation(const std::string& name) {
  const std::unique_ptr<Device> device = open_device(name, 2);
  REQUIRE(device->name() == name);
  std::ostringstream report;
  contract::Options options;
  options.controls = false;
  const contract::Summary summary = contract::check(*device, options, report);
  INFO("seed " << options.seed << "\n" << report.str());
  CHECK(summary.device == name);
  CHECK(summary.operations.size() == contract::operation_names().size());
  CHECK(summary.differ() == 0);
  CHECK(summary.limit_problems.empty());
}

bool runs_here(const std::string& name) {
  const std::vector<std::string> names = implementations();
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("cpu-avx2 gives the reference's bits in every operation") {
  if (runs_here("cpu-avx2")) check_implementation("cpu-avx2");
}

TEST_CASE("cpu-avx512 gives the reference's bits in every operation") {
  if (runs_here("cpu-avx512")) check_implementation("cpu-avx512");
}

TEST_CASE("every planted fault turns the contract red, and the reference itself is exact") {
  const std::unique_ptr<Device> reference = open_reference();
  std::ostringstream report;
  contract::Options options;
  options.only = {
      "gather"};  // the reference against itself need not be long; controls are chosen by operation
  CHECK(contract::check(*reference, options, report).good());
  options.only.clear();
  for (const std::string& name : contract::operation_names()) {
    options.only = {name};
    std::ostringstream text;
    const contract::Summary summary = contract::check(*reference, options, text);
    INFO(text.str());
    CHECK(!summary.controls.empty());
    CHECK(summary.missed() == 0);
    CHECK(summary.differ() == 0);
  }
}

TEST_CASE("open_device names what is there") {
  CHECK(open_device("auto")->name() == implementations().front());
  CHECK_THROWS_AS(open_device("cuda-9"), DeviceError);
  try {
    open_device("cuda-9");
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    CHECK(text.find("cuda-9") != std::string::npos);
    CHECK(text.find("reference") != std::string::npos);
  }
}
