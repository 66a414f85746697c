#include "engine/chat/language/arguments.h"

namespace lockstep::engine::language {

Parameters::Parameters(const char* function, const Arguments& arguments,
                       std::initializer_list<const char*> names)
    : function_(function), names_(names), given_(names.size(), nullptr) {
  if (arguments.positional.size() > names.size())
    throw Fault(std::string(function) + " takes at most " + std::to_string(names.size()) + " arguments");
  for (size_t i = 0; i < arguments.positional.size(); ++i) given_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    size_t i = 0;
    while (i < names_.size() && name != names_[i]) ++i;
    if (i == names_.size()) throw Fault(std::string(function) + " takes no argument '" + name + "'");
    if (given_[i]) throw Fault(std::string(function) + " got '" + name + "' twice");
    given_[i] = &value;
  }
}

const Value* Parameters::unless_none(size_t i) const {
  return given_[i] && !given_[i]->is(Kind::none) ? given_[i] : nullptr;
}

const Value& Parameters::need(size_t i) const {
  if (!given_[i]) throw Fault(std::string(function_) + " needs its argument '" + names_[i] + "'");
  return *given_[i];
}

int64_t Parameters::integer(size_t i, int64_t otherwise) const {
  return given_[i] ? need_integer(*given_[i]) : otherwise;
}

const Text& Parameters::text(size_t i) const {
  const Value& value = need(i);
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (!value.is(Kind::string))
    throw Fault(std::string(function_) + ": '" + names_[i] + "' must be str, not " + type_name(value));
  return value.text();
}

int64_t need_integer(const Value& value) {
  if (value.is(Kind::undefined)) throw Fault(value.text().text);
  if (value.is(Kind::big_integer)) throw Fault("an integer is too large");
  if (!value.is(Kind::integer) && !value.is(Kind::boolean))
    throw Fault("'" + type_name(value) + "' object cannot be interpreted as an integer");
  return value.as_integer();
}

}  // namespace lockstep::engine::language
