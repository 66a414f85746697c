#include "engine/files/checkpoint.h"

#include <cmath>
#include <random>

#include "engine/files/fingerprint.h"
#include "engine/files/weight_files.h"
#include "tests/catch.h"
#include "tests/engine/files/model_copy.h"

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

TEST_CASE("names, files and their order do not matter to the fingerprint") {
  ModelCopy copy;
  const std::string before = Checkpoint::open(copy.directory()).fingerprint();
  CHECK(before.size() == 64);
  copy.save_shards(3);
  CHECK(Checkpoint::open(copy.directory()).fingerprint() == before);
  std::filesystem::remove(copy / "model.safetensors.index.json");
  for (size_t i = 1; i <= 3; i++) std::filesystem::remove(copy / ModelCopy::shard(i, 3));

  const LoadedFile whole = copy.tensors;
  const std::string old = "language_model.";
  for (const std::string prefix : {"", "model.language_model.", "model.language_model.*", "*"}) {
    INFO(prefix);
    copy.tensors.assign(whole.rbegin(), whole.rend());
    for (LoadedTensor& tensor : copy.tensors) {
      tensor.name.erase(0, old.size());
      // "*": the form of the original release, which leaves "model." out after the prefix.
      const bool trunk = tensor.name.starts_with("model.");
      if (prefix.ends_with("*") && trunk) tensor.name.erase(0, 6);
      tensor.name = prefix.substr(0, prefix.find('*')) + tensor.name;
    }
    copy.save();
    CHECK(Checkpoint::open(copy.directory()).fingerprint() == before);
  }
}

TEST_CASE("the fingerprint changes with a bit of a weight, a setting, a type, a place") {
  ModelCopy copy;
  const std::string before = Checkpoint::open(copy.directory()).fingerprint();
  const LoadedFile whole = copy.tensors;
  const auto saved = [&] {
    copy.save();
    const std::string fingerprint = Checkpoint::open(copy.directory()).fingerprint();
    copy.tensors = whole;
    copy.save();
    return fingerprint;
  };
  for (LoadedTensor& tensor : copy.tensors)
    if (tensor.name.find("layers.3.") != tensor.name.npos) {
      INFO(tensor.name);
      tensor.data.back() ^= 1;
      CHECK(saved() != before);
    }
  std::swap(copy.tensor("model.layers.0.mlp.up_proj.weight").data,
            copy.tensor("model.layers.0.mlp.gate_proj.weight").data);
  CHECK(saved() != before);
  copy.tensor("model.layers.0.linear_attn.A_log").dtype = "F16";
  copy.tensor("model.layers.0.linear_attn.A_log").data.resize(8);
  CHECK(saved() != before);
  CHECK(saved() == before);

  const auto edited = [&](std::string_view from, std::string_view to) {
    const ModelCopy other;
    other.edit("config.json", from, to);
    return Checkpoint::open(other.directory()).fingerprint();
  };
  CHECK(edited("\"rope_theta\": 10000.0", "\"rope_theta\": 10001.0") != before);
  CHECK(edited("\"partial_rotary_factor\": 0.25", "\"partial_rotary_factor\": 0.5") != before);
  CHECK(edited("\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1e-05") != before);
  CHECK(edited("\"max_position_embeddings\": 2048", "\"max_position_embeddings\": 65536") == before);
  CHECK(edited("\"rope_theta\": 10000.0", "\"rope_theta\": 10000") == before);
}

TEST_CASE("the fingerprint is the SHA-256 of a text that anyone can write") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ModelCopy copy;
  const Checkpoint checkpoint = Checkpoint::open(copy.directory());
  const std::string text = fingerprint_text(checkpoint.config(), open_weight_files(copy.directory()));
  CHECK(checkpoint.fingerprint() == sha256(text));
  CHECK(
      text.starts_with("lockstep model 1\nfamily qwen3_5\nvocabulary 2048\nhidden 128\nnorm_eps "
                       "1e-06\ntied_head 1\nlayers lllf\n"));
  CHECK(has_all(text, {"\nrope_theta 10000\n",
                       "\nend_token 2041\nend_token 2039\ntensor model.embed_tokens.biases BF16 "
                       "2048 2 "}));
  for (const LoadedTensor& tensor : copy.tensors) {
    std::string line =
        "\ntensor " + tensor.name.substr(std::string_view("language_model.").size()) + ' ' + tensor.dtype;
    for (int64_t length : tensor.shape) line += ' ' + std::to_string(length);
    line += ' ' + sha256(tensor.data) + '\n';
    CHECK(has_all(text, {line}));
  }
}

TEST_CASE("a question for what is not there is an error") {
  const Checkpoint checkpoint = Checkpoint::open(models[1]);
  CHECK(checkpoint.has("model.norm.weight"));
  CHECK(!checkpoint.has("model.norm"));
  CHECK_THROWS_AS(checkpoint.info("model.norm"), CheckpointError);
  CHECK_THROWS_AS(checkpoint.matrix_info("lm_head"), CheckpointError);
  CHECK_THROWS_AS(checkpoint.matrix("model.norm", 1, 128), CheckpointError);
  CHECK_THROWS_AS(checkpoint.matrix("mtp.fc", 128, 255), CheckpointError);
  CHECK_THROWS_AS(checkpoint.matrix("mtp.fc", 127, 256), CheckpointError);
  CHECK_THROWS_AS(checkpoint.matrix("mtp.fc", 128, 256, 2), CheckpointError);
  CHECK_THROWS_AS(checkpoint.floats("model.norm.weight", 127), CheckpointError);
  CHECK_THROWS_AS(checkpoint.floats("model.norm.weight", -1), CheckpointError);
  CHECK_THROWS_AS(checkpoint.floats("mtp.fc.weight", 128 * 32), CheckpointError);
}

TEST_CASE("damaged checkpoints never crash open()") {
  const unsigned seed = 22;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const ModelCopy copy;
  std::string bytes = tools::read_file(copy / "model.safetensors");
  const size_t header =
      8 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  const std::string good = bytes.substr(0, header);
  std::fstream file(copy / "model.safetensors", std::ios::binary | std::ios::in | std::ios::out);
  int refused = 0;
  for (int i = 0; i < 2000; i++) {
    std::string bad = good;
    for (unsigned n = 1 + random() % 3; n > 0; n--)
      bad[random() % header] =
          random() % 2 ? static_cast<char>(random()) : "0123456789[]{},:\"-e.FU"[random() % 22];
    file.seekp(0);
    file.write(bad.data(), static_cast<std::streamsize>(header));
    file.flush();
    refused += copy.refusal() != "";
  }
  CHECK(refused > 1900);
}

}  // namespace lockstep::engine
