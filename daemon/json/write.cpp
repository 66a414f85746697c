#include "daemon/json/value.h"

namespace lockstep::daemon::json {
namespace {

void write_string(std::string_view text, std::string& out) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += hex[c >> 4];
          out += hex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

}  // namespace

void write(const Value& value, std::string& out) {
  if (const bool* truth = value.boolean()) {
    out += *truth ? "true" : "false";
  } else if (const Number* number = value.number()) {
    out += number->text;
  } else if (const std::string* text = value.string()) {
    write_string(*text, out);
  } else if (const Array* items = value.array()) {
    out += '[';
    for (const Value& item : *items) {
      if (&item != items->data()) out += ',';
      write(item, out);
    }
    out += ']';
  } else if (const Object* members = value.object()) {
    out += '{';
    for (const Member& member : *members) {
      if (&member != members->data()) out += ',';
      write_string(member.key, out);
      out += ':';
      write(member.value, out);
    }
    out += '}';
  } else {
    out += "null";
  }
}

std::string write(const Value& value) {
  std::string out;
  write(value, out);
  return out;
}

std::string_view kind_name(const Value& value) {
  if (value.boolean()) return "a boolean";
  if (value.number()) return "a number";
  if (value.string()) return "a string";
  if (value.array()) return "an array";
  if (value.object()) return "an object";
  return "null";
}

const Value* Value::find(std::string_view key) const {
  const Object* members = object();
  if (!members) return nullptr;
  for (auto member = members->rbegin(); member != members->rend(); ++member)
    if (member->key == key) return &member->value;
  return nullptr;
}

}  // namespace lockstep::daemon::json
