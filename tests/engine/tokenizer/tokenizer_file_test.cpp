#include "engine/tokenizer/tokenizer_file.h"

#include <fstream>
#include <iterator>

#include "engine/tokenizer/tokenizer.h"
#include "tests/catch.h"

namespace lockstep::engine {
namespace {

const std::filesystem::path source = LOCKSTEP_SOURCE_DIR;

const std::string& tiny_json() {
  static const std::string json = [] {
    std::ifstream stream(source / "tests/data/tiny-dense/tokenizer.json");
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  }();
  return json;
}

// The tiny model's tokenizer.json with the first `from` after `anchor` replaced.
std::string edited(std::string_view anchor, std::string_view from, std::string_view to) {
  std::string json = tiny_json();
  const size_t begin = json.find(anchor);
  REQUIRE(begin != json.npos);
  const size_t at = json.find(from, begin);
  REQUIRE(at != json.npos);
  return json.replace(at, from.size(), to);
}

std::string refusal(std::string_view json) {
  try {
    Tokenizer::parse(json);
  } catch (const TokenizerError& error) {
    return error.what();
  }
  return "accepted";
}

struct Edit {
  const char *anchor, *from, *to, *says;
};

TEST_CASE("F42 an unknown pre-tokenizer, and whatever else is not supported, is refused by name") {
  const Edit edit = GENERATE(
      Edit{"pretokenizers", "(?i:'s", "(?i:'z", "pre_tokenizer.pretokenizers[0].pattern.Regex"},
      Edit{"pretokenizers", "\\\\p{N}| ?", "\\\\p{N}{1,3}| ?",
           "pre_tokenizer.pretokenizers[0].pattern.Regex"},
      Edit{"pretokenizers", "Isolated", "Removed", "pre_tokenizer.pretokenizers[0].behavior"},
      Edit{"pretokenizers", "\"invert\": false", "\"invert\": true", "pre_tokenizer.pretokenizers[0].invert"},
      Edit{"pretokenizers", "\"type\": \"Split\"", "\"type\": \"Digits\"",
           "pre_tokenizer.pretokenizers[0].type"},
      Edit{"pretokenizers", "\"use_regex\": false", "\"use_regex\": true",
           "pre_tokenizer.pretokenizers[1].use_regex"},
      Edit{"pretokenizers", "\"use_regex\": false", "\"unused\": false",
           "pre_tokenizer.pretokenizers[1].use_regex"},
      Edit{"pretokenizers", "\"add_prefix_space\": false", "\"add_prefix_space\": true",
           "pre_tokenizer.pretokenizers[1].add_prefix_space"},
      Edit{"pre_tokenizer", "\"type\": \"Sequence\"", "\"type\": \"Whitespace\"", "pre_tokenizer.type"},
      Edit{"\"pre_tokenizer\"", "pre_tokenizer", "unused", "pre_tokenizer is missing"},
      Edit{"normalizer", "NFC", "NFKC", "normalizer.type \"NFKC\""},
      Edit{"\"decoder\"", "ByteLevel", "Metaspace", "decoder.type"},
      Edit{"post_processor", "null", R"({"type": "TemplateProcessing"})", "post_processor.type"},
      Edit{"\"model\"", "BPE", "Unigram", "model.type"},
      Edit{"\"model\"", "\"byte_fallback\": false", "\"byte_fallback\": true", "model.byte_fallback"},
      Edit{"\"model\"", "\"ignore_merges\": false", "\"ignore_merges\": true", "model.ignore_merges"},
      Edit{"\"model\"", "\"fuse_unk\": false", "\"fuse_unk\": true", "model.fuse_unk"},
      Edit{"\"model\"", "\"dropout\": null", "\"dropout\": 0.1", "model.dropout"},
      Edit{"\"model\"", "\"unk_token\": null", "\"unk_token\": \"?\"", "model.unk_token"},
      Edit{"\"model\"", "\"end_of_word_suffix\": null", "\"end_of_word_suffix\": \"</w>\"",
           "model.end_of_word_suffix"},
      Edit{"version", "1.0", "2.0", "version"});
  const std::string what = refusal(edited(edit.anchor, edit.from, edit.to));
  CAPTURE(what, edit.to);
  CHECK(what.find(edit.says) != what.npos);
}

TEST_CASE("a damaged tokenizer.json is refused by name") {
  const Edit edit = GENERATE(
      Edit{"\"vocab\"", "\"#\": 2", "\"#\": 1", "two tokens have the id 1"},
      Edit{"\"vocab\"", "\"#\": 2", "\"#\": -2", "the id of model.vocab's \"#\""},
      Edit{"\"vocab\"", "\"#\": 2", "\"#\": 4194304", "the id of model.vocab's \"#\""},
      Edit{"\"vocab\"", "\"#\": 2", "\"#\": 2.5", "the id of model.vocab's \"#\""},
      Edit{"\"vocab\"", "\"#\": 2", "\"!\": 2", "\"!\" twice"},
      Edit{"\"vocab\"", "\"#\": 2", "\"\": 2", "without characters"},
      Edit{"\"vocab\"", "\"#\": 2", "\"##\": 2", "no token for the byte 35"},
      Edit{"\"merges\"", "[", "[[\"!\", \"\\\"\"], ", "which is not in model.vocab"},
      Edit{"\"merges\"", "[", "[7, ", "model.merges[0]"},
      Edit{"\"merges\"", "[", "[[\"!\"], ", "model.merges[0]"},
      Edit{"\"merges\"", "[", "[\"a b c\", ", "model.merges[0]"},
      Edit{"\"merges\"", "[", "[\"\\u0120 t\", ", "model.merges[1] repeats"},
      Edit{"added_tokens", "\"id\": 2040", "\"id\": 2039", "two tokens have the id 2039"},
      Edit{"added_tokens", "\"content\": \"<|im_start|>\"", "\"content\": \"\"", "added_tokens[1].content"},
      Edit{"added_tokens", "\"content\": \"<|im_start|>\"", "\"content\": \"<|endoftext|>\"", "there twice"},
      Edit{"added_tokens", "\"content\": \"<|im_start|>\"", "\"content\": \"!\"",
           "added_tokens[1].id differs"},
      Edit{"added_tokens", "\"lstrip\": false", "\"lstrip\": 0", "added_tokens[0].lstrip"});
  const std::string what = refusal(edited(edit.anchor, edit.from, edit.to));
  CAPTURE(what, edit.to);
  CHECK(what.find(edit.says) != what.npos);
}

TEST_CASE("what is no tokenizer.json at all is refused") {
  CHECK(refusal("").find("not JSON") != std::string::npos);
  CHECK(refusal(std::string_view(tiny_json()).substr(0, 5000)).find("not JSON") != std::string::npos);
  CHECK(refusal("[]").find("not an object") != std::string::npos);
  CHECK(refusal("{}").find("version is missing") != std::string::npos);
  try {
    Tokenizer::load("/nonexistent");
    FAIL("accepted");
  } catch (const TokenizerError& error) {
    CHECK(std::string(error.what()).find("/nonexistent/tokenizer.json") != std::string::npos);
  }
}

TEST_CASE("merges may be strings, normalizer and added tokens may be missing") {
  std::string json = tiny_json();
  // ["a", "b"] -> "a b": no token of the byte-level alphabet has a blank or an unescaped quote.
  const size_t begin = json.find('[', json.find("\"merges\"")) + 1;
  std::string merges;
  bool pair = false, quotes = false;
  for (size_t at = begin; at < json.size(); ++at) {
    const char c = json[at];
    if (quotes) {
      merges += c == '"' ? std::string_view() : std::string_view(&json[at], 1);
      if (c == '\\') merges += json[++at];
      quotes = c != '"';
    } else if (c == '"') {
      quotes = true;
    } else if (c == '[' || (c == ']' && pair)) {
      merges += '"';
      pair = c == '[';
    } else if (c == ']') {
      json.replace(begin, at - begin, merges);
      break;
    } else if (c == ',') {
      merges += pair ? ' ' : ',';
    }
  }
  const std::string text = "Which package serves \"files\" over HTTP? \\n <think> naïve 你好";
  const Tokenizer tokenizer = Tokenizer::load(source / "tests/data/tiny-dense");
  CHECK(Tokenizer::parse(json).encode(text, true) == tokenizer.encode(text, true));

  const TokenizerFile plain = parse_tokenizer_file(edited("\"normalizer\"", "normalizer", "unused"));
  CHECK_FALSE(plain.nfc);
  CHECK(plain.added.size() == 9);
  CHECK(Tokenizer::parse(edited("\"normalizer\"", "normalizer", "unused")).encode("\u212B", false) !=
        tokenizer.encode("\u212B", false));
  const Tokenizer none = Tokenizer::parse(edited("\"added_tokens\"", "added_tokens", "unused"));
  CHECK(none.size() == 2039);
  CHECK_FALSE(none.id("<think>"));
}

TEST_CASE("tokens tell their bytes and kind") {
  const Tokenizer tokenizer = Tokenizer::load(source / "packaging/starter");
  CHECK(tokenizer.size() == 16384);
  CHECK(tokenizer.bytes(0) == "!");
  CHECK(tokenizer.bytes(6517) == "Hello");
  CHECK(tokenizer.bytes(3890) == " world");
  CHECK(tokenizer.bytes(16376) == "<|im_start|>");
  CHECK(tokenizer.bytes(-1).empty());
  CHECK(tokenizer.bytes(16384).empty());
  CHECK(tokenizer.special(16376));
  CHECK_FALSE(tokenizer.special(16378));
  CHECK_FALSE(tokenizer.special(0));
  CHECK_FALSE(tokenizer.special(-1));
  CHECK_FALSE(tokenizer.special(16384));
  CHECK(tokenizer.id("<think>") == 16378);
  CHECK_FALSE(tokenizer.id("Hello"));
  const std::vector<int32_t> ids{16376, 6517, -5, 99999, 16378};
  CHECK(tokenizer.decode(ids, true) == "Hello<think>");
  CHECK(tokenizer.decode(ids, false) == "<|im_start|>Hello<think>");
}

}  // namespace
}  // namespace lockstep::engine
