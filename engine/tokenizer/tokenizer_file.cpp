#include "engine/tokenizer/tokenizer_file.h"

#include <simdjson.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "engine/tokenizer/characters.h"
#include "engine/tokenizer/tokenizer.h"

namespace lockstep::engine {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;
using Vocabulary = std::unordered_map<std::string_view, int32_t>;

constexpr int64_t max_id = (1 << 22) - 1;
constexpr size_t max_added_bytes = 1024;

[[noreturn]] void refuse(const std::string& what) { throw TokenizerError("tokenizer.json: " + what); }

[[noreturn]] void unsupported(const std::string& what) {
  refuse(what + " is not supported; only byte-level BPE as Qwen2, Qwen3 and Qwen3.5 use it is");
}

// Members of one object, named in errors by the path to it.
class Members {
 public:
  Members(element value, std::string path) : path_(std::move(path)) {
    if (value.get(object_)) refuse(name({}) + " is not an object");
  }

  std::string name(std::string_view key) const {
    if (key.empty()) return path_.empty() ? "the text" : path_;
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }
  // Nothing when missing or null.
  std::optional<element> find(std::string_view key) const {
    element value;
    if (object_[key].get(value) || value.is_null()) return std::nullopt;
    return value;
  }
  element need(std::string_view key) const {
    const auto value = find(key);
    if (!value) refuse(name(key) + " is missing");
    return *value;
  }
  std::string_view text(std::string_view key) const {
    std::string_view value;
    if (need(key).get(value)) refuse(name(key) + " is not a string");
    return value;
  }
  bool flag(std::string_view key) const {
    const auto value = find(key);
    bool is = false;
    if (value && value->get(is)) refuse(name(key) + " is neither true nor false");
    return is;
  }
  array list(std::string_view key) const {
    array value;
    if (need(key).get(value)) refuse(name(key) + " is not an array");
    return value;
  }
  Members inside(std::string_view key) const { return {need(key), name(key)}; }
  void need_type(std::string_view type) const {
    const std::string_view found = text("type");
    if (found != type) unsupported(name("type") + " \"" + std::string(found) + "\"");
  }
  void need_false(std::string_view key) const {
    if (flag(key)) unsupported(name(key) + " true");
  }
  object fields() const { return object_; }

 private:
  object object_;
  std::string path_;
};

// The byte-level alphabet (GPT-2): the printable bytes of Latin-1 stand for themselves, the other 68, in
// order, for U+0100 and up.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      bytes_[printable ? byte : next++] = static_cast<int16_t>(byte);
    }
  }
  // The bytes a token's spelling stands for; of a spelling outside the alphabet, itself.
  std::string decode(std::string_view spelling) const {
    std::string bytes;
    for (size_t at = 0; at < spelling.size();) {
      const Utf8Character c = utf8_at(spelling, at);
      const int16_t byte = c.code < bytes_.size() ? bytes_[c.code] : int16_t{-1};
      if (byte < 0) return std::string(spelling);
      bytes += static_cast<char>(byte);
      at += c.bytes;
    }
    return bytes;
  }

 private:
  std::array<int16_t, 0x100 + 68> bytes_ = [] {
    std::array<int16_t, 0x100 + 68> none;
    none.fill(-1);
    return none;
  }();
};

int32_t token_id(element value, const std::string& name) {
  int64_t id;
  if (value.get(id) || id < 0 || id > max_id)
    refuse("the id of " + name + " is not an integer from 0 to " + std::to_string(max_id));
  return static_cast<int32_t>(id);
}

std::string quoted(std::string_view token) { return "\"" + std::string(token) + "\""; }

void put_token(TokenizerFile& file, int32_t id, std::string bytes, std::string_view name) {
  const auto at = static_cast<size_t>(id);
  if (at >= file.tokens.size()) file.tokens.resize(at + 1);
  if (!file.tokens[at].empty())
    refuse("two tokens have the id " + std::to_string(id) + ", one is " + quoted(name));
  file.tokens[at] = std::move(bytes);
}

Vocabulary read_vocabulary(const Members& model, TokenizerFile& file) {
  const ByteAlphabet alphabet;
  Vocabulary ids;
  file.byte_tokens.fill(-1);
  for (const auto field : Members(model.need("vocab"), "model.vocab").fields()) {
    const int32_t id = token_id(field.value, "model.vocab's " + quoted(field.key));
    if (field.key.empty()) refuse("model.vocab has a token without characters");
    if (!ids.emplace(field.key, id).second) refuse("model.vocab has " + quoted(field.key) + " twice");
    std::string bytes = alphabet.decode(field.key);
    if (bytes.size() == 1) file.byte_tokens[static_cast<uint8_t>(bytes[0])] = id;
    put_token(file, id, std::move(bytes), field.key);
  }
  for (size_t byte = 0; byte < 256; ++byte)
    if (file.byte_tokens[byte] < 0)
      refuse("model.vocab has no token for the byte " + std::to_string(byte) +
             ": it is no byte-level vocabulary");
  return ids;
}

// ["a", "b"] or "a b".
std::pair<std::string_view, std::string_view> merge_sides(element value, const std::string& name) {
  std::string_view left, right;
  if (!value.get(left)) {
    const size_t space = left.find(' ');
    if (space == left.npos || left.find(' ', space + 1) != left.npos)
      refuse(name + " is not two tokens with a space between");
    return {left.substr(0, space), left.substr(space + 1)};
  }
  array both;
  if (value.get(both) || both.size() != 2 || both.at(0).get(left) || both.at(1).get(right))
    refuse(name + " is not a pair of strings");
  return {left, right};
}

void read_merges(const Members& model, const Vocabulary& ids, TokenizerFile& file) {
  std::unordered_set<uint64_t> seen;
  std::string joined;
  for (const element value : model.list("merges")) {
    const std::string name = "model.merges[" + std::to_string(file.merges.size()) + "]";
    const auto [left, right] = merge_sides(value, name);
    joined.assign(left).append(right);
    const auto id = [&](std::string_view token) {
      const auto found = ids.find(token);
      if (found == ids.end()) refuse(name + " names " + quoted(token) + ", which is not in model.vocab");
      return found->second;
    };
    const Merge merge{id(left), id(right), id(joined)};
    const uint64_t pair = static_cast<uint64_t>(merge.left) << 32 | static_cast<uint32_t>(merge.right);
    if (!seen.insert(pair).second) refuse(name + " repeats an earlier merge");
    file.merges.push_back(merge);
  }
}

Vocabulary read_model(const Members& model, TokenizerFile& file) {
  if (model.find("type")) model.need_type("BPE");
  for (const char* key : {"fuse_unk", "byte_fallback", "ignore_merges"}) model.need_false(key);
  for (const char* key : {"dropout", "unk_token"})
    if (model.find(key)) unsupported(model.name(key));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (model.find(key) && !model.text(key).empty()) unsupported(model.name(key));
  Vocabulary ids = read_vocabulary(model, file);
  read_merges(model, ids, file);
  return ids;
}

void read_added(const Members& root, const Vocabulary& ids, TokenizerFile& file) {
  if (!root.find("added_tokens")) return;
  std::unordered_set<std::string_view> seen;
  for (const element value : root.list("added_tokens")) {
    const Members entry(value, "added_tokens[" + std::to_string(file.added.size()) + "]");
    const std::string_view content = entry.text("content");
    if (content.empty() || content.size() > max_added_bytes)
      refuse(entry.name("content") + " is empty or longer than " + std::to_string(max_added_bytes) +
             " bytes");
    if (!seen.insert(content).second)
      refuse(entry.name("content") + " " + quoted(content) + " is there twice");
    AddedToken token{token_id(entry.need("id"), quoted(content)), std::string(content)};
    token.single_word = entry.flag("single_word");
    token.lstrip = entry.flag("lstrip");
    token.rstrip = entry.flag("rstrip");
    token.normalized = entry.flag("normalized");
    token.special = entry.flag("special");
    const auto known = ids.find(content);
    if (known == ids.end()) {
      put_token(file, token.id, token.content, content);
    } else if (known->second == token.id) {
      file.tokens[static_cast<size_t>(token.id)] = token.content;
    } else {
      refuse(entry.name("id") + " differs from the id of " + quoted(content) + " in model.vocab");
    }
    file.added.push_back(std::move(token));
  }
}

void read_pre_tokenizer(const Members& outer, TokenizerFile& file) {
  outer.need_type("Sequence");
  const array steps = outer.list("pretokenizers");
  if (steps.size() != 2) unsupported(outer.name("pretokenizers") + " of other than two steps");
  const Members split(steps.at(0).value(), "pre_tokenizer.pretokenizers[0]");
  split.need_type("Split");
  if (split.text("behavior") != "Isolated") unsupported(split.name("behavior") + " other than Isolated");
  split.need_false("invert");
  const std::string_view expression = split.inside("pattern").text("Regex");
  const auto rule = split_rule(expression);
  if (!rule) unsupported(split.name("pattern.Regex") + " " + quoted(expression));
  file.split = *rule;
  const Members bytes(steps.at(1).value(), "pre_tokenizer.pretokenizers[1]");
  bytes.need_type("ByteLevel");
  for (const char* key : {"add_prefix_space", "use_regex"}) {
    bytes.need(key);  // they are true when missing
    bytes.need_false(key);
  }
}

}  // namespace

TokenizerFile parse_tokenizer_file(std::string_view json) {
  simdjson::dom::parser parser;
  element document;
  if (const auto error = parser.parse(json.data(), json.size()).get(document))
    refuse(std::string("it is not JSON (") + simdjson::error_message(error) + "); fetch the file again");
  const Members root(document, {});
  TokenizerFile file;
  if (root.text("version") != "1.0") unsupported("version \"" + std::string(root.text("version")) + "\"");
  if (root.find("normalizer")) {
    root.inside("normalizer").need_type("NFC");
    file.nfc = true;
  }
  read_pre_tokenizer(root.inside("pre_tokenizer"), file);
  root.inside("decoder").need_type("ByteLevel");
  // ByteLevel's post-processing only moves offsets. `truncation` and `padding` are settings for batches
  // that whoever encodes chooses; here prompts are never cut or padded.
  if (root.find("post_processor")) root.inside("post_processor").need_type("ByteLevel");
  const Vocabulary ids = read_model(root.inside("model"), file);
  read_added(root, ids, file);
  return file;
}

}  // namespace lockstep::engine
