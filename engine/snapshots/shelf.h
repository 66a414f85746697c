// The books of the snapshot directory: which pages and entries there are, how many bytes, and what goes
// first.
//
// A page stays as long as something holds it: an entry or page that follows it, or a user of hold(). This
// class only keeps books; removing the files it names is for who calls it. Threads: one at a time.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/snapshots/record.h"

namespace lockstep::engine {

class Shelf {
 public:
  struct Page {
    Key before;
    uint64_t bytes;
    int holders = 0;
  };
  struct Entry {
    RecordName name;
    uint64_t bytes;
    int64_t used;     // nanoseconds since 1970
    int readers = 0;  // not thrown out while it is read
  };
  struct File {
    RecordName name;
    uint64_t bytes;
    int64_t used;
  };

  // Takes what is in a directory. The names of those that are of no use: entries without all their pages,
  // pages without an entry.
  std::vector<std::string> fill(const std::vector<File>& files);

  bool has_page(const Key& key) const { return pages_.contains(key); }
  Entry* entry(const Key& key);
  // The entries whose last full page this is.
  std::vector<Entry*> entries_at(const Key& page);
  // Whether all pages from the root up to this one are there.
  bool complete(const Key& root, Key page) const;

  void add_page(const Key& key, const Key& before, uint64_t bytes);
  void add_entry(const Entry& entry);

  // Keys that are no page (a root) may be held too.
  void hold(const Key& page);
  // Pages that nothing holds any more go; their names are added to `gone`.
  void let_go(const Key& page, std::vector<std::string>& gone);
  // Throws out the entry that was used longest ago, system prompts last. False when there is none.
  bool evict(std::vector<std::string>& gone);
  void remove_entry(const Key& key, std::vector<std::string>& gone);
  // The page and all that follows it.
  void remove_page(const Key& key, std::vector<std::string>& gone);

  uint64_t bytes() const { return bytes_; }
  const std::list<Entry>& entries() const { return entries_; }

 private:
  bool follows(Key page, const Key& other) const;

  std::unordered_map<Key, Page, KeyHash> pages_;
  std::list<Entry> entries_;
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> by_key_;
  std::unordered_multimap<Key, std::list<Entry>::iterator, KeyHash> by_page_;
  uint64_t bytes_ = 0;
};

}  // namespace lockstep::engine
