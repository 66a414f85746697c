// The keys that clients show: a file of labels and SHA-256 hashes, so that whoever reads it has no key.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::daemon::http {

class Keys {
 public:
  // A line a key: a label of 1 to 64 letters, digits, '.', '_' or '-', a blank, and the key's SHA-256 in hex.
  // Empty lines and those that begin with # count for nothing. Throws StartFailure (configuration): file,
  // line, what is wrong.
  static Keys read(const std::filesystem::path& file);

  // The label of the key, or nothing. Takes the same time whichever key of the file it is.
  std::optional<std::string> label_of(std::string_view key) const;
  std::size_t size() const { return keys_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Key {
    std::string label;
    Digest digest;
  };
  static Key parse_line(std::string_view line, const std::string& place);
  std::vector<Key> keys_;
};

}  // namespace lockstep::daemon::http
