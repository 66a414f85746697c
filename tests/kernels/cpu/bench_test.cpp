#include <sstream>

#include "kernels/kernels.h"
#include "tests/catch.h"

TEST_CASE("kernel benches refuse a device without vector kernels") {
  std::ostringstream out;
  CHECK_THROWS_AS(lockstep::kernels::bench_kernels(out, "reference", 1), lockstep::kernels::DeviceError);
  CHECK_THROWS_AS(lockstep::kernels::bench_kernels(out, "cpu-none", 1), lockstep::kernels::DeviceError);
  CHECK(out.str().empty());
}
