// tests/data/replies.txt: hashes of replies that every device must give, one line for a model and a prompt of
// devices_test.cpp, "MODEL PROMPT HASH". The canon has one answer, so any device may write the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/support/ask.h"

namespace lockstep::test {

class WrittenReplies {
 public:
  explicit WrittenReplies(const std::filesystem::path& file = LOCKSTEP_SOURCE_DIR "/tests/data/replies.txt");

  bool has(const std::string& model, int prompt) const { return hashes_.contains({model, prompt}); }
  bool is(const std::string& model, int prompt, const Answer&) const;
  // Numbers of the prompts, counted from 0, whose answers are not the ones that are written down.
  std::vector<int> differing(const std::string& model, const std::vector<Answer>& answers) const;
  // Adds a line to the file; it is there when this returns.
  void write(const std::string& model, int prompt, const Answer&);

 private:
  const std::filesystem::path file_;
  std::map<std::pair<std::string, int>, std::string> hashes_;
};

}  // namespace lockstep::test
