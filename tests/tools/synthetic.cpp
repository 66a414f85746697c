#include "tests/tools/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <locale>
#include <sstream>
#include <stdexcept>

#include "tests/tools/random_weights.h"
#include "tests/tools/synthetic_plan.h"

namespace lockstep::tools {

namespace {

namespace fs = std::filesystem;
using Numbers = PlannedTensor::Numbers;

// Scales are between half and one and a half of the one that gives uniform codes the wanted deviation.
float scale(Random& random, const PlannedTensor& planned) {
  const float levels = static_cast<float>(1 << planned.bits);
  return planned.b * std::sqrt(12.0f / (levels * levels - 1)) * random.uniform(0.5f, 1.5f);
}

// Writes one tensor's numbers.
void write_numbers(SafetensorsWriter& writer, const PlannedTensor& planned, uint64_t seed) {
  constexpr size_t piece = size_t{1} << 20;
  std::vector<char> buffer(piece);
  const std::string& name = planned.tensor.name;
  Random random(seed, name), scales(seed, name.substr(0, name.rfind('.')) + ".scales");
  const bool wide = planned.tensor.dtype == "F32" || planned.tensor.dtype == "U32";
  for (uint64_t left = planned.tensor.bytes(); left > 0;) {
    const size_t bytes = std::min<uint64_t>(left, piece);
    for (size_t at = 0; at < bytes; at += wide ? 4 : 2) {
      float value = 0;
      switch (planned.numbers) {
        case Numbers::codes: {
          const auto word = static_cast<uint32_t>(random.next() >> 32);
          std::memcpy(&buffer[at], &word, 4);
          continue;
        }
        case Numbers::scales: value = scale(scales, planned); break;
        case Numbers::biases: {
          const float half = static_cast<float>((1 << planned.bits) - 1) * 0.5f;
          value = -scale(scales, planned) * half * random.uniform(0.8f, 1.2f);
          break;
        }
        case Numbers::normal: value = planned.a + random.normal(planned.b); break;
        case Numbers::uniform: value = random.uniform(planned.a, planned.b); break;
      }
      if (wide) {
        std::memcpy(&buffer[at], &value, 4);
      } else {
        const uint16_t bits = planned.tensor.dtype == "F16" ? to_fp16(value) : to_bf16(value);
        std::memcpy(&buffer[at], &bits, 2);
      }
    }
    writer.write(buffer.data(), bytes);
    left -= bytes;
  }
}

std::string stored_name(const SyntheticShape& shape, const std::string& name) {
  // The prefix of the original release stands in the place of "model.".
  if (shape.prefix == "model.language_model.")
    return name.starts_with("model.") ? shape.prefix + name.substr(6) : name;
  return shape.prefix + name;
}

std::string quantization(const SyntheticShape& shape, const SyntheticPlan& plan) {
  const auto coded = [](const PlannedModule& module) { return module.storage.bits < 16; };
  if (std::none_of(plan.modules.begin(), plan.modules.end(), coded)) return "";
  const Storage standard = shape.storage.bits < 16 ? shape.storage : Storage();
  std::ostringstream out;
  out << "{\"bits\": " << standard.bits << ", \"group_size\": " << standard.group << ", \"mode\": \"affine\"";
  for (const auto& [name, storage] : plan.modules) {
    if (storage.bits == standard.bits && storage.group == standard.group) continue;
    out << ",\n    \"" << stored_name(shape, name) << "\": ";
    if (storage.bits == 16)
      out << "false";
    else
      out << "{\"bits\": " << storage.bits << ", \"group_size\": " << storage.group << "}";
  }
  return out.str() + "}";
}

std::string text_settings(const SyntheticShape& s) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "\"attention_bias\": false,\n\"attn_output_gate\": true,\n\"full_attention_interval\": "
      << s.full_attention_interval << ",\n\"head_dim\": " << s.head_dim << ",\n\"hidden_act\": \"silu\""
      << ",\n\"hidden_size\": " << s.hidden << ",\n\"linear_conv_kernel_dim\": " << s.taps
      << ",\n\"linear_key_head_dim\": " << s.delta_key_dim
      << ",\n\"linear_num_key_heads\": " << s.delta_key_heads
      << ",\n\"linear_num_value_heads\": " << s.delta_value_heads
      << ",\n\"linear_value_head_dim\": " << s.delta_value_dim
      << ",\n\"max_position_embeddings\": " << s.max_positions
      << ",\n\"mtp_num_hidden_layers\": " << s.mtp_layers << ",\n\"mtp_use_dedicated_embeddings\": false"
      << ",\n\"num_attention_heads\": " << s.query_heads << ",\n\"num_hidden_layers\": " << s.layers
      << ",\n\"num_key_value_heads\": " << s.key_heads << ",\n\"rms_norm_eps\": " << s.norm_eps
      << ",\n\"rope_parameters\": {\"partial_rotary_factor\": " << s.rotary_factor
      << ", \"rope_theta\": " << s.rope_theta << ", \"rope_type\": \"default\"}"
      << ",\n\"vocab_size\": " << s.vocabulary << ",\n";
  if (s.experts > 0)
    out << "\"num_experts\": " << s.experts << ",\n\"num_experts_per_tok\": " << s.experts_per_token
        << ",\n\"moe_intermediate_size\": " << s.expert_intermediate
        << ",\n\"shared_expert_intermediate_size\": " << s.shared_intermediate
        << ",\n\"norm_topk_prob\": true";
  else
    out << "\"intermediate_size\": " << s.intermediate;
  return out.str();
}

std::string config_text(const SyntheticShape& shape, const SyntheticPlan& plan) {
  const std::string family = shape.experts > 0 ? "qwen3_5_moe" : "qwen3_5";
  std::string text = "{\n\"model_type\": \"" + family + "\",\n\"tie_word_embeddings\": ";
  text += shape.tied_head ? "true" : "false";
  if (const std::string codes = quantization(shape, plan); !codes.empty())
    text += ",\n\"quantization\": " + codes + ",\n\"quantization_config\": " + codes;
  text += ",\n";
  if (shape.flat_config)
    text += text_settings(shape);
  else
    text += "\"text_config\": {\"model_type\": \"" + family + "_text\",\n" + text_settings(shape) + "\n}";
  return text + "\n}\n";
}

// Writes the tensors [begin, end) of the plan.
void write_part(const SyntheticShape& shape, const std::vector<const PlannedTensor*>& part,
                const fs::path& file) {
  std::vector<WrittenTensor> tensors;
  for (const PlannedTensor* planned : part) {
    tensors.push_back(planned->tensor);
    tensors.back().name = stored_name(shape, planned->tensor.name);
  }
  SafetensorsWriter writer(file, tensors);
  for (const PlannedTensor* planned : part) write_numbers(writer, *planned, shape.seed);
  writer.close();
}

void write_weights(const SyntheticShape& shape, const SyntheticPlan& plan, const fs::path& directory) {
  std::vector<std::vector<const PlannedTensor*>> parts(static_cast<size_t>(shape.shards));
  std::vector<const PlannedTensor*> side;
  uint64_t total = 0, done = 0;
  for (const PlannedTensor& planned : plan.tensors) total += planned.tensor.bytes();
  for (const PlannedTensor& planned : plan.tensors) {
    if (shape.mtp_file && planned.tensor.name.starts_with("mtp."))
      side.push_back(&planned);
    else
      parts[std::min<uint64_t>(done * parts.size() / total, parts.size() - 1)].push_back(&planned);
    done += planned.tensor.bytes();
  }
  if (!side.empty()) write_part(shape, side, directory / "mtp.safetensors");
  if (parts.size() == 1) return write_part(shape, parts[0], directory / "model.safetensors");
  std::string map;
  for (size_t i = 0; i < parts.size(); i++) {
    char file[64];
    std::snprintf(file, sizeof file, "model-%05zu-of-%05zu.safetensors", i + 1, parts.size());
    if (parts[i].empty()) throw std::runtime_error("too many shards for the tensors of " + shape.name);
    write_part(shape, parts[i], directory / file);
    for (const PlannedTensor* planned : parts[i])
      map += (map.empty() ? "\n\"" : ",\n\"") + stored_name(shape, planned->tensor.name) + "\": \"" + file +
             "\"";
  }
  std::ofstream out(directory / "model.safetensors.index.json");
  out << "{\"metadata\": {\"total_size\": " << total << "}, \"weight_map\": {" << map << "\n}}\n";
}

}  // namespace

void write_synthetic(const SyntheticShape& shape, const fs::path& directory, const fs::path& tokenizer) {
  const SyntheticPlan plan = plan_synthetic(shape);
  fs::create_directories(directory);
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"})
    fs::copy_file(tokenizer / name, directory / name, fs::copy_options::overwrite_existing);
  std::ofstream config(directory / "config.json");
  config << config_text(shape, plan);
  config.close();
  if (!config) throw std::runtime_error("cannot write " + (directory / "config.json").string());
  write_weights(shape, plan, directory);
}

}  // namespace lockstep::tools
