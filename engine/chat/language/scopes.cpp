#include "engine/chat/language/scopes.h"

#include <algorithm>

namespace lockstep::engine::language {

int Symbols::slot(const std::string& name) {
  const auto found = std::find(frame_.names.begin(), frame_.names.end(), name);
  if (found != frame_.names.end()) return static_cast<int>(found - frame_.names.begin());
  frame_.names.push_back(name);
  return static_cast<int>(frame_.names.size()) - 1;
}

const Symbols* Symbols::owner(const std::string& name) const {
  for (const Symbols* at = this; at; at = at->parent_)
    if (at->known_.count(name)) return at;
  return nullptr;
}

void Symbols::load(const std::string& name) {
  if (owner(name)) return;
  known_[name] = slot(name);
  loads_[known_[name]] = Load::From::variables;
}

void Symbols::store(const std::string& name) {
  stores_.insert(name);
  if (known_.count(name)) return;
  const bool outside = parent_ && parent_->owner(name);
  known_[name] = slot(name);
  loads_[known_[name]] = outside ? Load::From::outer : Load::From::nothing;
}

int Symbols::parameter(const std::string& name) {
  stores_.insert(name);
  known_[name] = slot(name);
  loads_[known_[name]] = Load::From::parameter;
  return known_[name];
}

void Symbols::join(const std::vector<Symbols>& branches) {
  std::map<std::string, size_t> counts;
  for (const Symbols& branch : branches)
    for (const std::string& name : branch.stores_)
      if (!stores_.count(name)) ++counts[name];
  for (const Symbols& branch : branches) {
    for (const auto& [name, at] : branch.known_) known_[name] = at;
    for (const auto& [at, from] : branch.loads_) loads_[at] = from;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  // What not every branch assigns keeps its value from outside.
  for (const auto& [name, count] : counts) {
    if (count == branches.size()) continue;
    const bool outside = parent_ && parent_->owner(name);
    loads_[known_.at(name)] = outside ? Load::From::outer : Load::From::variables;
  }
}

Reference Symbols::resolve(const std::string& name) const {
  Reference reference;
  for (const Symbols* at = this; at; at = at->parent_, ++reference.hops)
    if (const auto found = at->known_.find(name); found != at->known_.end()) {
      reference.slot = found->second;
      return reference;
    }
  throw Fault("a name was not analysed: " + name);
}

void Symbols::finish() {
  frame_.loads.assign(frame_.names.size(), Load{});
  for (const auto& [at, from] : loads_) {
    Load& load = frame_.loads[static_cast<size_t>(at)];
    load.from = from;
    if (from != Load::From::outer) continue;
    const Reference outer = parent_->resolve(frame_.names[static_cast<size_t>(at)]);
    load.hops = outer.hops + 1;
    load.slot = outer.slot;
  }
}

void Symbols::capture() {
  for (Symbols* at = this; at; at = at->parent_) at->frame_.captured = true;
}

}  // namespace lockstep::engine::language
