// Which KV pages are free, and how many hold each of the others: lanes and cache entries share pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::engine {

class PagePool {
 public:
  explicit PagePool(int pages) : holders_(pages, 0) {
    for (int page = pages - 1; page >= 0; --page) free_.push_back(page);
  }
  int size() const { return static_cast<int>(holders_.size()); }
  int available() const { return static_cast<int>(free_.size()); }
  int touched() const { return touched_; }  // pages that were ever taken: those before this one
  // A page with one holder; available() must not be 0.
  int32_t take() {
    const int32_t page = free_.back();
    free_.pop_back();
    holders_[page] = 1;
    touched_ = std::max(touched_, page + 1);
    return page;
  }
  // One holder more for each page.
  void share(std::span<const int32_t> pages) {
    for (int32_t page : pages) ++holders_[page];
  }
  // One holder less for each page; those without any are free.
  void give_back(std::vector<int32_t>& pages) {
    for (auto page = pages.rbegin(); page != pages.rend(); ++page)
      if (--holders_[*page] == 0) free_.push_back(*page);
    pages.clear();
  }

 private:
  std::vector<int32_t> free_;
  std::vector<int> holders_;  // [pages]
  int touched_ = 0;
};

}  // namespace lockstep::engine
