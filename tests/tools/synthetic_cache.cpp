// Checkpoints made once and kept in the build directory.
#include <unistd.h>

#include <cctype>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "tests/tools/synthetic.h"
#include "tests/tools/synthetic_plan.h"
#include "tests/tools/temporary_directory.h"

namespace lockstep::tools {

namespace {

namespace fs = std::filesystem;

constexpr int generation = 1;  // raised when the same shape gets other numbers

fs::path cache() { return fs::path(LOCKSTEP_BINARY_DIR) / "synthetic"; }

std::string hash_of(std::string_view text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  std::ostringstream out;
  out << std::hex << hash;
  return out.str();
}

// Everything that what is written depends on.
std::string describe(const SyntheticShape& s, const fs::path& tokenizer) {
  std::ostringstream out;
  out << generation << ' ' << s.seed << ' ' << s.prefix << ' ' << s.flat_config << s.shards << s.mtp_file
      << s.tied_head << ' ' << s.full_attention_interval << ' ' << s.max_positions << ' ' << s.query_heads
      << ' ' << s.rotary_factor << ' ' << s.rope_theta << ' ' << s.norm_eps << ' ' << s.delta_key_heads << ' '
      << s.delta_key_dim << ' ' << s.experts_per_token << '\n';
  for (const PlannedTensor& planned : plan_synthetic(s).tensors) {
    out << planned.tensor.name << ' ' << planned.tensor.dtype << ' ' << planned.a << ' ' << planned.b;
    for (int64_t length : planned.tensor.shape) out << ' ' << length;
    out << '\n';
  }
  for (const char* name : {"tokenizer.json", "chat_template.jinja", "generation_config.json"})
    out << fs::file_size(tokenizer / name) << '\n';
  return out.str();
}

// Fills a new directory of that name unless there is one already. A half-made one is never seen.
template <typename Fill>
fs::path make_once(const std::string& name, const Fill& fill) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const fs::path place = cache() / name;
  if (fs::exists(place)) return place;
  const fs::path half = cache() / (".half-" + name + "-" + std::to_string(::getpid()));
  fs::remove_all(half);
  fs::create_directories(half);
  fill(half);
  std::error_code error;
  fs::rename(half, place, error);  // fails when another program was faster
  if (error) fs::remove_all(half);
  if (!fs::exists(place)) throw std::runtime_error("cannot make " + place.string());
  return place;
}

}  // namespace

fs::path synthetic(std::string_view name) {
  const fs::path tokenizer = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/data/tiny-dense";
  for (const SyntheticShape& shape : synthetic_shapes())
    if (shape.name == name)
      return make_once(shape.name + "-" + hash_of(describe(shape, tokenizer)),
                       [&](const fs::path& half) { write_synthetic(shape, half, tokenizer); });
  throw std::runtime_error("no synthetic shape is named " + std::string(name));
}

fs::path copy_with_max_positions(const fs::path& directory, int positions) {
  const fs::path source = fs::absolute(directory);
  constexpr std::string_view key = "\"max_position_embeddings\":";
  std::string config = read_file(source / "config.json");
  const size_t at = config.find(key);
  if (at == config.npos) throw std::runtime_error("no max_position_embeddings in " + source.string());
  const size_t begin = config.find_first_of("0123456789", at),
               end = config.find_first_not_of("0123456789", begin);
  config.replace(begin, end - begin, std::to_string(positions));
  const std::string name = source.filename().string() + "-" + hash_of(source.string() + config);
  return make_once(name, [&](const fs::path& half) {
    for (const fs::directory_entry& entry : fs::directory_iterator(source))
      if (entry.path().filename() != "config.json")
        fs::create_symlink(entry.path(), half / entry.path().filename());
    write_file(half / "config.json", config);
  });
}

}  // namespace lockstep::tools
