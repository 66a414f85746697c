// What sysfs says of AMD GPUs, from files of the test's own.
#include "kernels/device/amd_nodes.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/tools/temporary_directory.h"

using namespace lockstep::kernels::gpu;

namespace {

constexpr uint64_t mib = uint64_t{1} << 20, gib = uint64_t{1} << 30;

class Sysfs {
 public:
  void node(int number, const std::string& properties) {
    write("class/kfd/kfd/topology/nodes/" + std::to_string(number) + "/properties", properties);
  }
  void memory(const std::string& kind, uint64_t total, uint64_t used) {
    const std::string file = "class/drm/renderD128/device/mem_info_" + kind;
    write(file + "_total", std::to_string(total) + "\n");
    write(file + "_used", std::to_string(used) + "\n");
  }
  std::string root() const { return directory_.path(); }

 private:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = directory_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  lockstep::tools::TemporaryDirectory directory_;
};

constexpr const char* processor = "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\n";
constexpr const char* apu =
    "cpu_cores_count 16\nsimd_count 80\ngfx_target_version 110501\ndrm_render_minor 128\n";
constexpr const char* card =
    "cpu_cores_count 0\nsimd_count 192\ngfx_target_version 110000\ndrm_render_minor 128\n";

}  // namespace

TEST_CASE("the first GPU of the kernel driver's topology has a chip, and may share the processor's memory") {
  Sysfs sysfs;
  CHECK_FALSE(first_amd_node(sysfs.root()));
  sysfs.node(0, processor);
  CHECK_FALSE(first_amd_node(sysfs.root()));
  sysfs.node(1, card);
  const auto node = first_amd_node(sysfs.root());
  REQUIRE(node);
  CHECK(node->chip == "gfx1100");
  CHECK_FALSE(node->integrated);
  sysfs.memory("vram", 24 * gib, 0);
  CHECK_FALSE(integrated_memory(*node, sysfs.root()));  // the runtime's word is right for cards
}

TEST_CASE("F79 an APU's memory is the larger of its carve-out and what the driver maps of the system's") {
  Sysfs sysfs;
  sysfs.node(0, apu);
  const auto node = first_amd_node(sysfs.root());
  REQUIRE(node);
  CHECK(node->chip == "gfx1151");
  CHECK(node->integrated);
  CHECK_FALSE(integrated_memory(*node, sysfs.root()));
  sysfs.memory("vram", 512 * mib, 100 * mib);
  sysfs.memory("gtt", 112 * gib, 2 * gib);
  auto memory = integrated_memory(*node, sysfs.root());
  REQUIRE(memory);
  CHECK(memory->free == 110 * gib);
  CHECK(memory->total == 112 * gib);
  CHECK(memory->source == "GTT");
  sysfs.memory("vram", 96 * gib, gib);
  sysfs.memory("gtt", 15 * gib, 0);
  memory = integrated_memory(*node, sysfs.root());
  REQUIRE(memory);
  CHECK(memory->free == 95 * gib);
  CHECK(memory->source == "VRAM carve-out");
}
