#include "engine/snapshots/shelf.h"

#include <algorithm>
#include <tuple>

#include "kernels/kernels.h"

namespace lockstep::engine {
namespace {

std::string page_name(const Key& key, const Shelf::Page& page) {
  return file_name({Record::Kind::page, key, page.before, 0, false, ""});
}

}  // namespace

std::vector<std::string> Shelf::fill(const std::vector<File>& files) {
  std::vector<std::string> useless;
  for (const File& file : files) {
    const Key& key = file.name.key;
    if (file.name.kind != Record::Kind::page) continue;
    if (!pages_.try_emplace(key, Page{file.name.before, file.bytes}).second) {
      useless.push_back(file_name(file.name));
      continue;
    }
    bytes_ += file.bytes;
  }
  for (const auto& [key, page] : pages_) hold(page.before);
  for (const File& file : files) {
    if (file.name.kind != Record::Kind::entry) continue;
    // The chain back to the root has exactly the pages that the length asks for.
    int left = file.name.length / kernels::page_positions;
    auto at = pages_.find(file.name.before);
    for (; left > 0 && at != pages_.end(); --left) at = pages_.find(at->second.before);
    if (left > 0 || at != pages_.end() || by_key_.contains(file.name.key))
      useless.push_back(file_name(file.name));
    else
      add_entry({file.name, file.bytes, file.used});
  }
  std::vector<Key> loose;
  for (const auto& [key, page] : pages_)
    if (page.holders == 0) loose.push_back(key);
  for (const Key& key : loose) {
    hold(key);
    let_go(key, useless);
  }
  return useless;
}

Shelf::Entry* Shelf::entry(const Key& key) {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? nullptr : &*at->second;
}

std::vector<Shelf::Entry*> Shelf::entries_at(const Key& page) {
  std::vector<Entry*> found;
  const auto [first, last] = by_page_.equal_range(page);
  for (auto at = first; at != last; ++at) found.push_back(&*at->second);
  return found;
}

bool Shelf::complete(const Key& root, Key page) const {
  while (page != root) {
    const auto at = pages_.find(page);
    if (at == pages_.end()) return false;
    page = at->second.before;
  }
  return true;
}

void Shelf::add_page(const Key& key, const Key& before, uint64_t bytes) {
  pages_[key] = {before, bytes, 0};
  bytes_ += bytes;
  hold(before);
}

void Shelf::add_entry(const Entry& entry) {
  entries_.push_back(entry);
  by_key_[entry.name.key] = std::prev(entries_.end());
  by_page_.emplace(entry.name.before, std::prev(entries_.end()));
  bytes_ += entry.bytes;
  hold(entry.name.before);
}

void Shelf::hold(const Key& page) {
  if (const auto at = pages_.find(page); at != pages_.end()) ++at->second.holders;
}

void Shelf::let_go(const Key& page, std::vector<std::string>& gone) {
  for (auto at = pages_.find(page); at != pages_.end() && --at->second.holders <= 0;) {
    const Key before = at->second.before;
    gone.push_back(page_name(at->first, at->second));
    bytes_ -= at->second.bytes;
    pages_.erase(at);
    at = pages_.find(before);
  }
}

bool Shelf::evict(std::vector<std::string>& gone) {
  const auto sooner = [](const Entry& a, const Entry& b) {
    return std::tuple(a.readers > 0, a.name.system, a.used) <
           std::tuple(b.readers > 0, b.name.system, b.used);
  };
  const auto victim = std::ranges::min_element(entries_, sooner);
  if (victim == entries_.end() || victim->readers > 0) return false;
  remove_entry(Key(victim->name.key), gone);
  return true;
}

void Shelf::remove_entry(const Key& key, std::vector<std::string>& gone) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  const auto at = found->second;
  by_key_.erase(found);
  const auto [first, last] = by_page_.equal_range(at->name.before);
  by_page_.erase(std::find_if(first, last, [&](const auto& item) { return item.second == at; }));
  gone.push_back(file_name(at->name));
  bytes_ -= at->bytes;
  const Key before = at->name.before;
  entries_.erase(at);
  let_go(before, gone);
}

bool Shelf::follows(Key page, const Key& other) const {
  while (page != other) {
    const auto at = pages_.find(page);
    if (at == pages_.end()) return false;
    page = at->second.before;
  }
  return true;
}

void Shelf::remove_page(const Key& key, std::vector<std::string>& gone) {
  std::vector<Key> keys;
  for (const Entry& entry : entries_)
    if (follows(entry.name.before, key)) keys.push_back(entry.name.key);
  for (const Key& entry : keys) remove_entry(entry, gone);
  // Pages on their way to the disk may hold it still: they will find that it is not there.
  const auto at = pages_.find(key);
  if (at == pages_.end()) return;
  const Key before = at->second.before;
  gone.push_back(page_name(at->first, at->second));
  bytes_ -= at->second.bytes;
  pages_.erase(at);
  let_go(before, gone);
}

}  // namespace lockstep::engine
