#include "engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <fstream>

#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/merges.h"
#include "engine/tokenizer/normalize.h"
#include "engine/tokenizer/split.h"
#include "engine/tokenizer/tokenizer_file.h"

namespace lockstep::engine {
namespace {

constexpr uintmax_t max_file_bytes = 256u << 20;

std::vector<AddedToken> select(const std::vector<AddedToken>& tokens, bool normalized, bool nfc) {
  std::vector<AddedToken> chosen;
  std::vector<NfcChange> changes;
  std::string storage;
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    chosen.push_back(token);
    if (normalized && nfc) chosen.back().content = std::string(to_nfc(token.content, storage, changes));
  }
  return chosen;
}

// The parts of `own` inside `part`, counted from its beginning.
std::vector<ByteRange> clip(const std::vector<ByteRange>& own, ByteRange part) {
  std::vector<ByteRange> clipped;
  auto at = std::partition_point(own.begin(), own.end(), [&](ByteRange r) { return r.end <= part.begin; });
  for (; at != own.end() && at->begin < part.end; ++at)
    clipped.push_back(
        {std::max(at->begin, part.begin) - part.begin, std::min(at->end, part.end) - part.begin});
  return clipped;
}

// Where `own` ranges of a text lie in its normalized form. A rewritten part is own when all of it was.
std::vector<ByteRange> follow(const std::vector<ByteRange>& own, const std::vector<NfcChange>& changes) {
  std::vector<ByteRange> moved;
  size_t next = 0;               // first change that ends after the place looked at
  size_t before = 0, after = 0;  // ends of the last change passed
  const auto pass = [&] {
    before = changes[next].before.end;
    after = changes[next].after.end;
    ++next;
  };
  for (ByteRange range : own) {
    while (next < changes.size() && changes[next].before.end <= range.begin) pass();
    if (next < changes.size() && changes[next].before.begin < range.begin) {  // begins inside a change
      if (changes[next].before.end >= range.end) continue;
      range.begin = changes[next].before.end;
      pass();
    }
    const size_t begin = range.begin - before + after;
    while (next < changes.size() && changes[next].before.end <= range.end) pass();
    if (next < changes.size() && changes[next].before.begin < range.end)
      range.end = changes[next].before.begin;
    const size_t end = range.end - before + after;
    if (begin < end) moved.push_back({begin, end});
  }
  return moved;
}

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerFile&& file)
      : tokens(std::move(file.tokens)),
        added(std::move(file.added)),
        raw(select(added, false, file.nfc)),
        normalized(select(added, true, file.nfc)),
        merges(std::move(file.merges), file.byte_tokens),
        split(file.split),
        nfc(file.nfc) {
    std::sort(added.begin(), added.end(),
              [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
    special.resize(tokens.size());
    for (const AddedToken& token : added) special[static_cast<size_t>(token.id)] = token.special;
  }

  void encode_words(std::string_view text, std::vector<int32_t>& ids) const {
    for (size_t at = 0; at < text.size();) {
      const size_t length = word_length(split, text, at);
      merges.encode(text.substr(at, length), ids);
      at += length;
    }
  }

  std::vector<int32_t> encode(std::string_view text, const std::vector<ByteRange>& own) const {
    std::vector<int32_t> ids;
    std::string storage;
    std::vector<NfcChange> changes;
    for (const Piece& piece : raw.split(text, own)) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
        continue;
      }
      std::string_view plain = text.substr(piece.range.begin, piece.range.end - piece.range.begin);
      if (nfc) plain = to_nfc(plain, storage, changes);
      if (normalized.empty()) {
        encode_words(plain, ids);
        continue;
      }
      for (const Piece& part : normalized.split(plain, follow(clip(own, piece.range), changes))) {
        if (part.id >= 0)
          ids.push_back(part.id);
        else
          encode_words(plain.substr(part.range.begin, part.range.end - part.range.begin), ids);
      }
    }
    return ids;
  }

  std::vector<std::string> tokens;  // bytes by id
  std::vector<AddedToken> added;    // by content
  std::vector<bool> special;        // by id
  AddedTokenMatcher raw, normalized;
  MergeTable merges;
  SplitRule split;
  bool nfc;
};

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::parse(std::string_view tokenizer_json) {
  return Tokenizer(std::make_unique<State>(parse_tokenizer_file(tokenizer_json)));
}

Tokenizer Tokenizer::load(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "tokenizer.json";
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error)
    throw TokenizerError(path.string() + " cannot be read: " + error.message() +
                         "; a model's directory holds it");
  if (size > max_file_bytes)
    throw TokenizerError(path.string() + " is larger than 256 MiB, which no tokenizer is");
  std::string text(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(text.data(), static_cast<std::streamsize>(size)))
    throw TokenizerError(path.string() + " cannot be read to its end; check its permissions and the disk");
  try {
    return parse(text);
  } catch (const TokenizerError& e) {
    throw TokenizerError(directory.string() + ": " + e.what());
  }
}

std::vector<int32_t> Tokenizer::encode(const MarkedText& text) const {
  std::vector<ByteRange> own;
  size_t at = 0;
  for (const MarkedText::Run& run : text.runs) {
    if (!run.data) own.push_back({at, at + run.bytes});
    at += run.bytes;
  }
  return state_->encode(text.text, own);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool added) const {
  std::vector<ByteRange> own;
  if (added) own.push_back({0, text.size()});
  return state_->encode(text, own);
}

std::string_view Tokenizer::bytes(int32_t id) const {
  return id < 0 || id >= size() ? std::string_view{} : state_->tokens[static_cast<size_t>(id)];
}

bool Tokenizer::special(int32_t id) const {
  return id >= 0 && id < size() && state_->special[static_cast<size_t>(id)];
}

std::optional<int32_t> Tokenizer::id(std::string_view token_content) const {
  const auto& added = state_->added;
  const auto at = std::lower_bound(added.begin(), added.end(), token_content,
                                   [](const AddedToken& a, std::string_view b) { return a.content < b; });
  if (at == added.end() || at->content != token_content) return std::nullopt;
  return at->id;
}

int32_t Tokenizer::size() const { return static_cast<int32_t>(state_->tokens.size()); }

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  Utf8Stream stream;
  std::string text;
  for (const int32_t token : ids)
    if (!skip_special || !special(token)) text += stream.push(bytes(token));
  return text + stream.finish();
}

}  // namespace lockstep::engine
