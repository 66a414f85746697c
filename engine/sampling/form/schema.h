// JSON Schema to grammar rules.
//
// Every text of a rule fits the schema, as far as its keywords can be held to; the others are noted. Not
// every text that fits is one of the rule: members come in the order of "properties"; without
// "additionalProperties" an object has no others than those; blanks between tokens are one space, or a line
// end and up to 32 blanks; numbers have a limited number of digits.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/chat/language/value.h"
#include "engine/sampling/form/chars.h"
#include "engine/sampling/form/grammar.h"

namespace lockstep::engine {

class SchemaCompiler {
 public:
  static constexpr int max_length = 4096;    // that minLength and maxLength are held to
  static constexpr int max_items = 1000;     // that minItems and maxItems are held to
  static constexpr int max_references = 64;  // $ref and allOf inside each other
  static constexpr int max_blanks = 32;
  static constexpr int max_levels = 512;  // schemas inside each other

  // What cannot be enforced is added to `notes`: the keywords.
  SchemaCompiler(GrammarBuilder& builder, std::set<std::string>& notes) : builder_(builder), notes_(notes) {}

  // Rules for JSON text, and for the text of a parameter in a tagged call, where strings stand without
  // quotes. `root` is what references look into; it must outlive the compiler. Throws FormError.
  int32_t json(const language::Value& schema, const language::Value& root);
  int32_t raw(const language::Value& schema, const language::Value& root);
  // For text of a parameter without a schema.
  int32_t raw_text();
  // Members of an object's schema as they must or may come, in order; `more`: others may follow, of this
  // schema.
  struct Members {
    struct Member {
      std::string name;
      language::Value schema;
      bool required;
    };
    std::vector<Member> list;
    std::optional<language::Value> more;
  };
  Members members(const language::Value& schema, const language::Value& root);

 private:
  using Value = language::Value;
  using Dict = language::Dict;
  using State = Grammar::State;

  int32_t rule_for(const Value& schema, bool raw);
  const Value& normal(const Value& schema, int depth = 0);
  const Value& target(const std::string& reference) const;
  std::optional<Dict> merged(const Dict& a, const Dict& b, int depth);
  const Value& keep(Dict dict);
  void note(const std::string& keyword) { notes_.insert(keyword); }

  void alternatives(const Value& schema, bool raw, State from, State to);
  void branches(const Value& schema, const char* keyword, bool raw, State from, State to);
  bool apart(const std::vector<const Value*>& branches);
  std::set<std::string> types(const Dict& schema);
  void one_type(const Dict& schema, const std::string& type, bool raw, State from, State to);
  void values(const std::vector<Value>& list, const Dict& schema, bool raw, State from, State to);
  void check_keywords(const Dict& schema);

  void string(const Dict& schema, bool raw, State from, State to);
  std::optional<CharAutomaton> text_of(const Dict& schema);
  void number(const Dict& schema, bool integer, State from, State to);
  void object(const Dict& schema, State from, State to);
  void array(const Dict& schema, State from, State to);
  Members members_of(const Dict& schema);
  void other_members(const std::vector<Members::Member>& listed, const Value& schema, State empty, State more,
                     State close);
  int limit(const Dict& schema, const char* keyword, int most, int missing);

  int32_t any();
  int32_t any_string();
  int32_t blanks();
  State blanks_behind(State from);
  State colon_behind(State from);

  GrammarBuilder& builder_;
  std::set<std::string>& notes_;
  const Value* root_ = nullptr;
  std::map<std::pair<const void*, bool>, int32_t> known_;
  std::map<const void*, const Value*> normal_;
  std::deque<Value> kept_;
  std::optional<int32_t> any_, any_string_, blanks_, raw_text_, never_;
  language::Meter meter_;
  int level_ = 0;  // of rule_for() inside itself
};

}  // namespace lockstep::engine
