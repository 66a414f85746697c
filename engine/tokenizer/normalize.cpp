#include "engine/tokenizer/normalize.h"

#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "engine/tokenizer/characters.h"

namespace lockstep::engine {
namespace {

const UNormalizer2* composer() {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* nfc = unorm2_getNFCInstance(&status);
  if (U_FAILURE(status)) throw std::runtime_error("ICU has no normalization data; reinstall libicu");
  return nfc;
}

struct Element {
  uint32_t code;
  uint8_t order;  // canonical combining class
};

void decompose(const UNormalizer2* nfc, uint32_t code, std::vector<Element>& out) {
  const auto put = [&](UChar32 c) {
    out.push_back({static_cast<uint32_t>(c), unorm2_getCombiningClass(nfc, c)});
  };
  if (!in_nfc(code)) {
    out.push_back({code, 0});
    return;
  }
  UChar mapped[32];
  UErrorCode status = U_ZERO_ERROR;
  const int32_t length = unorm2_getDecomposition(nfc, static_cast<UChar32>(code), mapped, 32, &status);
  if (length < 0 || U_FAILURE(status)) return put(static_cast<UChar32>(code));
  for (int32_t at = 0; at < length;) {
    UChar32 c;
    U16_NEXT(mapped, at, length, c);
    put(c);
  }
}

// Stable order of each run of marks by combining class.
void reorder(std::vector<Element>& elements) {
  const auto later = [](const Element& a, const Element& b) { return a.order < b.order; };
  for (auto at = elements.begin(); at != elements.end();) {
    if (at->order == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, elements.end(), [](const Element& e) { return e.order == 0; });
    if (!std::is_sorted(at, end, later)) std::stable_sort(at, end, later);
    at = end;
  }
}

// Composes in place; `elements` are decomposed and in canonical order.
void compose(const UNormalizer2* nfc, std::vector<Element>& elements) {
  size_t kept = 0, starter = 0;
  bool has_starter = false;
  int last_order = -1;  // of what was kept after the starter; -1: nothing
  for (const Element element : elements) {
    if (has_starter && last_order < element.order) {
      const UChar32 joined = unorm2_composePair(nfc, static_cast<UChar32>(elements[starter].code),
                                                static_cast<UChar32>(element.code));
      if (joined >= 0 && in_nfc(static_cast<uint32_t>(joined))) {
        elements[starter].code = static_cast<uint32_t>(joined);
        continue;
      }
    }
    if (element.order == 0) {
      starter = kept;
      has_starter = true;
      last_order = -1;
    } else {
      last_order = element.order;
    }
    elements[kept++] = element;
  }
  elements.resize(kept);
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage, std::vector<NfcChange>& changes) {
  changes.clear();
  storage.clear();
  const CharTable& table = CharTable::get();
  const UNormalizer2* nfc = composer();
  std::vector<Element> elements;
  std::string rewritten;
  size_t copied = 0, border = 0, at = 0;  // text[0, copied) is in `storage`; the last border lies at `border`
  while (at < text.size()) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      border = at++;
      continue;
    }
    Utf8Character c = utf8_at(text, at);
    if (table.nfc_border(c.code)) {
      border = at;
      at += c.bytes;
      continue;
    }
    // A segment [border, at) that NFC may change: up to the next border.
    const size_t begin = border;
    elements.clear();
    for (size_t i = begin; i < at;) {
      const Utf8Character before = utf8_at(text, i);
      decompose(nfc, before.code, elements);
      i += before.bytes;
    }
    while (at < text.size() && !table.nfc_border((c = utf8_at(text, at)).code)) {
      decompose(nfc, c.code, elements);
      at += c.bytes;
    }
    reorder(elements);
    compose(nfc, elements);
    rewritten.clear();
    for (const Element& element : elements) append_utf8(element.code, rewritten);
    border = at;
    if (text.substr(begin, at - begin) == rewritten) continue;
    storage += text.substr(copied, begin - copied);
    changes.push_back({{begin, at}, {storage.size(), storage.size() + rewritten.size()}});
    storage += rewritten;
    copied = at;
  }
  if (changes.empty()) return text;
  storage += text.substr(copied);
  return storage;
}

}  // namespace lockstep::engine
