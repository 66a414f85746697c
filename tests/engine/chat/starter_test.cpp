// The starter's template against texts that Hugging Face's transformers made from the same conversations.
#include <fstream>
#include <iterator>

#include "engine/chat/chat_format.h"
#include "engine/chat/language/json.h"
#include "tests/catch.h"

namespace lockstep::engine {
namespace {

namespace fs = std::filesystem;
const fs::path source = LOCKSTEP_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string string_of(const language::Value* value) { return value ? value->text().text : std::string(); }

// The prompts of a reference.json that have messages, rendered and compared.
void compare(const fs::path& reference, const fs::path& model) {
  const ChatFormat format = ChatFormat::load(model);
  language::Meter meter;
  const language::Value root = language::parse_json(read(reference), meter);
  int compared = 0;
  for (const language::Value& prompt : root.dict().find("prompts")->items()) {
    const language::Dict& entry = prompt.dict();
    if (!entry.find("messages") || !entry.find("messages")->is(language::Kind::list)) continue;
    Conversation conversation;
    for (const language::Value& value : entry.find("messages")->items()) {
      const language::Dict& from = value.dict();
      Message message;
      message.role = string_of(from.find("role"));
      message.content = string_of(from.find("content"));
      conversation.messages.push_back(message);
    }
    if (const auto* tools = entry.find("tools"); tools && tools->is(language::Kind::list))
      for (const language::Value& tool : tools->items())
        conversation.tools.push_back(language::dump_json(tool, {}, meter).text);
    if (const auto* thinking = entry.find("enable_thinking"))
      conversation.thinking = language::truth(*thinking);
    CHECK(format.render(conversation).text == string_of(entry.find("text")));
    ++compared;
  }
  CHECK(compared > 0);
}

}  // namespace

TEST_CASE("the models' templates give the reference's prompts") {
  compare(source / "tests/data/starter/reference.json", source / "packaging/starter");
  compare(source / "tests/data/tiny-dense/reference.json", source / "tests/data/tiny-dense");
  compare(source / "tests/data/tiny-moe/reference.json", source / "tests/data/tiny-moe");
}

}  // namespace lockstep::engine
