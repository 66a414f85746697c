// make_checkpoint: writes a checkpoint with random weights, to try a shape without its model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/tools/synthetic.h"

namespace lockstep::tools {

namespace {

// "8", "8:32" or "8:32:F16": bits, group, type of the scales. "16" is bf16.
Storage parse_storage(const std::string& text) {
  Storage storage;
  char type[5] = "BF16";
  if (std::sscanf(text.c_str(), "%d:%d:%4s", &storage.bits, &storage.group, type) < 1)
    throw CLI::ValidationError(text, "is not BITS, BITS:GROUP or BITS:GROUP:TYPE");
  storage.scales = type;
  const auto one_of = [](int value, std::initializer_list<int> values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  if (!one_of(storage.bits, {2, 3, 4, 5, 6, 8, 16}) || !one_of(storage.group, {32, 64, 128}) ||
      (storage.scales != "BF16" && storage.scales != "F16" && storage.scales != "F32"))
    throw CLI::ValidationError(
        text, "needs 2, 3, 4, 5, 6, 8 or 16 bits, groups of 32, 64 or 128, and BF16, F16 or F32");
  return storage;
}

std::vector<SyntheticShape> all_shapes() {
  std::vector<SyntheticShape> shapes = synthetic_shapes();
  shapes.insert(shapes.end(), published_shapes().begin(), published_shapes().end());
  return shapes;
}

void add_options(CLI::App& app, SyntheticShape& s) {
  app.add_option("--seed", s.seed, "Seed of the weights");
  app.add_option("--vocabulary", s.vocabulary, "Tokens, at least the tokenizer's");
  app.add_option("--hidden", s.hidden);
  app.add_option("--layers", s.layers);
  app.add_option("--full-attention-interval", s.full_attention_interval,
                 "Every n-th layer is full attention");
  app.add_option("--max-positions", s.max_positions);
  app.add_option("--query-heads", s.query_heads);
  app.add_option("--key-heads", s.key_heads);
  app.add_option("--head-dim", s.head_dim);
  app.add_option("--rotary-factor", s.rotary_factor, "Rotary part of a head");
  app.add_option("--rope-theta", s.rope_theta);
  app.add_option("--delta-key-heads", s.delta_key_heads);
  app.add_option("--delta-value-heads", s.delta_value_heads);
  app.add_option("--delta-key-dim", s.delta_key_dim);
  app.add_option("--delta-value-dim", s.delta_value_dim);
  app.add_option("--taps", s.taps, "Of the convolution");
  app.add_option("--intermediate", s.intermediate, "Of dense models");
  app.add_option("--experts", s.experts, "0: a dense model");
  app.add_option("--experts-per-token", s.experts_per_token);
  app.add_option("--expert-intermediate", s.expert_intermediate);
  app.add_option("--shared-intermediate", s.shared_intermediate);
  app.add_option("--tied", s.tied_head, "true or false: the head is the embedding");
  app.add_option("--mtp-layers", s.mtp_layers, "0 or 1");
  app.add_option("--mtp-file", s.mtp_file, "true or false: the multi-token head in a file of its own");
  app.add_option("--small", s.small, "Type of the small tensors")
      ->check(CLI::IsMember({"BF16", "F16", "F32"}));
  app.add_option("--prefix", s.prefix, "Before every tensor's name");
  app.add_option("--shards", s.shards)->check(CLI::Range(1, 999));
}

int run(int argc, char** argv) {
  // The shape comes first: the other options start from it.
  SyntheticShape shape;
  const std::vector<SyntheticShape> shapes = all_shapes();
  std::string names;
  for (const SyntheticShape& s : shapes) names += (names.empty() ? "" : ", ") + s.name;

  CLI::App app("Writes a checkpoint with random weights");
  std::string name, out, tokenizer;
  std::string storage;
  std::vector<std::string> roles;
  app.add_option_function<std::string>(
         "--shape",
         [&](const std::string& wanted) {
           const auto at = std::find_if(shapes.begin(), shapes.end(),
                                        [&](const SyntheticShape& s) { return s.name == wanted; });
           if (at == shapes.end()) throw CLI::ValidationError("--shape", "is one of " + names);
           shape = *at;
         },
         "Start from a named shape: " + names)
      ->trigger_on_parse();
  app.add_option("--out", out, "Directory to write")->required();
  app.add_option("--tokenizer", tokenizer, "Directory with the tokenizer's files")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--storage", storage, "BITS[:GROUP[:TYPE]] of all matrices; 16 bits are bf16");
  app.add_option("--role", roles,
                 "ROLE=BITS[:GROUP[:TYPE]] of some: embed, head, attention, delta, delta_gates, mlp, router, "
                 "experts, mtp");
  add_options(app, shape);
  try {
    app.parse(argc, argv);
    if (!storage.empty()) shape.storage = parse_storage(storage);
    for (const std::string& role : roles) {
      const size_t at = role.find('=');
      if (at == role.npos) throw CLI::ValidationError(role, "is not ROLE=BITS[:GROUP[:TYPE]]");
      shape.roles[role.substr(0, at)] = parse_storage(role.substr(at + 1));
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  write_synthetic(shape, out, tokenizer);
  return 0;
}

}  // namespace

}  // namespace lockstep::tools

int main(int argc, char** argv) {
  try {
    return lockstep::tools::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_checkpoint: %s\n", error.what());
    return 1;
  }
}
