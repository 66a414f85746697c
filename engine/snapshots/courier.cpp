#include "engine/snapshots/courier.h"

#include <algorithm>
#include <new>

#include "engine/files/fingerprint.h"

namespace lockstep::engine {
namespace {

constexpr int pages_a_turn = 16;

}  // namespace

void Courier::send(std::span<const int32_t> tokens, std::span<const int32_t> pages, int slot, bool system) {
  const auto save = store_.save(tokens, system);
  if (!save) return;
  Parcel parcel{save, {}, {}};
  try {
    parcel.state = HostBuffer(store_.payload_bytes(static_cast<int>(tokens.size())));
  } catch (const std::bad_alloc&) {
    return store_.abandon(save);
  }
  forward_.read_state(slot, parcel.state.data());
  if (parcel.state.size() > forward_.state_bytes())
    forward_.read_page(pages.back(), parcel.state.data() + forward_.state_bytes());
  const auto missing = pages.first(save->pages.size()).subspan(save->next);
  pages_.share(missing);
  parcel.pages.assign(missing.rbegin(), missing.rend());
  parcels_.push_back(std::move(parcel));
}

void Courier::turn() {
  for (int sent = 0; !parcels_.empty(); parcels_.pop_front()) {
    Parcel& parcel = parcels_.front();
    for (; !parcel.pages.empty(); ++sent) {
      if (sent == pages_a_turn || !store_.room()) return;
      HostBuffer page;
      try {
        page = HostBuffer(forward_.page_bytes());
      } catch (const std::bad_alloc&) {
        drop();
        return;
      }
      forward_.read_page(parcel.pages.back(), page.data());
      store_.send_page(parcel.save, std::move(page));
      std::vector<int32_t> done = {parcel.pages.back()};
      parcel.pages.pop_back();
      pages_.give_back(done);
    }
    store_.send_entry(parcel.save, std::move(parcel.state));
  }
}

bool Courier::drop() {
  if (parcels_.empty()) return false;
  pages_.give_back(parcels_.front().pages);
  store_.abandon(parcels_.front().save);
  parcels_.pop_front();
  return true;
}

Courier::Arrival Courier::receive(SnapshotLoad& load, std::span<const int32_t> pages, int& next, int slot) {
  const int full = static_cast<int>(load.prefix.pages.size());
  for (int received = 0; received < pages_a_turn; ++received) {
    const bool failed = store_.failed(load);
    const std::optional<HostBuffer> buffer = store_.take(load);
    if (!buffer) return failed ? Arrival::failed : Arrival::coming;
    if (next < full) {
      forward_.write_page(pages[next++], buffer->data());
      continue;
    }
    forward_.write_state(slot, buffer->data());
    if (buffer->size() > forward_.state_bytes())
      forward_.write_page(pages[full], buffer->data() + forward_.state_bytes());
    return Arrival::here;
  }
  return Arrival::coming;
}

std::string layout_of(const kernels::Device& device, Forward& forward, int vocabulary, int most_rows) {
  constexpr int probe = 17;  // more than 16, the widest tile
  const std::vector<int32_t> page = {0};
  for (int done = 0; done < probe;) {
    const int rows = std::min(most_rows, probe - done);
    std::vector<int32_t> tokens(rows);
    for (int i = 0; i < rows; ++i) tokens[i] = static_cast<int32_t>((done + i + 1) * 7919LL % vocabulary);
    Batch batch;
    batch.add(tokens, done, page, 0);
    forward.run(batch);
    done += rows;
  }
  std::string bytes(forward.page_bytes() + forward.state_bytes(), '\0');
  forward.read_page(0, reinterpret_cast<std::byte*>(bytes.data()));
  forward.read_state(0, reinterpret_cast<std::byte*>(bytes.data() + forward.page_bytes()));
  return std::string(device.name()) + " " + sha256(bytes);
}

}  // namespace lockstep::engine
