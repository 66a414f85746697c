// Looks into JSON by a dotted path; numbers are array indices.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "daemon/json/value.h"

namespace lockstep::test {

inline const daemon::json::Value& at(const daemon::json::Value& root, const std::string& path) {
  const daemon::json::Value* value = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string step = path.substr(begin, end - begin);
    const daemon::json::Array* items = value->array();
    value = items ? &items->at(std::stoul(step)) : value->find(step);
    if (!value) throw std::runtime_error("no " + path);
    begin = end + 1;
  }
  return *value;
}

// A string's contents, or any other value's JSON text.
inline std::string text_at(const daemon::json::Value& root, const std::string& path) {
  const daemon::json::Value& value = at(root, path);
  return value.string() ? *value.string() : daemon::json::write(value);
}

}  // namespace lockstep::test
