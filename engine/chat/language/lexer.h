// Cuts a template's source into tokens, by the rules of Jinja2 3.1 with trim_blocks and lstrip_blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/chat_format.h"

namespace lockstep::engine::language {

enum class TokenKind : uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  floating,
  op,
  end
};

struct Token {
  TokenKind kind;
  std::string text;  // data, name, string: the text; numbers: digits without '_'; op: its characters
  int line;
};

TemplateError error_at(int line, const std::string& message);

// The last token is `end`. Throws TemplateError.
std::vector<Token> tokenize(std::string_view source);

}  // namespace lockstep::engine::language
