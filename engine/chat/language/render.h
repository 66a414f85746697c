// One rendering under way: output, limits and the objects it owns.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/chat/language/scopes.h"
#include "engine/chat/language/value.h"

namespace lockstep::engine::language {

class Render {
 public:
  explicit Render(const Dict& variables) : variables_(variables) {}

  Meter meter;
  int line = 0;  // of what runs, for messages

  void write(const Value& value);
  void write(const Text& text);
  Text* output = nullptr;

  // A frame's scope for as long as this object lives, or, if a macro captures it, as long as the render.
  class Entered {
   public:
    Entered(Render& render, const Frame& frame, Scope& parent);
    Scope& operator*() { return *scope_; }

   private:
    Scope own_;
    Scope* scope_ = &own_;
  };
  void fill(const Frame& frame, Scope& scope);  // slots as they are when the frame is entered

  template <class T, class... Rest>
  T* make(Rest&&... rest) {
    meter.charge(sizeof(T) + 64);
    auto object = std::make_unique<T>(std::forward<Rest>(rest)...);
    T* raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }

  // What runs inside what; Fault past max_levels.
  class Level {
   public:
    explicit Level(Render& render) : render_(render) {
      if (++render_.levels_ > max_levels)
        throw Fault("blocks, expressions or macro calls are nested too deep");
    }
    ~Level() { --render_.levels_; }
    Level(const Level&) = delete;

   private:
    Render& render_;
  };

 private:
  const Dict& variables_;
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  int levels_ = 0;
};

// Redirects what is written into a text of its own.
class Capture {
 public:
  explicit Capture(Render& render) : render_(render), before_(std::exchange(render.output, &text_)) {}
  ~Capture() { render_.output = before_; }
  Capture(const Capture&) = delete;
  Text take() { return std::move(text_); }

 private:
  Render& render_;
  Text text_;
  Text* before_;
};

}  // namespace lockstep::engine::language
