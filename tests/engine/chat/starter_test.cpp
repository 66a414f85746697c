// The starter's template against texts that Jinja2 and Hugging Face's transformers made of the same
// conversations.
#include "tests/catch.h"
#include "tests/engine/chat/golden.h"

namespace lockstep::engine {
namespace {

// The prompts of a reference.json that have messages, rendered and compared.
void compare(const std::filesystem::path& reference, const std::filesystem::path& model) {
  const ChatFormat format = ChatFormat::load(model);
  int compared = 0;
  const language::Value root = golden::json(golden::read(reference));
  for (const language::Value& prompt : root.dict().find("prompts")->items()) {
    if (!prompt.dict().find("messages")) continue;
    CHECK(format.render(golden::conversation(prompt.dict())).text ==
          golden::text_of(prompt.dict().find("text")));
    ++compared;
  }
  CHECK(compared > 0);
}

}  // namespace

TEST_CASE("the models' templates give the reference's prompts") {
  const std::filesystem::path data = golden::source / "tests/data";
  compare(data / "starter/reference.json", golden::starter);
  compare(data / "tiny-dense/reference.json", data / "tiny-dense");
  compare(data / "tiny-moe/reference.json", data / "tiny-moe");
}

TEST_CASE("random conversations are written as Jinja2 writes them") {
  const ChatFormat format = ChatFormat::load(golden::starter);
  const language::Value cases = golden::json(golden::read(golden::data / "starter.json"));
  CHECK(cases.items().size() == 200);
  for (const language::Value& one : cases.items()) {
    language::Meter meter;
    INFO(language::dump_json(one, {}, meter).text);
    CHECK(format.render(golden::conversation(one.dict())).text == golden::text_of(one.dict().find("text")));
  }
}

}  // namespace lockstep::engine
