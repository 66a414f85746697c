// Finds the end of a tool call in a growing text, reading every byte once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::engine {

// What stands behind <tool_call>, in either form:
//   <function=NAME> <parameter=P>\nvalue\n</parameter> ... </function> </tool_call>
//   {"name": ..., "arguments": {...}} </tool_call>
// with blanks and line ends between. A value ends at the first </parameter> that <parameter= or </function>
// follows, so that it may contain any other text.
class CallScanner {
 public:
  enum class State { open, complete, malformed };

  // `text` begins behind <tool_call> and only grows from call to call.
  State scan(std::string_view text);
  // At the text's end: complete too if only </tool_call> is missing.
  State finish() const;

  size_t position() const { return at_; }  // complete: behind the call; malformed: where it stopped being one
  bool json() const { return !json_.empty(); }
  std::string_view json_text() const { return json_; }  // the object
  const std::string& function() const { return function_; }
  const std::vector<std::pair<std::string, std::string>>& parameters() const { return parameters_; }

 private:
  enum class Stage { start, between, value, end, json, done };
  enum class Match { yes, no, unknown };
  State step(std::string_view text, bool& more);
  Match match(std::string_view text, size_t at, std::string_view word) const;
  static size_t skip_blanks(std::string_view text, size_t at);
  State name(std::string_view text, std::string& into, Stage next, bool& more);
  State value(std::string_view text, bool& more);
  State scan_json(std::string_view text, bool& more);

  Stage stage_ = Stage::start;
  size_t at_ = 0;
  size_t value_from_ = 0;
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
  std::string json_, function_, parameter_;
  std::vector<std::pair<std::string, std::string>> parameters_;
};

}  // namespace lockstep::engine
