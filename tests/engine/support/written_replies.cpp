#include "tests/engine/support/written_replies.h"

#include <bit>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace lockstep::test {
namespace {

// 64 bits of all token ids, and of the bits of all log-probabilities, alternatives included, in order: FNV-1a
// over 32-bit words, each mixed once more, as FNV's high bits take many bytes to fill.
std::string hash_of(const Answer& answer) {
  if (!answer.reply) return "failed";
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](uint32_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  };
  const auto add_pair = [&](int32_t token, float logprob) {
    add(static_cast<uint32_t>(token));
    add(std::bit_cast<uint32_t>(logprob));
  };
  for (int32_t token : answer.reply->tokens) add(static_cast<uint32_t>(token));
  for (const engine::TokenLogprob& one : answer.logprobs) {
    add_pair(one.token, one.logprob);
    for (const auto& other : one.top) add_pair(other.token, other.logprob);
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

WrittenReplies::WrittenReplies(const std::filesystem::path& file) : file_(file) {
  std::ifstream in(file);
  std::string model, hash;
  for (int prompt = 0; in >> model >> prompt >> hash;) hashes_[{model, prompt}] = hash;
}

bool WrittenReplies::is(const std::string& model, int prompt, const Answer& answer) const {
  const auto found = hashes_.find({model, prompt});
  return found != hashes_.end() && found->second == hash_of(answer);
}

std::vector<int> WrittenReplies::differing(const std::string& model,
                                           const std::vector<Answer>& answers) const {
  std::vector<int> list;
  for (int i = 0; i < static_cast<int>(answers.size()); ++i)
    if (!is(model, i, answers[static_cast<size_t>(i)])) list.push_back(i);
  return list;
}

void WrittenReplies::write(const std::string& model, int prompt, const Answer& answer) {
  if (!answer.reply) throw std::runtime_error(model + " gave no reply to prompt " + std::to_string(prompt));
  const std::string hash = hash_of(answer);
  std::ofstream out(file_, std::ios::app);
  out << model << ' ' << prompt << ' ' << hash << std::endl;
  if (!out) throw std::runtime_error("cannot write " + file_.string());
  hashes_[{model, prompt}] = hash;
}

}  // namespace lockstep::test
