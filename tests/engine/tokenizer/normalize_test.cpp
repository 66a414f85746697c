// NFC and character kinds against ICU's own.
#include "engine/tokenizer/normalize.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <random>

#include "engine/tokenizer/characters.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/catch.h"

namespace lockstep::engine {
namespace {

// ICU's NFC of the characters of Unicode 9.0.
class Oracle {
 public:
  Oracle()
      : known_(icu::UnicodeString("[:age=9.0:]"), status_),
        nfc_(*icu::Normalizer2::getNFCInstance(status_), known_) {
    REQUIRE(U_SUCCESS(status_));
  }
  std::string operator()(std::string_view text) {
    const auto in = icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())});
    std::string out;
    static_cast<const icu::Normalizer2&>(nfc_).normalize(in, status_).toUTF8String(out);
    REQUIRE(U_SUCCESS(status_));
    return out;
  }

 private:
  UErrorCode status_ = U_ZERO_ERROR;
  icu::UnicodeSet known_;
  icu::FilteredNormalizer2 nfc_;
};

uint32_t any_code(std::mt19937& random) {
  while (true) {
    static constexpr std::pair<uint32_t, uint32_t> blocks[] = {
        {0x00, 0x7F},     {0x20, 0x24F},   {0x300, 0x36F},     {0x370, 0x5FF},
        {0x900, 0xDFF},   {0xF00, 0x1FFF}, {0x1100, 0x11FF},   {0xAC00, 0xD7A3},
        {0xF900, 0xFB4F}, {0x0, 0xFFFF},   {0x10000, 0x11FFF}, {0x1D100, 0x1D1FF},
        {0x0, 0x10FFFF},  {0x300, 0x345},  {0x591, 0x5C7},     {0x2F800, 0x2FA1F}};
    const auto [first, last] = blocks[random() % std::size(blocks)];
    const uint32_t code = first + static_cast<uint32_t>(random() % (last - first + 1));
    if (code < 0xD800 || code > 0xDFFF) return code;
  }
}

std::string any_text(std::mt19937& random, size_t most) {
  std::string text;
  for (size_t n = random() % (most + 1); n > 0; --n) append_utf8(any_code(random), text);
  return text;
}

TEST_CASE("F43 NFC equals ICU's, for every character and for random texts") {
  Oracle oracle;
  std::string storage;
  std::vector<NfcChange> changes;
  size_t differ = 0;
  for (uint32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(code, text);
    differ += to_nfc(text, storage, changes) != oracle(text);
  }
  CHECK(differ == 0);

  const uint32_t seed = 43;
  CAPTURE(seed);
  std::mt19937 random(seed);
  size_t changed = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = any_text(random, 12);
    if (round % 50 == 0)  // a long run of marks
      for (int n = 0; n < 60; ++n) append_utf8(0x300 + static_cast<uint32_t>(random() % 0x50), text);
    const std::string_view normal = to_nfc(text, storage, changes);
    REQUIRE(normal == oracle(text));
    // The changes tell all that is different.
    std::string rebuilt;
    size_t at = 0;
    for (const NfcChange& change : changes) {
      rebuilt += text.substr(at, change.before.begin - at);
      REQUIRE(rebuilt.size() == change.after.begin);
      rebuilt += normal.substr(change.after.begin, change.after.end - change.after.begin);
      at = change.before.end;
    }
    rebuilt += text.substr(at);
    REQUIRE(rebuilt == normal);
    changed += !changes.empty();
  }
  CHECK(changed > 10000);
}

TEST_CASE("F43 texts that NFC changes") {
  std::string storage;
  std::vector<NfcChange> changes;
  CHECK(to_nfc("e\u0301", storage, changes) == "é");
  CHECK(to_nfc("\u212B", storage, changes) == "\u00C5");
  CHECK(to_nfc("\u1100\u1161\u11A8", storage, changes) == "\uAC01");
  CHECK(to_nfc("x a\u0301\u0323 y", storage, changes) == "x \u1EA1\u0301 y");
  CHECK(to_nfc("\U00011935\U00011930", storage, changes) == "\U00011935\U00011930");  // of Unicode 13
}

TEST_CASE("F42 kinds of characters are those of Unicode 16.0") {
  const CharTable& table = CharTable::get();
  size_t letters = 0, marks = 0, numbers = 0, blanks = 0, differ = 0;
  for (uint32_t code = 0; code < 0x110000; ++code) {
    const CharKind kind = table.kind(code);
    letters += kind == CharKind::letter;
    marks += kind == CharKind::mark;
    numbers += kind == CharKind::number;
    blanks += kind == CharKind::space || kind == CharKind::newline;
    const auto c = static_cast<UChar32>(code);
    const uint32_t category = U_GET_GC_MASK(c);
    if ((category & U_GC_L_MASK) != 0 && kind != CharKind::letter) ++differ;
    if ((category & U_GC_M_MASK) != 0 && kind != CharKind::mark) ++differ;
    if ((category & U_GC_N_MASK) != 0 && kind != CharKind::number) ++differ;
  }
  // What Hugging Face's tokenizers 0.22.2 matches by \p{L}, \p{M}, \p{N} and \s.
  CHECK(letters == 141028);
  CHECK(marks == 2501);
  CHECK(numbers == 1911);
  CHECK(blanks == 25);
  if (std::string_view(U_UNICODE_VERSION) <= "16.0") CHECK(differ == 0);
}

TEST_CASE("F46 detokenizing what was tokenized gives NFC of the text") {
  const auto* const model = GENERATE("packaging/starter", "tests/data/tiny-dense");
  const Tokenizer tokenizer = Tokenizer::load(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / model);
  Oracle oracle;
  const uint32_t seed = 46;
  CAPTURE(model, seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50000; ++round) {
    const std::string text = any_text(random, 20);
    const std::string again = tokenizer.decode(tokenizer.encode(text, false), false);
    if (again != oracle(text)) {
      CAPTURE(round, text);
      REQUIRE(again == oracle(text));
    }
  }
}

}  // namespace
}  // namespace lockstep::engine
