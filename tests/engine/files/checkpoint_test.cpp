#include "engine/files/checkpoint.h"

#include <cstring>

#include "tests/catch.h"

namespace lockstep::engine {

namespace {

const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;
const std::filesystem::path models[] = {source / "packaging/starter", source / "tests/data/tiny-dense",
                                        source / "tests/data/tiny-moe"};

}  // namespace

TEST_CASE("the shipped models open and every tensor can be read") {
  for (const auto& directory : models) {
    INFO(directory);
    const Checkpoint checkpoint = Checkpoint::open(directory);
    uint64_t bytes = 0;
    for (const ExpectedMatrix& m : checkpoint.tensors().matrices) {
      INFO(m.name);
      const HostMatrix matrix = checkpoint.matrix(m.name, m.outputs, m.inputs, std::max(m.experts, 1));
      CHECK(matrix.source.outputs == m.outputs);
      CHECK(matrix.source.inputs == m.inputs);
      CHECK(matrix.source.group == 64);
      CHECK(matrix.source.weights == matrix.weights.data());
      const size_t rows = static_cast<size_t>(matrix.source.experts) * static_cast<size_t>(m.outputs);
      CHECK(matrix.weights.size() == rows * static_cast<size_t>(m.inputs * matrix.source.bits / 8));
      CHECK(matrix.scales.size() == rows * static_cast<size_t>(m.inputs / 64) * 2);
      bytes += matrix.weights.size() + matrix.scales.size() + matrix.biases.size();
    }
    for (const ExpectedFloats& f : checkpoint.tensors().floats) {
      INFO(f.name);
      int64_t elements = 1;
      for (int64_t length : f.shape) elements *= length;
      for (float x : checkpoint.floats(f.name, elements)) REQUIRE(std::isfinite(x));
      bytes += checkpoint.info(f.name).bytes;
    }
    const SafetensorsFile file = SafetensorsFile::open(directory / "model.safetensors");
    CHECK(bytes == file.file.size() - file.tensors[0].offset);
  }
}

}  // namespace lockstep::engine
