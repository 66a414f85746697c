// Where names live: the rules by which Jinja2 gives every block its variables.
//
// A frame is the template itself, the body of a loop, a macro, a captured or a filtered block. A name that a
// frame assigns is the frame's own; when the frame is entered it starts as the outer variable of that name,
// or as the conversation's. Reading a name from outside never copies it. Analysis happens once, at load.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

// What a slot holds when its frame is entered.
struct Load {
  enum class From { parameter, nothing, outer, variables } from = From::nothing;
  int hops = 0, slot = 0;  // outer: that many frames up
};

struct Frame {
  std::vector<std::string> names;  // of the slots
  std::vector<Load> loads;
  bool captured = false;  // a macro may outlive the frame
};

struct Reference {
  int hops = 0, slot = 0;
};

// A frame at run time.
struct Scope {
  Scope* parent = nullptr;
  std::vector<Value> slots;

  Value& at(Reference reference) {
    Scope* scope = this;
    for (int i = 0; i < reference.hops; ++i) scope = scope->parent;
    return scope->slots[static_cast<size_t>(reference.slot)];
  }
};

// Names of a frame under analysis.
class Symbols {
 public:
  Symbols(Frame& frame, Symbols* parent) : frame_(frame), parent_(parent) {}

  void load(const std::string& name);
  void store(const std::string& name);
  int parameter(const std::string& name);  // its slot

  // Branches of an if: each starts as a copy of this.
  Symbols branch() const { return *this; }
  void join(const std::vector<Symbols>& branches);

  // After the whole frame has been read.
  Reference resolve(const std::string& name) const;  // load() or store() has seen it here or further out
  void finish();
  Frame& frame() { return frame_; }
  void capture();  // this frame and those around it

 private:
  int slot(const std::string& name);
  const Symbols* owner(const std::string& name) const;  // the innermost frame that knows it

  Frame& frame_;
  Symbols* parent_;
  std::map<std::string, int> known_;
  std::map<int, Load::From> loads_;
  std::set<std::string> stores_;
};

}  // namespace lockstep::engine::language
