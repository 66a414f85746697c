// Work that comes again: kept as a graph when its key comes a second time.
#include "kernels/gpu/gpu_device.h"
#include "tests/catch.h"
#include "tests/kernels/gpu/support/lanes.h"

using namespace lockstep::kernels;

namespace {

struct Counts {
  int begun = 0, ended = 0, started = 0, alive = 0, launched = 0;
  bool capturing = false;
};

// Lanes with graphs that do nothing.
class WithGraphs final : public gpu::Runtime {
 public:
  explicit WithGraphs(Counts& counts) : counts_(counts) {}
  std::string_view name() const override { return inner_->name(); }
  std::string_view description() const override { return inner_->description(); }
  int fewest_rows() const override { return inner_->fewest_rows(); }
  void* allocate(size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* memory) noexcept override { inner_->release(memory); }
  uint64_t free_memory() override { return inner_->free_memory(); }
  void upload(void* to, const void* host, size_t bytes) override { inner_->upload(to, host, bytes); }
  void download(void* host, const void* from, size_t bytes) override { inner_->download(host, from, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { inner_->copy(to, from, bytes); }
  void wait() override { inner_->wait(); }
  std::unique_ptr<Mark> mark() override { return inner_->mark(); }
  double seconds(const Mark& from, const Mark& to) override { return inner_->seconds(from, to); }

  bool has_graphs() const override { return true; }
  void begin_graph() override {
    CHECK_FALSE(counts_.capturing);
    counts_.capturing = true;
    ++counts_.begun;
  }
  std::unique_ptr<Graph> end_graph() override {
    CHECK(counts_.capturing);
    counts_.capturing = false;
    ++counts_.ended;
    return std::make_unique<Counted>(counts_);
  }
  void start(const Graph&) override {
    CHECK_FALSE(counts_.capturing);
    ++counts_.started;
  }
  void launch(const std::string&, gpu::Grid, unsigned, size_t, const void*) override { ++counts_.launched; }

 private:
  struct Counted final : Graph {
    explicit Counted(Counts& counts_) : counts(counts_) { ++counts.alive; }
    ~Counted() override { --counts.alive; }
    Counts& counts;
  };
  Counts& counts_;
  std::unique_ptr<gpu::Runtime> inner_ = gpu::open_lanes();
};

}  // namespace

TEST_CASE("work of a key that comes again is one start of a graph, without the work") {
  Counts counts;
  {
    gpu::GpuDevice device(std::make_unique<WithGraphs>(counts));
    int worked = 0;
    const auto repeat = [&](std::vector<int32_t> key) { device.repeat(key, [&] { ++worked; }); };
    repeat({1, 2});
    CHECK(worked == 1);
    CHECK(counts.begun == 0);
    repeat({1, 2});
    CHECK(worked == 2);
    CHECK(counts.ended == 1);
    CHECK(counts.started == 1);
    for (int i = 0; i < 10; ++i) repeat({1, 2});
    CHECK(worked == 2);
    CHECK(counts.started == 11);
    repeat({1, 3});
    CHECK(worked == 3);
    CHECK(counts.started == 11);
  }
  CHECK(counts.alive == 0);
}

TEST_CASE("graphs of keys that are not used any more are given up") {
  Counts counts;
  gpu::GpuDevice device(std::make_unique<WithGraphs>(counts));
  for (int32_t key = 0; key < 500; ++key) {
    for (int again = 0; again < 2; ++again) device.repeat({&key, 1}, [] {});
    const int32_t first = 0;
    device.repeat({&first, 1}, [] { FAIL("the key in use was given up"); });
    if (key == 0) device.repeat({&first, 1}, [] { FAIL("the key in use was given up"); });
  }
  CHECK(counts.alive <= 64);
}

TEST_CASE("work that fails while it is kept leaves no half graph") {
  Counts counts;
  gpu::GpuDevice device(std::make_unique<WithGraphs>(counts));
  const int32_t key = 1;
  device.repeat({&key, 1}, [] {});
  CHECK_THROWS_AS(device.repeat({&key, 1}, [] { throw DeviceError("planted"); }), DeviceError);
  CHECK_FALSE(counts.capturing);
  CHECK(counts.alive == 0);
  int worked = 0;
  device.repeat({&key, 1}, [&] { ++worked; });
  CHECK(worked == 1);
  CHECK(counts.started == 1);
}

TEST_CASE("while kernels are timed nothing that was kept is started") {
  Counts counts;
  gpu::GpuDevice device(std::make_unique<WithGraphs>(counts));
  const int32_t key = 1;
  int worked = 0;
  for (int i = 0; i < 3; ++i) device.repeat({&key, 1}, [&] { ++worked; });
  CHECK(worked == 2);
  device.time_kernels(true);
  device.repeat({&key, 1}, [&] { ++worked; });
  CHECK(worked == 3);
  device.time_kernels(false);
  device.repeat({&key, 1}, [&] { ++worked; });
  CHECK(worked == 3);
  CHECK(counts.started == 3);
}
