// States and pages as a whole, every layer's part in turn: made ready, and as bytes in host memory, which
// only who wrote them can read.
#include <stdexcept>

#include "engine/models/forward.h"

namespace lockstep::engine {
namespace {

// The parts that were moved must be all there is.
void expect(uint64_t moved, uint64_t all) {
  if (moved != all) throw std::logic_error("a part of a state or page was left out");
}

}  // namespace

template <class Part>
void Forward::each_state_part(int slot, const Part& part) const {
  const auto floats = [&](const std::vector<DeviceArray<float>>& layers, size_t one) {
    for (const auto& states : layers) part(states.data() + slot * one, one * sizeof(float));
  };
  floats(conv_states_, conv_state());
  floats(delta_states_, delta_state());
}

template <class Part>
void Forward::each_page_part(int32_t page, const Part& part) const {
  const size_t one = device_.kv_page_bytes(config_.key_heads, config_.head_dim);
  for (const auto& pages : pages_) part(pages.data() + page * one, one);
}

// In each layer slots, and pages, lie one after the other.
void Forward::prepare_states(int first, int count) {
  each_state_part(first, [&](void* part, size_t bytes) { device_.prepare(part, count * bytes); });
}

void Forward::prepare_pages(int first, int count) {
  each_page_part(first, [&](void* part, size_t bytes) { device_.prepare(part, count * bytes); });
}

void Forward::read_state(int slot, std::byte* host) {
  catch_up();
  std::byte* at = host;
  each_state_part(slot, [&](const void* from, size_t bytes) {
    device_.download(at, from, bytes);
    at += bytes;
  });
  expect(at - host, state_bytes());
}

void Forward::write_state(int slot, const std::byte* host) {
  catch_up();
  const std::byte* at = host;
  each_state_part(slot, [&](void* to, size_t bytes) {
    device_.upload(to, at, bytes);
    at += bytes;
  });
  device_.wait();
  expect(at - host, state_bytes());
}

void Forward::read_page(int32_t page, std::byte* host) const {
  std::byte* at = host;
  each_page_part(page, [&](const void* from, size_t bytes) {
    device_.download(at, from, bytes);
    at += bytes;
  });
  expect(at - host, page_bytes());
}

void Forward::write_page(int32_t page, const std::byte* host) {
  const std::byte* at = host;
  each_page_part(page, [&](void* to, size_t bytes) {
    device_.upload(to, at, bytes);
    at += bytes;
  });
  device_.wait();
  expect(at - host, page_bytes());
}

}  // namespace lockstep::engine
