// A workgroup's LDS, and which wave touched which byte since the last barrier.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::rdna {

class Lds {
 public:
  // Nothing of it counts as written.
  void reset(uint32_t bytes);
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }

  // Each throws Fault: outside of the LDS, bytes nobody wrote, or bytes that another wave touched without a
  // barrier between, one of both writing. Atomics do not race with each other.
  uint32_t read(uint32_t address, int bytes, int wave);
  void write(uint32_t address, uint32_t value, int bytes, int wave);
  uint32_t add(uint32_t address, uint32_t value, int wave);  // gives what was there before

  // All waves came to a barrier.
  void barrier();

 private:
  void within(uint32_t address, int bytes) const;
  void may_read(uint32_t address, int bytes, uint32_t stamp);
  void may_write(uint32_t address, int bytes, uint32_t stamp);

  // A stamp is a time between barriers and who: a wave, several waves, or an atomic of any wave.
  uint32_t stamp(int who) const { return epoch_ << 6 | static_cast<uint32_t>(who); }

  std::vector<uint8_t> bytes_, written_;
  std::vector<uint32_t> writer_, reader_;  // stamps, one a byte
  uint32_t epoch_ = 1;
};

}  // namespace lockstep::rdna
