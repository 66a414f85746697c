#include "engine/files/tensor_check.h"

#include <cstring>
#include <random>

#include "tests/catch.h"
#include "tests/engine/files/model_copy.h"

namespace lockstep::engine {

namespace {

const std::string trunk = "language_model.model.";
const std::string qkv = trunk + "layers.0.linear_attn.in_proj_qkv";

// Stores the matrix in another width: shapes are right, codes are random.
void store_codes(ModelCopy& copy, const std::string& module, int bits, int group) {
  LoadedTensor& weight = copy.tensor(module + ".weight");
  const int64_t inputs = weight.shape.back() * 32 / 4;
  std::mt19937 random(1);
  const auto fill = [&](LoadedTensor& tensor, int64_t columns) {
    tensor.shape.back() = columns;
    tensor.data.resize(tensor.bytes());
    for (char& byte : tensor.data) byte = static_cast<char>(random());
  };
  fill(weight, inputs * bits / 32);
  fill(copy.tensor(module + ".scales"), inputs / group);
  fill(copy.tensor(module + ".biases"), inputs / group);
}

void store_bf16(ModelCopy& copy, const std::string& module) {
  LoadedTensor& weight = copy.tensor(module + ".weight");
  weight.dtype = "BF16";
  weight.shape.back() *= 8;
  weight.data.assign(weight.bytes(), '\x3c');
  std::erase_if(copy.tensors, [&](const LoadedTensor& tensor) {
    return tensor.name == module + ".scales" || tensor.name == module + ".biases";
  });
}

// Adds exceptions to "quantization" and "quantization_config".
void except(const ModelCopy& copy, const std::string& entries) {
  copy.edit("config.json", "\"mode\": \"affine\"", "\"mode\": \"affine\", " + entries);
}

void store_as(LoadedTensor& tensor, const std::string& dtype, const std::string& data = {}) {
  tensor.dtype = dtype;
  tensor.data = data;
  tensor.data.resize(tensor.bytes());
}

}  // namespace

TEST_CASE("F53 exceptions under any prefix, wide embeddings and plain layers agree with what is stored") {
  for (const std::string prefix : {"language_model.model.", "model.language_model.", "model.",
                                   "model.language_model.model.", "language_model."}) {
    INFO(prefix);
    ModelCopy copy;
    store_codes(copy, qkv, 6, 64);
    store_codes(copy, trunk + "embed_tokens", 8, 32);
    store_codes(copy, trunk + "layers.1.mlp.up_proj", 3, 128);
    store_bf16(copy, trunk + "layers.2.linear_attn.in_proj_a");
    copy.save();
    except(
        copy,
        "\"" + prefix + "layers.0.linear_attn.in_proj_qkv\": {\"bits\": 6, \"group_size\": 64}, \"" + prefix +
            "embed_tokens\": {\"bits\": 8, \"group_size\": 32, \"mode\": \"affine\"}, \"" + prefix +
            "layers.1.mlp.up_proj\": {\"bits\": 3, \"group_size\": 128}, \"" + prefix +
            "layers.2.linear_attn.in_proj_a\": false, \"" + prefix +
            "layers.2.linear_attn.in_proj_b\": true, \"vision_tower.x\": {\"bits\": 5, \"group_size\": 16}");
    const Checkpoint checkpoint = Checkpoint::open(copy.directory());
    const auto format = [&](std::string_view module) {
      const MatrixInfo& info = checkpoint.matrix_info(module);
      return std::pair(info.bits, info.group);
    };
    CHECK(format("model.layers.0.linear_attn.in_proj_qkv") == std::pair(6, 64));
    CHECK(format("model.embed_tokens") == std::pair(8, 32));
    CHECK(format("model.layers.1.mlp.up_proj") == std::pair(3, 128));
    CHECK(format("model.layers.2.linear_attn.in_proj_a") == std::pair(16, 0));
    CHECK(format("model.layers.2.linear_attn.in_proj_b") == std::pair(4, 64));
    const HostMatrix matrix = checkpoint.matrix("model.layers.0.linear_attn.in_proj_qkv", 512, 128);
    CHECK(matrix.source.bits == 6);
    CHECK(std::string_view(reinterpret_cast<const char*>(matrix.weights.data()), matrix.weights.size()) ==
          copy.tensor(qkv + ".weight").data);
  }
}

TEST_CASE("F53 every width in every group is told from the shapes") {
  for (const int group : {32, 64, 128})
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      ModelCopy copy;
      store_codes(copy, qkv, bits, group);
      copy.save();
      const std::string entry =
          "\"bits\": " + std::to_string(bits) + ", \"group_size\": " + std::to_string(group) + "}";
      except(copy, "\"" + qkv + "\": {" + entry);
      const Checkpoint checkpoint = Checkpoint::open(copy.directory());
      const HostMatrix matrix = checkpoint.matrix("model.layers.0.linear_attn.in_proj_qkv", 512, 128);
      CHECK(matrix.source.bits == bits);
      CHECK(matrix.source.group == group);
      CHECK(matrix.weights.size() == static_cast<size_t>(512 * 128 * bits / 8));
      CHECK(matrix.biases.size() == static_cast<size_t>(512 * 128 / group * 2));
    }
}

TEST_CASE("F53 a width that config.json does not say is refused") {
  const char* six = "6 bits in groups of 64";
  const char* four = "4 bits in groups of 64";
  {
    ModelCopy copy;
    store_codes(copy, qkv, 6, 64);
    copy.save();
    CHECK(has_all(copy.refusal(), {qkv, six, four}));
    except(copy, "\"text.layers.0.linear_attn.in_proj_qkv\": {\"bits\": 6, \"group_size\": 64}");
    CHECK(has_all(copy.refusal(), {qkv, six, four}));
  }
  {
    ModelCopy copy;
    except(copy, "\"" + qkv + "\": {\"bits\": 6, \"group_size\": 64}");
    CHECK(has_all(copy.refusal(), {qkv, six, four}));
  }
  {
    ModelCopy copy;
    except(copy, "\"" + qkv + "\": {\"group_size\": 32}");
    CHECK(has_all(copy.refusal(), {qkv, four, "4 bits in groups of 32"}));
  }
  {
    ModelCopy copy;
    except(copy, "\"" + qkv + "\": false");
    CHECK(has_all(copy.refusal(), {qkv, four, "not quantized"}));
  }
  {
    ModelCopy copy;
    store_bf16(copy, qkv);
    copy.save();
    CHECK(copy.refusal() == "");  // the default binds what is stored as codes
    except(copy, "\"" + qkv + "\": {\"bits\": 6, \"group_size\": 64}");
    CHECK(has_all(copy.refusal(), {qkv, "is not quantized", six}));
  }
  {
    ModelCopy copy;
    copy.edit("config.json", "\"quantization", "\"other");
    CHECK(has_all(copy.refusal(), {four, "not quantized"}));
  }
}

TEST_CASE("F53 packed shapes that fit no width are refused") {
  const auto said = [](std::string_view part, int64_t columns) {
    ModelCopy copy;
    LoadedTensor& tensor = copy.tensor(qkv + std::string(part));
    tensor.shape.back() = columns;
    store_as(tensor, tensor.dtype);
    copy.save();
    return copy.refusal();
  };
  CHECK(has_all(said(".weight", 28), {qkv + ".weight", "28 words", "128 inputs"}));  // 7 bits
  CHECK(has_all(said(".weight", 64), {qkv + ".weight", "64 words"}));                // 16
  CHECK(has_all(said(".weight", 4), {qkv + ".weight", "4 words"}));                  // 1
  CHECK(has_all(said(".weight", 17), {qkv + ".weight", "17 words"}));
  CHECK(has_all(said(".weight", 0), {qkv + ".weight", "0 words"}));
  CHECK(has_all(said(".biases", 4), {qkv + ".biases", "[512, 4]", "[512, 2]"}));
  CHECK(has_all(said(".scales", 4), {qkv + ".biases", "[512, 2]", "[512, 4]"}));

  ModelCopy copy;
  for (const char* part : {".scales", ".biases"}) {
    copy.tensor(qkv + part).shape = {512, 8};
    store_as(copy.tensor(qkv + part), "BF16");
  }
  copy.save();
  CHECK(has_all(copy.refusal(), {qkv + ".weight", "8 scales", "groups of 32, 64 and 128"}));
}

TEST_CASE("F53 shapes that config.json does not give are refused") {
  const auto said = [](std::string_view ending, std::vector<int64_t> shape) {
    ModelCopy copy;
    LoadedTensor& tensor = copy.tensor(ending);
    tensor.shape = std::move(shape);
    store_as(tensor, tensor.dtype);
    copy.save();
    return copy.refusal();
  };
  CHECK(has_all(said(qkv + ".weight", {511, 16}), {qkv + ".weight", "[511, 16]", "[512, 16]"}));
  CHECK(has_all(said(qkv + ".weight", {1, 512, 16}), {qkv + ".weight", "[1, 512, 16]"}));
  CHECK(has_all(said(qkv + ".weight", {}), {qkv + ".weight", "[]"}));
  CHECK(has_all(said("model.norm.weight", {127}), {"model.norm.weight", "[127]", "[128]"}));
  CHECK(
      has_all(said("layers.0.linear_attn.conv1d.weight", {512, 1, 4}), {"conv1d.weight", "original layout"}));
  CHECK(has_all(said("layers.0.linear_attn.conv1d.weight", {512, 3, 1}), {"conv1d.weight", "[512, 4, 1]"}));
}

TEST_CASE("F55 scales and biases of every type are taken bit for bit") {
  // Zeros, subnormals, ones, largest, infinities, quiet and signalling NaNs.
  const std::vector<uint16_t> halves = {0x0000, 0x8000, 0x0001, 0x83ff, 0x3c00,
                                        0x7bff, 0x7c00, 0xfc00, 0x7e01, 0xfd55};
  const std::vector<uint16_t> brains = {0x0000, 0x8000, 0x0001, 0x807f, 0x3f80,
                                        0x7f7f, 0x7f80, 0xff80, 0x7fc1, 0xffa5};
  const std::vector<uint32_t> floats = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x3f800000,
                                        0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffa00005};
  const auto bytes = [](const auto& values) {
    std::string data(values.size() * sizeof values[0], '\0');
    std::memcpy(data.data(), values.data(), data.size());
    return data;
  };
  const struct {
    const char* dtype;
    kernels::ScaleType type;
    std::string data;
  } cases[] = {{"BF16", kernels::ScaleType::bf16, bytes(brains)},
               {"F16", kernels::ScaleType::fp16, bytes(halves)},
               {"F32", kernels::ScaleType::fp32, bytes(floats)}};
  for (const auto& c : cases) {
    INFO(c.dtype);
    ModelCopy copy;
    store_as(copy.tensor(qkv + ".scales"), c.dtype, c.data);
    store_as(copy.tensor(qkv + ".biases"), c.dtype, std::string(c.data.rbegin(), c.data.rend()));
    copy.save();
    const HostMatrix matrix =
        Checkpoint::open(copy.directory()).matrix("model.layers.0.linear_attn.in_proj_qkv", 512, 128);
    CHECK(matrix.source.scale_type == c.type);
    const auto text = [](const HostBuffer& b) {
      return std::string(reinterpret_cast<const char*>(b.data()), b.size());
    };
    CHECK(text(matrix.scales) == copy.tensor(qkv + ".scales").data);
    CHECK(text(matrix.biases) == copy.tensor(qkv + ".biases").data);
    CHECK(matrix.source.scales == matrix.scales.data());
  }
}

TEST_CASE("F55 small tensors of every type become the same number in fp32") {
  const auto read = [](const std::string& dtype, const auto& values) {
    ModelCopy copy;
    std::string data(values.size() * sizeof values[0], '\0');
    std::memcpy(data.data(), values.data(), data.size());
    store_as(copy.tensor("model.norm.weight"), dtype, data);
    copy.save();
    const std::vector<float> floats = Checkpoint::open(copy.directory()).floats("model.norm.weight", 128);
    std::vector<uint32_t> bits(values.size());
    std::memcpy(bits.data(), floats.data(), bits.size() * 4);
    return bits;
  };
  CHECK(read("BF16", std::vector<uint16_t>{0x8000, 0x0001, 0x3f80, 0x7f80, 0xffa5}) ==
        std::vector<uint32_t>{0x80000000, 0x00010000, 0x3f800000, 0x7f800000, 0xffa50000});
  CHECK(read("F16",
             std::vector<uint16_t>{0x8000, 0x0001, 0x83ff, 0x0400, 0x3c01, 0x7bff, 0xfc00, 0x7e01, 0xfd55}) ==
        std::vector<uint32_t>{0x80000000, 0x33800000, 0xb87fc000, 0x38800000, 0x3f802000, 0x477fe000,
                              0xff800000, 0x7fc02000, 0xffaaa000});
  const std::vector<uint32_t> same{0x80000001, 0x3f800001, 0xff800000, 0x7fa00005};
  CHECK(read("F32", same) == same);
}

TEST_CASE("F55 types that cannot be used exactly are refused") {
  {
    ModelCopy copy;
    store_as(copy.tensor(qkv + ".biases"), "F16");
    copy.save();
    CHECK(has_all(copy.refusal(), {qkv + ".scales", "BF16", "F16", "one type"}));
  }
  for (const char* dtype : {"F16", "F32"}) {
    ModelCopy copy;
    store_bf16(copy, qkv);
    store_as(copy.tensor(qkv + ".weight"), dtype);
    copy.save();
    CHECK(has_all(copy.refusal(), {qkv + ".weight", dtype, "bfloat16"}));
  }
  {
    ModelCopy copy;
    store_as(copy.tensor("model.norm.weight"), "U32");
    copy.save();
    CHECK(has_all(copy.refusal(), {"model.norm.weight", "U32", "BF16, F16 or F32"}));
  }
  {
    ModelCopy copy;
    store_as(copy.tensor(qkv + ".scales"), "U32");
    copy.save();
    CHECK(has_all(copy.refusal(), {qkv + ".scales", "U32", "BF16, F16 or F32"}));
  }
}

TEST_CASE("tensors that are missing or that nobody asked for are listed") {
  ModelCopy copy;
  const LoadedFile whole = copy.tensors;
  const auto without = [&](std::string_view part) {
    copy.tensors = whole;
    std::erase_if(copy.tensors, [&](const LoadedTensor& t) { return t.name.find(part) != t.name.npos; });
    copy.save();
    return copy.refusal();
  };
  CHECK(has_all(without("model.norm.weight"), {"lacks 1 tensor", "\"model.norm.weight\""}));
  CHECK(
      has_all(without("layers.0.linear_attn.in_proj_qkv.scales"), {"lacks 1 tensor", "in_proj_qkv.scales"}));
  CHECK(
      has_all(without("layers.0.linear_attn.in_proj_qkv.weight"), {"lacks 1 tensor", "in_proj_qkv.weight"}));
  CHECK(has_all(without("layers.0.linear_attn.in_proj_qkv"), {"lacks 1 tensor", "in_proj_qkv.weight"}));
  CHECK(has_all(without("layers.1."), {"lacks 1", "and", "more"}));

  copy.tensors = whole;
  copy.tensor(qkv + ".weight").name = qkv + ".waits";
  copy.save();
  CHECK(has_all(copy.refusal(),
                {"lacks 1 tensor", "in_proj_qkv.weight", "and holds 1", "\"" + qkv + ".waits\""}));
  copy.tensors = whole;
  for (const char* extra :
       {"language_model.lm_head.weight", "language_model.model.layers.4.input_layernorm.weight",
        "language_model.model.layers.3.self_attn.q_proj.bias", "rotary.inv_freq"}) {
    LoadedTensor tensor{{extra, "BF16", {2}}, "abcd"};
    copy.tensors.push_back(tensor);
    copy.save();
    CHECK(has_all(copy.refusal(), {"holds 1 tensor", extra}));
    copy.tensors.pop_back();
  }
}

TEST_CASE("tensors of the image encoder are left alone") {
  ModelCopy copy;
  const std::string before = Checkpoint::open(copy.directory()).fingerprint();
  for (const char* name :
       {"vision_tower.blocks.0.attn.qkv.weight", "model.visual.merger.norm.weight", "visual.x"})
    copy.tensors.push_back({{name, "F32", {2}}, "abcdefgh"});
  copy.save();
  const Checkpoint checkpoint = Checkpoint::open(copy.directory());
  CHECK(checkpoint.fingerprint() == before);
  CHECK(checkpoint.has("visual.x") == false);
}

}  // namespace lockstep::engine
