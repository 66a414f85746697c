// Which KV pages are free.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::engine {

class PagePool {
 public:
  explicit PagePool(int pages) {
    for (int page = pages - 1; page >= 0; --page) free_.push_back(page);
  }
  int available() const { return static_cast<int>(free_.size()); }
  // A page; available() must not be 0.
  int32_t take() {
    const int32_t page = free_.back();
    free_.pop_back();
    return page;
  }
  void give_back(std::vector<int32_t>& pages) {
    free_.insert(free_.end(), pages.rbegin(), pages.rend());
    pages.clear();
  }

 private:
  std::vector<int32_t> free_;
};

}  // namespace lockstep::engine
