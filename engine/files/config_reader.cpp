#include "engine/files/config_reader.h"

#include <algorithm>
#include <cmath>

#include "engine/files/input_file.h"
#include "engine/files/json.h"
#include "engine/files/refuse.h"

namespace lockstep::engine {

namespace {

namespace dom = simdjson::dom;

constexpr uint64_t most_config_bytes = 16'000'000;

// A setting that would change the computation, and the values (as JSON) that leave it as it is built here.
// null and a missing key always pass.
struct Fixed {
  std::string_view key;
  std::vector<std::string_view> values;
};

void check_fixed(const JsonObject& object, const std::vector<Fixed>& settings) {
  for (const Fixed& setting : settings) {
    const auto value = object.find(setting.key);
    if (!value) continue;
    const std::string text = simdjson::minify(*value);
    if (std::find(setting.values.begin(), setting.values.end(), text) != setting.values.end()) continue;
    refuse(object.name(setting.key), " is ", kind(*value), ", which is not supported",
           setting.values.empty() ? "" : "; only ", setting.values.empty() ? "" : setting.values[0],
           setting.values.empty() ? "" : " is");
  }
}

void check_supported(const JsonObject& text) {
  check_fixed(text, {
                        {"attention_bias", {"false"}},
                        {"attn_output_gate", {"true"}},
                        {"hidden_act", {"\"silu\"", "\"swish\""}},
                        {"output_gate_type", {"\"swish\"", "\"silu\""}},
                        {"rope_scaling", {}},
                        {"use_sliding_window", {"false"}},
                        {"mlp_only_layers", {"[]"}},
                        {"decoder_sparse_step", {"1"}},
                        {"norm_topk_prob", {"true"}},
                        {"mtp_use_dedicated_embeddings", {"false"}},
                        {"attn_logit_softcapping", {}},
                        {"final_logit_softcapping", {}},
                    });
  if (text.boolean("use_sliding_window") != false) check_fixed(text, {{"sliding_window", {}}});
}

// A number that two places may give; given twice it must be the same.
std::optional<double> number_of(const JsonObject& a, const std::optional<JsonObject>& b, std::string_view key,
                                double least, double most) {
  const auto first = a.number(key, least, most);
  const auto second = b ? b->number(key, least, most) : std::nullopt;
  if (first && second && *first != *second)
    refuse(a.name(key), " is ", *first, " but ", b->name(key), " is ", *second,
           "; keep the one that is right");
  return first ? first : second;
}

void read_rope(const JsonObject& text, ModelConfig& model) {
  const auto rope = text.object("rope_parameters");
  if (rope) {
    check_fixed(*rope, {{"rope_type", {"\"default\""}}, {"type", {"\"default\""}}});
    for (const auto& [key, value] : rope->fields())
      if (key != "rope_type" && key != "type" && key != "rope_theta" && key != "partial_rotary_factor" &&
          key != "mrope_section" && key != "mrope_interleaved" && !value.is_null())
        refuse(rope->name(key), " is not supported");
  }
  const auto theta = number_of(text, rope, "rope_theta", 1, 1e12);
  const auto part = number_of(text, rope, "partial_rotary_factor", 0, 1);
  if (!theta) refuse_missing(text.name("rope_parameters") + ".rope_theta");
  if (!part) refuse_missing(text.name("rope_parameters") + ".partial_rotary_factor");
  model.rope_theta = *theta;
  const double rotary = model.head_dim * *part;
  model.rotary_dim = static_cast<int>(std::lround(rotary));
  if (std::abs(rotary - model.rotary_dim) > 1e-6 || model.rotary_dim < 2 || model.rotary_dim % 2 != 0)
    refuse(text.name("partial_rotary_factor"), " is ", *part, ", which gives ", rotary, " of ",
           model.head_dim, " elements of a head; the rotary part must be an even number from 2");
}

void read_layers(const JsonObject& text, ModelConfig& model) {
  const int count = text.needed_integer("num_hidden_layers", 1, 1024);
  const auto types = text.find("layer_types");
  const auto interval = text.integer("full_attention_interval", 1, 1024);
  if (!types && !interval)
    refuse(text.where(), " has neither layer_types nor full_attention_interval; copy or download it again");
  if (interval)
    for (int i = 0; i < count; i++)
      model.layers.push_back((i + 1) % *interval == 0 ? LayerKind::full_attention
                                                      : LayerKind::linear_attention);
  if (!types) return;

  dom::array list;
  if (types->get_array().get(list)) refuse(text.name("layer_types"), " must be a list, not ", kind(*types));
  std::vector<LayerKind> kinds;
  for (dom::element entry : list) {
    std::string_view name;
    if (entry.get_string().get(name) || (name != "full_attention" && name != "linear_attention"))
      refuse(text.name("layer_types"), " names ", kind(entry), " as layer ", kinds.size(),
             "; only full_attention and linear_attention are supported");
    kinds.push_back(name == "full_attention" ? LayerKind::full_attention : LayerKind::linear_attention);
  }
  if (kinds.size() != static_cast<size_t>(count))
    refuse(text.name("layer_types"), " names ", kinds.size(), " layers, num_hidden_layers says ", count);
  if (interval && kinds != model.layers)
    refuse(text.name("layer_types"), " and full_attention_interval disagree; keep the one that is right");
  model.layers = std::move(kinds);
}

void need_multiple(const JsonObject& text, std::string_view whole, int a, std::string_view part, int b) {
  if (a % b != 0) refuse(text.name(whole), " is ", a, ", not a multiple of ", part, ", ", b);
}

void read_shapes(const JsonObject& text, ModelConfig& model) {
  model.vocabulary = text.needed_integer("vocab_size", 1, 1 << 24);
  model.hidden = text.needed_integer("hidden_size", 1, 1 << 17);
  model.max_positions = text.needed_integer("max_position_embeddings", 1, 1 << 26);
  const auto eps = text.number("rms_norm_eps", 0, 1);
  if (!eps) refuse_missing(text.name("rms_norm_eps"));
  model.norm_eps = static_cast<float>(*eps);

  model.query_heads = text.needed_integer("num_attention_heads", 1, 1024);
  model.key_heads = text.needed_integer("num_key_value_heads", 1, 1024);
  model.head_dim = text.needed_integer("head_dim", 2, 1024);
  need_multiple(text, "num_attention_heads", model.query_heads, "num_key_value_heads", model.key_heads);

  model.delta_key_heads = text.needed_integer("linear_num_key_heads", 1, 1024);
  model.delta_value_heads = text.needed_integer("linear_num_value_heads", 1, 1024);
  model.delta_key_dim = text.needed_integer("linear_key_head_dim", 1, 1024);
  model.delta_value_dim = text.needed_integer("linear_value_head_dim", 1, 1024);
  model.conv_taps = text.needed_integer("linear_conv_kernel_dim", 2, 16);
  need_multiple(text, "linear_num_value_heads", model.delta_value_heads, "linear_num_key_heads",
                model.delta_key_heads);

  if (model.model_type == "qwen3_5_moe") {
    model.experts = text.needed_integer("num_experts", 2, 1 << 14);
    model.experts_per_token = text.needed_integer("num_experts_per_tok", 1, model.experts);
    model.expert_intermediate = text.needed_integer("moe_intermediate_size", 1, 1 << 20);
    model.shared_intermediate = text.needed_integer("shared_expert_intermediate_size", 1, 1 << 20);
  } else {
    model.intermediate = text.needed_integer("intermediate_size", 1, 1 << 20);
    if (text.integer("num_experts", 0, 1 << 14).value_or(0) != 0)
      refuse(text.name("num_experts"), " is set in a model of the dense type qwen3_5");
  }
  model.mtp_layers = static_cast<int>(text.integer("mtp_num_hidden_layers", 0, 1).value_or(0));
}

// eos_token_id: one id or a list of them.
std::vector<int32_t> read_end_tokens(const JsonObject& object, int vocabulary) {
  const auto value = object.find("eos_token_id");
  if (!value) return {};
  std::vector<dom::element> entries;
  dom::array list;
  if (value->get_array().get(list))
    entries.push_back(*value);
  else
    entries.assign(list.begin(), list.end());
  std::vector<int32_t> tokens;
  for (dom::element entry : entries) {
    int64_t id = 0;
    if (!entry.is_int64() || entry.get_int64().get(id) || id < 0 || id >= vocabulary)
      refuse(object.name("eos_token_id"), " has ", kind(entry), ", where ids below the vocabulary's ",
             vocabulary, " belong");
    if (std::find(tokens.begin(), tokens.end(), id) == tokens.end())
      tokens.push_back(static_cast<int32_t>(id));
  }
  return tokens;
}

void read_generation(const std::filesystem::path& file, ModelConfig& model) {
  const JsonDocument document(read_text(file, most_config_bytes), quoted(file));
  const JsonObject object(document.root(), document.where());
  check_fixed(object, {
                          {"num_beams", {"1"}},
                          {"repetition_penalty", {"1.0", "1"}},
                          {"presence_penalty", {"0.0", "0"}},
                          {"frequency_penalty", {"0.0", "0"}},
                          {"typical_p", {"1.0", "1"}},
                          {"no_repeat_ngram_size", {"0"}},
                      });
  if (auto tokens = read_end_tokens(object, model.vocabulary); !tokens.empty())
    model.end_tokens = std::move(tokens);
  const auto small = [](std::optional<double> value) -> std::optional<float> {
    if (!value) return std::nullopt;
    return static_cast<float>(*value);
  };
  model.temperature = small(object.number("temperature", 0, 100));
  model.top_p = small(object.number("top_p", 0, 1));
  model.min_p = small(object.number("min_p", 0, 1));
  if (model.top_p == 0.0f) refuse(object.name("top_p"), " is 0, which leaves no token; 1 turns it off");
  if (const auto top = object.integer("top_k", 0, 1 << 24)) model.top_k = static_cast<int>(*top);
  if (object.boolean("do_sample") == false) model.temperature = 0.0f;
}

// "qwen3_5" for "qwen3_5" and "qwen3_5_text", likewise for experts.
std::string family_of(const JsonObject& object) {
  auto type = object.string("model_type");
  if (!type) refuse_missing(object.name("model_type"));
  std::string family = *type;
  if (family.ends_with("_text")) family.resize(family.size() - 5);
  if (family != "qwen3_5" && family != "qwen3_5_moe")
    refuse(object.name("model_type"), " is ", quoted(std::string_view(*type)),
           "; the families qwen3_5 and qwen3_5_moe are supported");
  return family;
}

}  // namespace

CheckpointConfig read_config(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "config.json";
  const JsonDocument document(read_text(file, most_config_bytes), quoted(file));
  const JsonObject top(document.root(), document.where());
  const auto nested = top.object("text_config");
  const JsonObject& text = nested ? *nested : top;

  CheckpointConfig result;
  ModelConfig& model = result.model;
  model.model_type = family_of(top);
  if (nested && nested->find("model_type") && family_of(*nested) != model.model_type)
    refuse(nested->name("model_type"), " is of another family than ", top.name("model_type"));
  check_supported(text);
  read_shapes(text, model);
  read_rope(text, model);
  read_layers(text, model);

  const auto tied = text.boolean("tie_word_embeddings"), top_tied = top.boolean("tie_word_embeddings");
  if (tied && top_tied && *tied != *top_tied)
    refuse(text.name("tie_word_embeddings"), " and ", top.name("tie_word_embeddings"),
           " differ; keep the one that is right");
  model.tied_head = tied.value_or(top_tied.value_or(false));

  model.end_tokens = read_end_tokens(top, model.vocabulary);
  if (model.end_tokens.empty()) model.end_tokens = read_end_tokens(text, model.vocabulary);
  const std::filesystem::path generation = directory / "generation_config.json";
  std::error_code ignored;
  if (std::filesystem::symlink_status(generation, ignored).type() != std::filesystem::file_type::not_found)
    read_generation(generation, model);
  if (model.end_tokens.empty())
    refuse(top.name("eos_token_id"),
           " is missing, in generation_config.json too; no reply would ever end without one");

  result.quantization = read_quantization(top);
  return result;
}

}  // namespace lockstep::engine
