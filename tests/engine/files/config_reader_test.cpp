#include "engine/files/config_reader.h"

#include <random>

#include "tests/catch.h"
#include "tests/engine/files/model_copy.h"

namespace lockstep::engine {

namespace {

namespace fs = std::filesystem;

// What open() says about tiny-dense with one edit of its config.json.
std::string refusal(std::string_view from, std::string_view to, std::string_view model = "tiny-dense") {
  const ModelCopy copy(model);
  copy.edit("config.json", from, to);
  return copy.refusal();
}

// The same with one more key in text_config.
std::string with(const std::string& entry) {
  return refusal("\"text_config\": {", "\"text_config\": {" + entry + ",");
}

}  // namespace

TEST_CASE("config.json of the shipped models is read as it is written") {
  const CheckpointConfig starter = read_config(fs::path(LOCKSTEP_SOURCE_DIR) / "packaging/starter");
  const ModelConfig& model = starter.model;
  CHECK(model.model_type == "qwen3_5");
  CHECK(model.vocabulary == 16384);
  CHECK(model.hidden == 512);
  CHECK(model.max_positions == 2048);
  CHECK(model.norm_eps == 1e-6f);
  CHECK(model.tied_head);
  REQUIRE(model.layers.size() == 12);
  for (size_t i = 0; i < 12; i++) CHECK((model.layers[i] == LayerKind::full_attention) == (i % 4 == 3));
  CHECK(model.query_heads == 8);
  CHECK(model.key_heads == 2);
  CHECK(model.head_dim == 64);
  CHECK(model.rotary_dim == 32);
  CHECK(model.rope_theta == 100000);
  CHECK(model.delta_key_heads == 2);
  CHECK(model.delta_value_heads == 4);
  CHECK(model.delta_key_dim == 128);
  CHECK(model.delta_value_dim == 128);
  CHECK(model.conv_taps == 4);
  CHECK(model.intermediate == 1280);
  CHECK(model.experts == 0);
  CHECK(model.mtp_layers == 1);
  CHECK(model.end_tokens == std::vector<int32_t>{16377, 16375});
  CHECK(model.temperature == 0.6f);
  CHECK(model.top_p == 0.9f);
  CHECK(model.top_k == 20);
  CHECK(!model.min_p);
  CHECK(starter.quantization.standard == CodeFormat{4, 64});
  CHECK(starter.quantization.exceptions.at("model.embed_tokens") == CodeFormat{8, 64});

  const ModelConfig moe = read_config(fs::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tiny-moe").model;
  CHECK(moe.model_type == "qwen3_5_moe");
  CHECK(!moe.tied_head);
  CHECK(moe.intermediate == 0);
  CHECK(moe.experts == 8);
  CHECK(moe.experts_per_token == 2);
  CHECK(moe.expert_intermediate == 128);
  CHECK(moe.shared_intermediate == 128);
  CHECK(moe.rotary_dim == 16);
}

TEST_CASE("config.json may be flat, and rope_theta may stand by itself") {
  ModelCopy copy;
  const std::string before = Checkpoint::open(copy.directory()).fingerprint();
  std::string text = tools::read_file(copy / "config.json");
  const size_t begin = text.find("\"text_config\": {"), end = text.find("\n  },", begin);
  REQUIRE(end != text.npos);
  std::string inner = text.substr(begin + 16, end - begin - 16);
  text.erase(begin, end - begin + 5);
  // Keys that both levels have stay in the outer one.
  for (const char* key : {"dtype", "eos_token_id", "model_type", "pad_token_id", "tie_word_embeddings"}) {
    const size_t at = inner.find("\"" + std::string(key) + "\"");
    if (at == inner.npos) continue;
    inner.erase(at, inner.find_first_of(",\n", at) - at + 1);
  }
  text.insert(text.find('{') + 1, inner + ",");
  tools::write_file(copy / "config.json", text);
  CHECK(Checkpoint::open(copy.directory()).fingerprint() == before);

  copy.edit("config.json", "\"rope_theta\": 10000.0,", "");
  CHECK(has_all(copy.refusal(), {"rope_theta", "missing"}));
  copy.edit("config.json", "\"vocab_size\"", "\"rope_theta\": 10000, \"vocab_size\"");
  CHECK(Checkpoint::open(copy.directory()).fingerprint() == before);
  copy.edit("config.json", "\"model_type\": \"qwen3_5\"", "\"model_type\": \"qwen3_5_text\"");
  CHECK(Checkpoint::open(copy.directory()).fingerprint() == before);
}

TEST_CASE("layer kinds come from a list or an interval, which must agree") {
  const std::string interval = "\"full_attention_interval\": 4,";
  CHECK(refusal(interval, "") == "");
  CHECK(refusal("\"layer_types\"", "\"other\"") == "");
  CHECK(has_all(refusal(interval, "\"full_attention_interval\": 3,"),
                {"layer_types", "full_attention_interval", "disagree"}));
  CHECK(has_all(refusal("\"layer_types\": [", "\"layer_types\": [\"linear_attention\","),
                {"5 layers", "says 4"}));
  CHECK(has_all(refusal("\"full_attention\"", "\"sliding_attention\""),
                {"layer_types", "\"sliding_attention\"", "layer 3"}));
  const ModelCopy copy;
  copy.edit("config.json", interval, "");
  copy.edit("config.json", "\"layer_types\"", "\"other\"");
  CHECK(has_all(copy.refusal(), {"neither layer_types nor"}));
}

TEST_CASE("what would change the computation and is not built is refused by name") {
  CHECK(has_all(refusal("\"attention_bias\": false", "\"attention_bias\": true"),
                {"attention_bias is true", "only false"}));
  CHECK(has_all(refusal("\"attn_output_gate\": true", "\"attn_output_gate\": false"),
                {"attn_output_gate is false"}));
  CHECK(has_all(refusal("\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\""),
                {"hidden_act", "\"gelu\"", "\"silu\""}));
  CHECK(has_all(refusal("\"rope_type\": \"default\"", "\"rope_type\": \"yarn\""), {"rope_type", "\"yarn\""}));
  CHECK(has_all(refusal("\"rope_type\": \"default\"", "\"rope_type\": \"default\", \"factor\": 4.0"),
                {"factor", "not supported"}));
  CHECK(has_all(refusal("\"mtp_use_dedicated_embeddings\": false", "\"mtp_use_dedicated_embeddings\": true"),
                {"mtp_use_dedicated_embeddings is true"}));
  CHECK(has_all(refusal("\"norm_topk_prob\": true", "\"norm_topk_prob\": false", "tiny-moe"),
                {"norm_topk_prob is false"}));
  CHECK(has_all(refusal("\"mtp_num_hidden_layers\": 1", "\"mtp_num_hidden_layers\": 2"),
                {"mtp_num_hidden_layers", "0 to 1", "2"}));
  CHECK(has_all(with("\"rope_scaling\": {\"type\": \"linear\"}"), {"rope_scaling is an object"}));
  CHECK(has_all(with("\"sliding_window\": 4096"), {"sliding_window is 4096"}));
  CHECK(has_all(with("\"use_sliding_window\": true"), {"use_sliding_window is true"}));
  CHECK(has_all(with("\"mlp_only_layers\": [1]"), {"mlp_only_layers is a list"}));
  CHECK(has_all(with("\"decoder_sparse_step\": 2"), {"decoder_sparse_step is 2"}));
  CHECK(has_all(with("\"output_gate_type\": \"sigmoid\""), {"output_gate_type", "\"sigmoid\""}));
  CHECK(has_all(with("\"final_logit_softcapping\": 30.0"), {"final_logit_softcapping is 30.0"}));
  CHECK(has_all(with("\"num_experts\": 8"), {"num_experts", "dense"}));
  for (const char* harmless :
       {"\"rope_scaling\": null", "\"sliding_window\": null", "\"mlp_only_layers\": []",
        "\"sliding_window\": 4096, \"use_sliding_window\": false", "\"decoder_sparse_step\": 1",
        "\"output_gate_type\": \"swish\"", "\"num_experts\": 0"})
    CHECK(with(harmless) == "");
}

TEST_CASE("other families and other quantizations are refused by name") {
  CHECK(has_all(refusal("\"qwen3_5\"", "\"llama\""), {"model_type", "\"llama\"", "qwen3_5_moe"}));
  CHECK(has_all(refusal("\"qwen3_5_text\"", "\"qwen3_5_moe_text\""), {"model_type", "another family"}));
  CHECK(has_all(refusal("\"affine\"", "\"mxfp4\""), {"mode", "\"mxfp4\"", "affine"}));
  CHECK(has_all(refusal("\"bits\": 4", "\"bits\": 7"), {"bits", "7"}));
  CHECK(has_all(refusal("\"bits\": 4", "\"bits\": 16"), {"bits", "2 to 8", "16"}));
  CHECK(has_all(refusal("\"bits\": 4,", ""), {"bits", "missing"}));
  CHECK(has_all(refusal("\"group_size\": 64", "\"group_size\": 16"), {"group_size", "16", "32, 64 and 128"}));
  CHECK(has_all(refusal("\"affine\"", "\"affine\", \"quant_method\": \"fp8\""), {"quant_method", "\"fp8\""}));
  CHECK(has_all(refusal("\"affine\"", "\"affine\", \"weight_block_size\": [128, 128]"),
                {"weight_block_size", "a list"}));
  CHECK(has_all(refusal("\"quantization\": {", "\"quantization\": {\"lm_head\": false,"),
                {"quantization_config", "differ"}));
  CHECK(has_all(
      refusal("\"affine\"", "\"affine\", \"lm_head\": false, \"language_model.lm_head\": {\"bits\": 8}"),
      {"lm_head", "\"language_model.lm_head\"", "keep one"}));
}

TEST_CASE("numbers out of their range, missing or of the wrong type are refused by name") {
  const char* keys[] = {"vocab_size",
                        "hidden_size",
                        "max_position_embeddings",
                        "num_attention_heads",
                        "num_key_value_heads",
                        "head_dim",
                        "linear_num_key_heads",
                        "linear_num_value_heads",
                        "linear_key_head_dim",
                        "linear_value_head_dim",
                        "linear_conv_kernel_dim",
                        "intermediate_size",
                        "num_hidden_layers"};
  for (const char* key : keys) {
    const std::string name = "\"" + std::string(key) + "\"";
    CHECK(has_all(refusal(name + ":", "\"other\":"), {key, "missing"}));
    for (const char* value :
         {"0", "-1", "1.5", "\"4\"", "true", "4294967296", "1e3", "[4]", "18446744073709551615"})
      CHECK(has_all(refusal(name + ":", name + ": " + value + ", \"other\":"), {key, "whole number"}));
  }
  CHECK(has_all(refusal("\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": \"x\""), {"rms_norm_eps", "\"x\""}));
  CHECK(has_all(refusal("\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": -1"), {"rms_norm_eps", "-1"}));
  CHECK(has_all(refusal("\"rms_norm_eps\":", "\"other\":"), {"rms_norm_eps", "missing"}));
  CHECK(has_all(refusal("\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": NaN"), {"not valid JSON"}));
  CHECK(has_all(refusal("\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1e400"), {"not valid JSON"}));
  CHECK(has_all(refusal("\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3"),
                {"num_attention_heads", "multiple"}));
  CHECK(has_all(refusal("\"linear_num_key_heads\": 2", "\"linear_num_key_heads\": 3"),
                {"linear_num_value_heads", "multiple"}));
  CHECK(has_all(refusal("\"head_dim\": 64", "\"head_dim\": 36"), {"partial_rotary_factor", "9 of 36"}));
  CHECK(has_all(with("\"partial_rotary_factor\": 0.5, \"was\": 0"), {"partial_rotary_factor", "twice"}));
  CHECK(has_all(with("\"rope_theta\": 20000"), {"rope_theta", "20000", "10000", "keep the one"}));
  CHECK(has_all(refusal("\"tie_word_embeddings\": true\n}", "\"tie_word_embeddings\": false\n}"),
                {"tie_word_embeddings", "differ"}));
}

TEST_CASE("config.json that cannot be read is refused") {
  const ModelCopy copy;
  const std::string good = tools::read_file(copy / "config.json");
  const auto said = [&](std::string_view text) {
    tools::write_file(copy / "config.json", text);
    return copy.refusal();
  };
  CHECK(has_all(said(""), {"config.json", "not valid JSON"}));
  CHECK(has_all(said("[]"), {"config.json", "must be an object"}));
  CHECK(has_all(said("{}"), {"config.json", "model_type", "missing"}));
  CHECK(has_all(said(good.substr(0, good.size() / 2)), {"config.json", "not valid JSON"}));
  CHECK(has_all(said(std::string(100000, '[') + std::string(100000, ']')), {"config.json", "nested deeper"}));
  CHECK(has_all(said(std::string(16'000'001, ' ')), {"config.json", "16000001", "16000000"}));
  CHECK(has_all(said("{\"model_type\": \"a\", \"model_type\": \"b\"}"),
                {"model_type", "twice", "\"a\"", "\"b\""}));
}

TEST_CASE("defaults of generation_config.json are checked") {
  const auto said = [](std::string_view from, std::string_view to) {
    const ModelCopy copy;
    copy.edit("generation_config.json", from, to);
    return copy.refusal();
  };
  const std::string temperature = "\"temperature\": 0.6", top_p = "\"top_p\": 0.9", top_k = "\"top_k\": 20";
  for (const char* bad : {"-0.1", "101", "\"0.6\"", "true", "[0.6]"})
    CHECK(has_all(said(temperature, "\"temperature\": " + std::string(bad)),
                  {"generation_config.json", "temperature"}));
  for (const char* bad : {"NaN", "Infinity", "1e400"})
    CHECK(has_all(said(temperature, "\"temperature\": " + std::string(bad)),
                  {"generation_config.json", "not valid JSON"}));
  for (const char* bad : {"0", "-1", "1.1"})
    CHECK(has_all(said(top_p, "\"top_p\": " + std::string(bad)), {"top_p"}));
  for (const char* bad : {"-1", "1.5", "\"20\""})
    CHECK(has_all(said(top_k, "\"top_k\": " + std::string(bad)), {"top_k"}));
  CHECK(has_all(said(top_k, "\"min_p\": 2"), {"min_p"}));
  CHECK(has_all(said(top_k, "\"repetition_penalty\": 1.1"), {"repetition_penalty", "1.1"}));
  CHECK(has_all(said("2041", "2048"), {"eos_token_id", "2048"}));
  CHECK(has_all(said("2041", "-1"), {"eos_token_id", "-1"}));
  CHECK(said(temperature, "\"temperature\": null") == "");
  CHECK(said(top_k, "\"repetition_penalty\": 1.0") == "");

  const ModelCopy copy;
  copy.edit("generation_config.json", "\"do_sample\": true", "\"do_sample\": false");
  CHECK(Checkpoint::open(copy.directory()).config().temperature == 0.0f);
  fs::remove(copy / "generation_config.json");
  const ModelConfig config = Checkpoint::open(copy.directory()).config();
  CHECK(!config.temperature);
  CHECK(config.end_tokens == std::vector<int32_t>{2041, 2039});
  copy.edit("config.json", "eos_token_id", "other");
  CHECK(has_all(copy.refusal(), {"eos_token_id", "missing"}));
}

TEST_CASE("damaged configurations never crash the reader") {
  const unsigned seed = 21;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const ModelCopy copy;
  for (const char* name : {"config.json", "generation_config.json"}) {
    const std::string good = tools::read_file(copy / name);
    int refused = 0;
    for (int i = 0; i < 500; i++) {
      std::string bad = good;
      for (unsigned n = 1 + random() % 3; n > 0; n--)
        bad[random() % bad.size()] = "0123456789[]{},:\"-e.tn"[random() % 22];
      tools::write_file(copy / name, bad);
      refused += copy.refusal() != "";
    }
    CHECK(refused > 100);
    tools::write_file(copy / name, good);
  }
}

}  // namespace lockstep::engine
