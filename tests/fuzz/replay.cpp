// Runs every target on its corpus and on mutations of it, the same ones each time.
//   fuzz_replay CORPUS MUTATIONS    the last line is "N passed, 0 failed"; a fault ends the program
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t limit) { return limit ? next() % limit : 0; }

 private:
  uint64_t state_;
};

const char* const words[] = {"null",
                             "true",
                             "[",
                             "]",
                             "{",
                             "}",
                             "\"",
                             "\\",
                             ",",
                             ":",
                             "-1",
                             "0",
                             "1e999",
                             "18446744073709551616",
                             "9223372036854775807",
                             "\xff",
                             "\xc3",
                             "\n",
                             "\\u0000",
                             "\\ud800",
                             "{{",
                             "}}",
                             "{%",
                             "%}",
                             "$ref",
                             "#",
                             "(",
                             ")",
                             "*",
                             "{1000}"};

std::string mutated(std::string text, const std::vector<std::string>& corpus, Random& random) {
  for (std::size_t steps = 1 + random.below(4); steps > 0; --steps) {
    const std::size_t at = random.below(text.size() + 1), count = random.below(text.size() - at + 1) % 64;
    switch (random.below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random.next());
        break;
      case 1: text.erase(at, count); break;
      case 2: text.insert(at, text.substr(at, count)); break;
      case 3: text.insert(at, words[random.below(std::size(words))]); break;
      case 4: {
        const std::string& other = corpus[random.below(corpus.size())];
        text.replace(at, count, other.substr(random.below(other.size() + 1), 64));
        break;
      }
      case 5: {
        const std::string piece = text.substr(at, count % 8);
        for (std::size_t i = random.below(300); i > 0; --i) text.insert(at, piece);
        break;
      }
    }
  }
  return text;
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("Usage: fuzz_replay CORPUS MUTATIONS\n", stderr);
    return 2;
  }
  const int mutations = std::atoi(argv[2]);
  long runs = 0, failed = 0;
  for (const lockstep::fuzz::Target& target : lockstep::fuzz::targets()) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(argv[1]) / target.name))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<std::string> corpus;
    for (const auto& file : files) corpus.push_back(read(file));
    Random random(static_cast<uint64_t>(runs) + 1);
    std::printf("%s\n", std::string(target.name).c_str());
    std::fflush(stdout);  // a crash shows the target
    const auto run = [&](const std::string& input, const std::string& what) {
      ++runs;
      try {
        target.run(input);
      } catch (const std::exception& error) {
        ++failed;
        std::printf("FAILED: %s, %s: %s\n", std::string(target.name).c_str(), what.c_str(), error.what());
      }
    };
    for (std::size_t i = 0; i < corpus.size(); ++i) run(corpus[i], files[i].filename().string());
    for (int i = 0; i < mutations; ++i)
      run(mutated(corpus[random.below(corpus.size())], corpus, random), "mutation " + std::to_string(i));
  }
  std::printf("%ld passed, %ld failed\n", runs - failed, failed);
  return failed > 0;
}
