#include "engine/chat/language/objects.h"

#include <algorithm>
#include <ctime>

#include "engine/chat/language/lexer.h"

namespace lockstep::engine::language {
namespace {

Value cycle(Render&, Object* self, Arguments& arguments) {
  if (arguments.positional.empty()) throw Fault("no items for cycling given");
  const auto index = static_cast<size_t>(static_cast<Loop*>(self)->index0());
  return arguments.positional[index % arguments.positional.size()];
}

Value changed(Render& render, Object* self, Arguments& arguments) {
  return Value::boolean(static_cast<Loop*>(self)->changed(arguments.positional, render.meter));
}

}  // namespace

Loop::Loop(std::vector<Value> items, int depth, const For* statement, Scope* scope)
    : items_(std::move(items)),
      depth_(depth),
      statement_(statement),
      scope_(scope),
      cycle_(cycle, this),
      changed_(language::changed, this) {}

Value Loop::attribute(std::string_view name) {
  const auto length = static_cast<int64_t>(items_.size());
  if (name == "index") return Value::integer(index_ + 1);
  if (name == "index0") return Value::integer(index_);
  if (name == "revindex") return Value::integer(length - index_);
  if (name == "revindex0") return Value::integer(length - index_ - 1);
  if (name == "first") return Value::boolean(index_ == 0);
  if (name == "last") return Value::boolean(index_ + 1 >= length);
  if (name == "length") return Value::integer(length);
  if (name == "depth") return Value::integer(depth_ + 1);
  if (name == "depth0") return Value::integer(depth_);
  if (name == "previtem")
    return index_ > 0 ? items_[static_cast<size_t>(index_ - 1)]
                      : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return index_ + 1 < length ? items_[static_cast<size_t>(index_ + 1)]
                               : Value::undefined("there is no next item");
  if (name == "cycle") return Value::object(&cycle_);
  if (name == "changed") return Value::object(&changed_);
  return {};
}

Value Loop::call(Render& render, Arguments& arguments) {
  if (!statement_) throw Fault("the loop must have the 'recursive' marker to be called recursively");
  const Parameters given("loop", arguments, {"iterable"});
  Capture capture(render);
  statement_->iterate(render, *scope_, given.need(0), depth_ + 1);
  return Value::string(capture.take());
}

Text Loop::print(Meter&) const {
  return Text("<LoopContext " + std::to_string(index_ + 1) + "/" + std::to_string(items_.size()) + ">",
              false);
}

bool Loop::changed(const std::vector<Value>& values, Meter& meter) {
  const bool same = last_changed_ && last_changed_->size() == values.size() &&
                    std::equal(values.begin(), values.end(), last_changed_->begin(),
                               [&](const Value& a, const Value& b) { return equal(a, b, meter); });
  if (!same) last_changed_ = values;
  return !same;
}

Value MacroObject::attribute(std::string_view name) {
  if (name == "name") return body_.name.empty() ? Value::none() : Value::literal(body_.name);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const std::string& parameter : body_.parameters) names.push_back(Value::literal(parameter));
    return Value::sequence(Kind::tuple, std::move(names));
  }
  if (name == "caller") return Value::boolean(body_.caller_slot >= 0);
  if (name == "catch_kwargs") return Value::boolean(body_.kwargs_slot >= 0);
  if (name == "catch_varargs") return Value::boolean(body_.varargs_slot >= 0);
  return {};
}

Value MacroObject::call(Render& render, Arguments& arguments) {
  const std::string called = body_.name.empty() ? "caller" : body_.name;
  const size_t count = body_.parameters.size();
  if (arguments.positional.size() > count && body_.varargs_slot < 0)
    throw Fault("macro '" + called + "' takes not more than " + std::to_string(count) + " argument(s)");
  render.meter.charge(64 + body_.frame.names.size() * sizeof(Value));
  Render::Entered entered(render, body_.frame, scope_);
  Scope& scope = *entered;
  const auto slot = [&](int at) -> Value& { return scope.slots[static_cast<size_t>(at)]; };
  std::vector<std::pair<std::string, Value>> named = std::move(arguments.named);
  const auto take = [&](const std::string& name, Value& into) {
    const auto found =
        std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
    if (found == named.end()) return false;
    into = std::move(found->second);
    named.erase(found);
    return true;
  };
  for (size_t i = 0; i < count; ++i) {
    Value& parameter = slot(body_.parameter_slots[i]);
    if (i < arguments.positional.size())
      parameter = arguments.positional[i];
    else
      take(body_.parameters[i], parameter);
  }
  if (body_.caller_slot >= 0 && !body_.explicit_caller && !take("caller", slot(body_.caller_slot)))
    slot(body_.caller_slot) = Value::undefined("No caller defined");
  if (body_.kwargs_slot >= 0) {
    Dict rest;
    for (auto& [name, value] : named) rest.set(Value::literal(name), std::move(value), render.meter);
    slot(body_.kwargs_slot) = Value::mapping(std::move(rest));
  } else if (!named.empty()) {
    throw Fault("macro '" + called + "' takes no keyword argument '" + named[0].first + "'");
  }
  if (body_.varargs_slot >= 0) {
    std::vector<Value> rest;
    for (size_t i = count; i < arguments.positional.size(); ++i) rest.push_back(arguments.positional[i]);
    slot(body_.varargs_slot) = Value::sequence(Kind::tuple, std::move(rest));
  }
  const size_t without = count - body_.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    Value& parameter = slot(body_.parameter_slots[i]);
    if (!parameter.is(Kind::missing)) continue;
    if (i < without)
      parameter = Value::undefined("parameter '" + body_.parameters[i] + "' was not provided");
    else
      parameter = body_.defaults[i - without]->value(render, scope);
  }
  Capture capture(render);
  run_body(body_.body, render, scope);
  return Value::string(capture.take());
}

Value Namespace::attribute(std::string_view name) {
  const Value* found = members.find(name);
  return found ? *found : Value();
}

Text Namespace::print(Meter& meter) const {
  if (std::exchange(printing_, true)) throw Fault("a namespace contains itself");
  Text text("<Namespace ", false);
  text.append(representation(Value::mapping(members), meter));
  text.append(">", false);
  printing_ = false;
  return text;
}

namespace {

Value make_range(Render& render, Object*, Arguments& arguments) {
  const size_t count = arguments.positional.size();
  if (count < 1 || count > 3 || !arguments.named.empty()) throw Fault("range takes one to three integers");
  const int64_t first = count > 1 ? need_integer(arguments.positional[0]) : 0;
  const int64_t last = need_integer(arguments.positional[count > 1 ? 1 : 0]);
  const int64_t step = count > 2 ? need_integer(arguments.positional[2]) : 1;
  if (step == 0) throw Fault("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    if (items.size() == 100000) throw Fault("range too big: the sandbox blocks ranges larger than 100000");
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  render.meter.charge(items.size() * sizeof(Value));
  return Value::sequence(Kind::range, std::move(items));
}

Dict to_dict(Render& render, const char* function, Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) throw Fault(std::string(function) + " expected at most 1 argument");
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is(Kind::mapping)) {
      for (const auto& [key, value] : from.dict().entries()) dict.set(key, value, render.meter);
    } else {
      for (const Value& pair : iterate(from, render.meter)) {
        const std::vector<Value> parts = iterate(pair, render.meter);
        if (parts.size() != 2)
          throw Fault("dictionary update sequence element has length " + std::to_string(parts.size()) +
                      "; 2 is required");
        dict.set(parts[0], parts[1], render.meter);
      }
    }
  }
  for (auto& [name, value] : arguments.named) dict.set(Value::literal(name), value, render.meter);
  return dict;
}

Value make_dict(Render& render, Object*, Arguments& arguments) {
  return Value::mapping(to_dict(render, "dict", arguments));
}

Value make_namespace(Render& render, Object*, Arguments& arguments) {
  auto* made = render.make<Namespace>();
  made->members = to_dict(render, "namespace", arguments);
  return Value::object(made);
}

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items)
      : items_(std::move(items)),
        next_([](Render&, Object* self, Arguments&) { return static_cast<Cycler*>(self)->step(); }, this),
        reset_([](Render&, Object* self, Arguments&) { return static_cast<Cycler*>(self)->restart(); },
               this) {}
  std::string type() const override { return "Cycler"; }
  Value attribute(std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name == "next") return Value::object(&next_);
    if (name == "reset") return Value::object(&reset_);
    return {};
  }

 private:
  Value step() {
    const size_t now = at_;
    at_ = (at_ + 1) % items_.size();
    return items_[now];
  }
  Value restart() {
    at_ = 0;
    return Value::none();
  }
  std::vector<Value> items_;
  size_t at_ = 0;
  Function next_, reset_;
};

Value make_cycler(Render& render, Object*, Arguments& arguments) {
  if (arguments.positional.empty()) throw Fault("at least one item has to be provided");
  return Value::object(render.make<Cycler>(arguments.positional));
}

class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string type() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Render&, Arguments&) override {
    return std::exchange(used_, true) ? separator_ : Value::literal("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value make_joiner(Render& render, Object*, Arguments& arguments) {
  const Parameters given("joiner", arguments, {"sep"});
  return Value::object(render.make<Joiner>(given[0] ? *given[0] : Value::literal(", ")));
}

Value raise_exception(Render& render, Object*, Arguments& arguments) {
  const Parameters given("raise_exception", arguments, {"message"});
  throw TemplateError(to_text(given.need(0), render.meter).text);
}

Value strftime_now(Render&, Object*, Arguments& arguments) {
  const Parameters given("strftime_now", arguments, {"format"});
  const Text& format = given.text(0);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[1024];
  const size_t bytes = std::strftime(buffer, sizeof buffer, format.text.c_str(), &local);
  return Value::string(Text(std::string_view(buffer, bytes), format.any_data()));
}

Dict make_globals() {
  static Function functions[] = {Function(make_range),  Function(make_dict),   Function(make_namespace),
                                 Function(make_cycler), Function(make_joiner), Function(raise_exception),
                                 Function(strftime_now)};
  static constexpr std::string_view names[] = {
      "range", "dict", "namespace", "cycler", "joiner", "raise_exception", "strftime_now"};
  Dict dict;
  for (size_t i = 0; i < std::size(names); ++i) dict.set(names[i], Value::object(&functions[i]));
  return dict;
}

}  // namespace

const Dict& globals() {
  static const Dict dict = make_globals();
  return dict;
}

}  // namespace lockstep::engine::language
