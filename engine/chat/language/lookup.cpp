#include "engine/chat/language/lookup.h"

namespace lockstep::engine::language {

Getter::Getter(const Value* attribute, const Value* otherwise)
    : otherwise_(otherwise && !otherwise->is(Kind::none) ? otherwise : nullptr) {
  if (!attribute || attribute->is(Kind::none)) return;
  if (!attribute->is(Kind::string)) {
    path_.push_back(*attribute);
    return;
  }
  std::string_view names = attribute->text().text;
  while (true) {
    const size_t dot = names.find('.');
    const std::string_view name = names.substr(0, dot);
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    path_.push_back(number ? Value::decimal(name) : Value::literal(name));
    if (dot == std::string_view::npos) break;
    names.remove_prefix(dot + 1);
  }
}

Value Getter::operator()(Render& render, Value item) const {
  for (const Value& key : path_) {
    item = item_of(render, item, key);
    if (otherwise_ && item.is(Kind::undefined)) item = *otherwise_;
  }
  return item;
}

Value fold_case(Render& render, const Value& value, bool sensitive) {
  if (sensitive || !value.is(Kind::string)) return value;
  return whole(render, lower(value.text().text), value.text());
}

}  // namespace lockstep::engine::language
