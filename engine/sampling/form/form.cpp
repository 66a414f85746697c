#include "engine/sampling/form/form.h"

#include <algorithm>
#include <deque>
#include <set>

#include "engine/chat/language/json.h"
#include "engine/sampling/form/schema.h"

namespace lockstep::engine {
namespace {

using language::Kind;
using language::Meter;
using language::Value;
using State = Grammar::State;

struct Function {
  std::string name;
  Value parameters;  // a schema
  bool strict = false;
};

const Value* member(const Value& value, std::string_view key) {
  return value.is(Kind::mapping) ? value.dict().find(key) : nullptr;
}

Value read_json(const std::string& text, const char* field) {
  try {
    Meter meter;
    return language::parse_json(text, meter);
  } catch (const language::Fault& fault) {
    throw FormRefused(std::string("the schema is ") + fault.what(), field);
  }
}

std::vector<Function> read_functions(const std::vector<std::string>& tools) {
  std::vector<Function> out;
  for (const std::string& text : tools) {
    const Value tool = read_json(text, "tools");
    const Value* function = member(tool, "function");
    if (!function) function = &tool;
    const Value* name = member(*function, "name");
    if (!name || !name->is(Kind::string)) continue;
    const Value* parameters = member(*function, "parameters");
    const Value* strict = member(*function, "strict");
    out.push_back({name->text().text, parameters ? *parameters : Value::mapping({}),
                   strict && strict->is(Kind::boolean) && strict->as_integer() == 1});
  }
  return out;
}

std::string listed(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "'" : ", '") + word + "'";
  return out;
}

class Compiler {
 public:
  Compiler(const ReplyForm& form, const std::vector<std::string>& tools, CallStyle style)
      : form_(form), style_(style), functions_(read_functions(tools)) {}

  Form compile(bool in_reasoning) {
    const State begin = builder_.state(), end = builder_.state();
    const int32_t root = builder_.rule();
    builder_.define(root, begin);
    builder_.accept(end);
    const State reply = in_reasoning ? behind_thoughts(begin) : begin;
    if (!form_.schema.empty()) add_content(reply, end);
    if (form_.calls == ReplyForm::Calls::required) add_calls(reply, end, form_.functions);
    if (form_.calls == ReplyForm::Calls::checked && form_.schema.empty()) add_checked(reply, end);
    Form out;
    out.grammar = finish(root);
    out.unenforced.assign(unenforced_.begin(), unenforced_.end());
    return out;
  }

 private:
  const char* field() const { return form_.schema.empty() ? "tools" : "schema"; }

  std::shared_ptr<const Grammar> finish(int32_t root) {
    try {
      return builder_.finish(root);
    } catch (const FormError& error) {
      throw FormRefused(std::string("the schema cannot be held to: ") + error.what(), field());
    }
  }

  // Up to </think>, and the line ends that models write behind it.
  State behind_thoughts(State from) {
    const State closed = builder_.state();
    add_chars(builder_, text_without("</think>"), Writing::raw, from, closed);
    const State behind = builder_.literal(closed, "</think>"), out = builder_.state();
    const State one = builder_.literal(behind, "\n"), two = builder_.literal(one, "\n");
    for (const State at : {behind, one, two}) builder_.skip(at, out);
    return out;
  }

  // Runs `add` with a compiler of its own for what it notes; `strict` refuses that.
  template <typename Add>
  void with_schema(const std::string& what, const char* where, bool strict, Add add) {
    std::set<std::string> notes;
    try {
      SchemaCompiler schema(builder_, notes);
      add(schema);
    } catch (const FormError& error) {
      throw FormRefused(what + " cannot be held to: " + error.what(), where);
    } catch (const language::Fault& fault) {
      throw FormRefused(what + " cannot be held to: " + fault.what(), where);
    }
    if (strict && !notes.empty())
      throw FormRefused(what + " cannot be held to: this server does not enforce " + listed(notes) +
                            "; leave it out, or ask without strict",
                        where);
    unenforced_.insert(notes.begin(), notes.end());
  }

  void add_content(State from, State to) {
    schemas_.push_back(read_json(form_.schema, "schema"));
    const Value& schema = schemas_.back();
    with_schema("the reply's schema", "schema", form_.strict,
                [&](SchemaCompiler& compiler) { builder_.call(from, compiler.json(schema, schema), to); });
    // Beside a schema the model may still call.
    if (form_.calls != ReplyForm::Calls::required && !functions_.empty()) add_calls(from, to, {});
  }

  // One or more calls of the functions named, or of any.
  void add_calls(State from, State to, const std::vector<std::string>& names) {
    const int32_t call = builder_.rule();
    const State begin = builder_.state(), end = builder_.state();
    builder_.define(call, begin);
    builder_.accept(end);
    bool some = false;
    for (const Function& function : functions_) {
      if (!names.empty() && std::ranges::find(names, function.name) == names.end()) continue;
      add_call(function, begin, end);
      some = true;
    }
    if (!some)
      throw FormRefused("a call is asked for, but 'tools' has no function that may be called", "functions");
    const State called = builder_.state();
    builder_.call(from, call, called);
    builder_.skip(called, to);
    if (!form_.single_call) builder_.call(builder_.literal(called, "\n"), call, called);
  }

  // Free text, and calls that fit where they are strict.
  void add_checked(State from, State to) {
    const State text_end = builder_.state();
    add_chars(builder_, text_without("<tool_call>"), Writing::raw, from, text_end);
    builder_.skip(text_end, to);
    add_calls(text_end, to, {});
  }

  void add_call(const Function& function, State from, State to) {
    State at = builder_.literal(from, "<tool_call>\n");
    const bool held = function.strict || form_.calls == ReplyForm::Calls::required;
    const Value schema = held ? function.parameters : Value::mapping({});
    schemas_.push_back(schema);
    const Value& root = schemas_.back();
    with_schema("the schema of the function '" + function.name + "'", "tools", function.strict,
                [&](SchemaCompiler& compiler) {
                  if (style_ == CallStyle::tagged)
                    at = add_tagged(function.name, root, compiler, at);
                  else
                    at = add_json(function.name, root, compiler, at);
                });
    builder_.skip(builder_.literal(at, "\n</tool_call>"), to);
  }

  State add_json(const std::string& name, const Value& schema, SchemaCompiler& compiler, State from) {
    Meter meter;
    const std::string quoted = language::dump_json(Value::literal(name), {}, meter).text;
    const State at = builder_.literal(from, "{\"name\": " + quoted + ", \"arguments\": "),
                end = builder_.state();
    const bool free = schema.is(Kind::mapping) && schema.dict().size() == 0;
    if (free) {
      language::Dict object;
      object.set("type", Value::literal("object"));
      schemas_.push_back(Value::mapping(std::move(object)));
    }
    const Value& used = free ? schemas_.back() : schema;
    builder_.call(at, compiler.json(used, used), end);
    return builder_.literal(end, "}");
  }

  State add_tagged(const std::string& name, const Value& schema, SchemaCompiler& compiler, State from) {
    State at = builder_.literal(from, "<function=" + name + ">\n");
    const SchemaCompiler::Members members = compiler.members(schema, schema);
    for (const SchemaCompiler::Members::Member& member : members.list) {
      if (member.name.empty() || member.name.find_first_of("<>\n") != std::string::npos)
        throw FormError("a parameter's name cannot be written: '" + member.name + "'");
      const State next = builder_.state();
      const State value = builder_.literal(at, "<parameter=" + member.name + ">\n"), end = builder_.state();
      builder_.call(value, compiler.raw(member.schema, schema), end);
      builder_.skip(builder_.literal(end, "\n</parameter>\n"), next);
      if (!member.required) builder_.skip(at, next);
      at = next;
    }
    if (members.more) {
      std::vector<std::string> names;
      for (const auto& member : members.list) names.push_back(member.name);
      CharSet allowed('0', '9');
      allowed.add('a', 'z');
      allowed.add('A', 'Z');
      allowed.add('_', '_');
      allowed.add('-', '-');
      const State named = builder_.state(), end = builder_.state(),
                  first = builder_.literal(at, "<parameter=");
      CharAutomaton others = all_but(names, allowed);
      others.nodes[others.start].accept = false;  // a name has a character
      add_chars(builder_, others, Writing::raw, first, named);
      // The reader takes what is not declared as text.
      builder_.call(builder_.literal(named, ">\n"), compiler.raw_text(), end);
      builder_.skip(builder_.literal(end, "\n</parameter>\n"), at);
    }
    return builder_.literal(at, "</function>");
  }

  const ReplyForm& form_;
  const CallStyle style_;
  const std::vector<Function> functions_;
  GrammarBuilder builder_;
  std::deque<Value> schemas_;  // that compilers look into
  std::set<std::string> unenforced_;
};

}  // namespace

Form compile_form(const ReplyForm& form, const std::vector<std::string>& tools, CallStyle style,
                  bool in_reasoning) {
  if (form.schema.empty() && form.calls == ReplyForm::Calls::free) return {};
  try {
    return Compiler(form, tools, style).compile(in_reasoning);
  } catch (const FormRefused&) {
    throw;
  } catch (const FormError& error) {
    throw FormRefused(std::string("the reply's form cannot be held to: ") + error.what(),
                      form.schema.empty() ? "tools" : "schema");
  }
}

}  // namespace lockstep::engine
