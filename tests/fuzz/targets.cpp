#include "tests/fuzz/targets.h"

#include <fstream>

#include "daemon/anthropic/messages_request.h"
#include "daemon/openai/chat_request.h"
#include "daemon/openai/completion_request.h"
#include "daemon/openai/error.h"
#include "daemon/openai/responses_request.h"
#include "engine/chat/chat_format.h"
#include "engine/chat/language/json.h"
#include "engine/chat/language/template.h"
#include "engine/files/refuse.h"
#include "engine/files/safetensors.h"
#include "engine/sampling/form/form.h"
#include "engine/sampling/form/matcher.h"
#include "engine/tokenizer/tokenizer.h"
#include "ipc/ipc.h"
#include "tests/tools/temporary_directory.h"

namespace lockstep::fuzz {
namespace {

// Every endpoint reads the same body.
void request(std::string_view input) {
  static daemon::openai::ResponsesStore store;
  try {
    const daemon::json::Value body = daemon::openai::parse_body(input);
    const auto read = [&](auto reader) {
      try {
        reader();
      } catch (const daemon::openai::ApiError&) {
      }
    };
    read([&] { daemon::openai::read_chat_request(body, {}); });
    read([&] { daemon::openai::read_completion_request(body, {}); });
    read([&] { daemon::openai::read_responses_request(body, {}, store); });
    read([&] { daemon::anthropic::read_messages_request(body, {}); });
  } catch (const daemon::openai::ApiError&) {
  }
}

void safetensors(std::string_view input) {
  static const tools::TemporaryDirectory directory;
  const auto path = directory.path() / "model.safetensors";
  std::ofstream(path, std::ios::binary).write(input.data(), static_cast<std::streamsize>(input.size()));
  try {
    engine::SafetensorsFile::open(path);
  } catch (const engine::CheckpointError&) {
  }
}

void tokenizer(std::string_view input) {
  try {
    const engine::Tokenizer tokenizer = engine::Tokenizer::parse(input);
    const auto ids = tokenizer.encode("Grüße, 你好 123 it's\n\n <|im_end|>", true);
    tokenizer.decode(ids, false);
  } catch (const engine::TokenizerError&) {
  }
}

// A template, and after a line of "---" the conversation's content.
void chat_template(std::string_view input) {
  const std::size_t cut = std::min(input.find("\n---\n"), input.size());
  const std::string_view content = cut == input.size() ? "Hi" : input.substr(cut + 5);
  using engine::language::Dict;
  using engine::language::Value;
  try {
    const auto parsed = engine::language::Template::parse(input.substr(0, cut));
    Dict message, variables;
    message.set("role", Value::literal("user"));
    message.set("content", Value::literal(std::string(content)));
    variables.set("messages",
                  Value::sequence(engine::language::Kind::list, {Value::mapping(std::move(message))}));
    variables.set("add_generation_prompt", Value::boolean(true));
    parsed.render(variables);
  } catch (const engine::TemplateError&) {
  } catch (const engine::language::Fault&) {
  }
}

// A schema, and after a line of "---" a text that is followed as far as it fits.
void schema(std::string_view input) {
  const std::size_t cut = std::min(input.find("\n---\n"), input.size());
  engine::ReplyForm form;
  form.schema = input.substr(0, cut);
  if (form.schema.empty()) return;
  try {
    const engine::Form compiled = engine::compile_form(form, {}, engine::CallStyle::tagged, false);
    engine::Matcher matcher(compiled.grammar);
    const std::string_view text = cut == input.size() ? "{\"a\": [1, \"x\"]}" : input.substr(cut + 5);
    for (std::size_t i = 0; i < std::min<std::size_t>(text.size(), 4096) && matcher.allows(text.substr(i, 1));
         ++i)
      matcher.advance(text.substr(i, 1));
  } catch (const engine::FormError&) {
  }
}

void local(std::string_view input) {
  try {
    ipc::FrameReader frames;
    frames.push(input);
    while (const auto message = frames.next()) ipc::read_call(*message, "0");
  } catch (const ipc::ProtocolError&) {
  }
}

constexpr Target all[] = {{"request", request},        {"safetensors", safetensors}, {"tokenizer", tokenizer},
                          {"template", chat_template}, {"schema", schema},           {"local", local}};

}  // namespace

std::span<const Target> targets() { return all; }

}  // namespace lockstep::fuzz
