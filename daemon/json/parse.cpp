#include <boost/json/basic_parser_impl.hpp>

#include "daemon/json/value.h"
#include "daemon/limits.h"

namespace lockstep::daemon::json {
namespace {

using boost::json::error_code;
using boost::json::string_view;

// Builds the tree from the parser's events. The open containers are a stack; finished values move into
// their parent when their end is read.
class Builder {
 public:
  static constexpr std::size_t max_array_size = limits::json_values;
  static constexpr std::size_t max_object_size = limits::json_values;
  static constexpr std::size_t max_string_size = limits::body_bytes;
  static constexpr std::size_t max_key_size = limits::json_key_bytes;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code& ec) { return open(Array{}, ec); }
  bool on_object_begin(error_code& ec) { return open(Object{}, ec); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_string_part(string_view part, std::size_t, error_code&) { return gather(part); }
  bool on_key_part(string_view part, std::size_t, error_code&) { return gather(part); }
  bool on_number_part(string_view part, error_code&) { return gather(part); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
  bool on_string(string_view part, std::size_t, error_code& ec) {
    gather(part);
    return add(std::exchange(text_, {}), ec);
  }
  bool on_key(string_view part, std::size_t, error_code&) {
    gather(part);
    open_.back().key = std::exchange(text_, {});
    return true;
  }
  bool on_int64(std::int64_t, string_view part, error_code& ec) { return number(part, ec); }
  bool on_uint64(std::uint64_t, string_view part, error_code& ec) { return number(part, ec); }
  bool on_double(double, string_view part, error_code& ec) { return number(part, ec); }
  bool on_bool(bool truth, error_code& ec) { return add(truth, ec); }
  bool on_null(error_code& ec) { return add(nullptr, ec); }

  Value take() { return std::move(root_); }
  bool too_many() const { return count_ > limits::json_values; }
  std::string path() const {
    std::string out;
    for (const Open& level : open_) {
      if (const Array* items = level.value.array()) {
        out += '[' + std::to_string(items->size()) + ']';
      } else if (!level.key.empty()) {
        out += (out.empty() ? "" : ".") + level.key;
      }
    }
    return out;
  }

 private:
  struct Open {
    Value value;
    std::string key;  // object: the member being read
  };

  bool gather(string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool number(string_view part, error_code& ec) {
    gather(part);
    return add(Number{std::exchange(text_, {})}, ec);
  }
  bool count(error_code& ec) {
    if (++count_ <= limits::json_values) return true;
    ec = boost::json::error::array_too_large;
    return false;
  }
  bool open(Value container, error_code& ec) {
    if (!count(ec)) return false;
    open_.push_back({std::move(container), {}});
    return true;
  }
  bool close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    place(std::move(value));
    return true;
  }
  bool add(Value value, error_code& ec) {
    if (!count(ec)) return false;
    place(std::move(value));
    return true;
  }
  void place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Array* items = open_.back().value.array()) {
      items->push_back(std::move(value));
    } else {
      open_.back().value.object()->push_back({std::exchange(open_.back().key, {}), std::move(value)});
    }
  }

  std::vector<Open> open_;
  std::string text_;
  std::size_t count_ = 0;
  Value root_;
};

std::string explain(const error_code& ec, bool too_many) {
  using boost::json::error;
  if (too_many) return "the JSON has more than " + std::to_string(limits::json_values) + " values";
  if (ec == error::too_deep)
    return "the JSON is nested deeper than " + std::to_string(limits::json_depth) + " levels";
  if (ec == error::key_too_large)
    return "the JSON has a key longer than " + std::to_string(limits::json_key_bytes) + " bytes";
  if (ec == error::incomplete) return "the JSON ends too early";
  if (ec == error::extra_data) return "the JSON is followed by more text";
  return "the JSON is malformed (" + ec.message() + ")";
}

}  // namespace

Value parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = limits::json_depth;
  boost::json::basic_parser<Builder> parser(options);
  error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) ec = boost::json::error::extra_data;
  if (ec) {
    const Builder& builder = parser.handler();
    throw ParseError(explain(ec, builder.too_many()) + " at byte " + std::to_string(read), builder.path());
  }
  return parser.handler().take();
}

}  // namespace lockstep::daemon::json
