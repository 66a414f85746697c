// Carries pages and states between the device and the snapshot store, a few pages a turn.
//
// Full pages never change while something holds them, so a save holds its pages and sends them as the store
// has room; the state, and the page that is not full, are copied at once. Threads: the engine's.
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "engine/memory/page_pool.h"
#include "engine/models/forward.h"
#include "engine/snapshots/store.h"

namespace lockstep::engine {

class Courier {
 public:
  Courier(SnapshotStore& store, Forward& forward, PagePool& pages)
      : store_(store), forward_(forward), pages_(pages) {}

  // What the model knows after `tokens`, if the store wants it.
  void send(std::span<const int32_t> tokens, std::span<const int32_t> pages, int slot, bool system);
  // Goes on with what is being sent.
  void turn();
  bool sending() const { return !parcels_.empty(); }
  // Gives up a save and gives its pages back. False when there is none.
  bool drop();

  // Goes on with a load: fills the pages from `next` on and, when all is there, the slot.
  enum class Arrival { coming, here, failed };
  Arrival receive(SnapshotLoad& load, std::span<const int32_t> pages, int& next, int slot);

 private:
  struct Parcel {
    std::shared_ptr<SnapshotSave> save;
    std::vector<int32_t> pages;  // full ones that are still to be sent, last first
    HostBuffer state;
  };
  SnapshotStore& store_;
  Forward& forward_;
  PagePool& pages_;
  std::deque<Parcel> parcels_;
};

// Says how this device lays out pages and states: its name, and a hash of what they hold after a few tokens.
// Those bytes follow from the weights and the canon, so they differ only where the layout does. Uses slot 0
// and page 0; `most_rows` at a time.
std::string layout_of(const kernels::Device& device, Forward& forward, int vocabulary, int most_rows);

}  // namespace lockstep::engine
