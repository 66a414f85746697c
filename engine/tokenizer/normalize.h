// Unicode normalization form C (UAX #15), of the characters of Unicode 9.0 (in_nfc() of characters.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

// Bytes [begin, end) of some text.
struct ByteRange {
  size_t begin, end;
};

// A part of a text that normalization rewrote; what lies between such parts is unchanged.
struct NfcChange {
  ByteRange before, after;
};

// NFC of valid UTF-8 in O(n log n) time and constant stack, however long its runs of combining marks.
// Returns `text` itself when it is NFC already, else a view of `storage`. `changes` gets the rewritten parts
// in order.
std::string_view to_nfc(std::string_view text, std::string& storage, std::vector<NfcChange>& changes);

}  // namespace lockstep::engine
