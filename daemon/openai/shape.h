// The shape that an endpoint gives its replies, whole or streamed. A shape belongs to one request; choices
// are numbered from 0. I/O thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/json/value.h"
#include "daemon/openai/error.h"
#include "engine/engine.h"

namespace lockstep::daemon::openai {

// A server-sent event; without a name it is only data.
struct StreamEvent {
  std::string_view name;
  json::Value data;
};
using StreamEvents = std::vector<StreamEvent>;

class WholeShape {
 public:
  virtual ~WholeShape() = default;
  virtual void add(int choice, engine::Delta&& delta) = 0;
  virtual void finish(int choice, engine::Reply&& reply) = 0;
  virtual json::Value body() = 0;  // once every choice is finished
};

class StreamShape {
 public:
  virtual ~StreamShape() = default;
  // With the first sign that the request is worked on.
  virtual void open(StreamEvents& out) = 0;
  virtual void add(int choice, engine::Delta&& delta, StreamEvents& out) = 0;
  virtual void finish(int choice, engine::Reply&& reply, StreamEvents& out) = 0;
  virtual void close(StreamEvents& out) = 0;  // every choice is finished
  // What goes wrong after open().
  virtual void fail(const ApiError& error, StreamEvents& out) = 0;
  // Data of the stream's last event, also after an error; empty: none.
  virtual std::string_view last_words() const { return "[DONE]"; }
};

}  // namespace lockstep::daemon::openai
