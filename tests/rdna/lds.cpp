#include "tests/rdna/lds.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/rdna/wave.h"

namespace lockstep::rdna {

namespace {

constexpr uint32_t several = 63, atomic = 62, who_mask = 63;  // beside waves 0 to 31

[[noreturn]] void race(uint32_t address, const char* what, uint32_t who, const char* earlier) {
  const uint32_t other = who & who_mask;
  throw Fault(std::string(what) + " LDS byte " + std::to_string(address) + ", which " +
              (other == several  ? "several waves"
               : other == atomic ? "an atomic operation"
                                 : "wave " + std::to_string(other)) +
              " " + earlier + " since the last barrier");
}

}  // namespace

void Lds::reset(uint32_t bytes) {
  bytes_.assign(bytes, 0);
  written_.assign(bytes, 0);
  writer_.assign(bytes, 0);
  reader_.assign(bytes, 0);
  epoch_ = 1;
}

void Lds::barrier() {
  if (++epoch_ < 1u << 26) return;
  std::fill(writer_.begin(), writer_.end(), 0);
  std::fill(reader_.begin(), reader_.end(), 0);
  epoch_ = 1;
}

void Lds::within(uint32_t address, int bytes) const {
  if (uint64_t{address} + static_cast<uint64_t>(bytes) > bytes_.size()) {
    throw Fault("touches LDS byte " + std::to_string(address) + "; there are " +
                std::to_string(bytes_.size()));
  }
}

void Lds::may_read(uint32_t address, int bytes, uint32_t own) {
  for (uint32_t a = address; a < address + static_cast<uint32_t>(bytes); ++a) {
    if (!written_[a]) throw Fault("reads LDS byte " + std::to_string(a) + ", which nobody wrote");
    if (writer_[a] >> 6 == epoch_ && writer_[a] != own) race(a, "reads", writer_[a], "wrote");
    if (reader_[a] >> 6 != epoch_) {
      reader_[a] = own;
    } else if (reader_[a] != own) {
      reader_[a] = stamp(several);
    }
  }
}

void Lds::may_write(uint32_t address, int bytes, uint32_t own) {
  for (uint32_t a = address; a < address + static_cast<uint32_t>(bytes); ++a) {
    if (writer_[a] >> 6 == epoch_ && writer_[a] != own) race(a, "writes", writer_[a], "wrote");
    if (reader_[a] >> 6 == epoch_ && reader_[a] != own) race(a, "writes", reader_[a], "read");
    writer_[a] = own;
    written_[a] = 1;
  }
}

uint32_t Lds::read(uint32_t address, int bytes, int wave) {
  within(address, bytes);
  may_read(address, bytes, stamp(wave));
  uint32_t value = 0;
  std::memcpy(&value, bytes_.data() + address, static_cast<size_t>(bytes));
  return value;
}

void Lds::write(uint32_t address, uint32_t value, int bytes, int wave) {
  within(address, bytes);
  may_write(address, bytes, stamp(wave));
  std::memcpy(bytes_.data() + address, &value, static_cast<size_t>(bytes));
}

uint32_t Lds::add(uint32_t address, uint32_t value, int wave) {
  within(address, 4);
  for (uint32_t a = address; a < address + 4; ++a) {
    if (!written_[a]) throw Fault("adds to LDS byte " + std::to_string(a) + ", which nobody wrote");
    const bool other_wrote =
        writer_[a] >> 6 == epoch_ && writer_[a] != stamp(wave) && writer_[a] != stamp(atomic);
    if (other_wrote) race(a, "adds to", writer_[a], "wrote");
    if (reader_[a] >> 6 == epoch_ && reader_[a] != stamp(wave)) race(a, "adds to", reader_[a], "read");
    writer_[a] = stamp(atomic);
  }
  uint32_t old;
  std::memcpy(&old, bytes_.data() + address, 4);
  const uint32_t sum = old + value;
  std::memcpy(bytes_.data() + address, &sum, 4);
  return old;
}

}  // namespace lockstep::rdna
