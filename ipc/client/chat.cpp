// lockstep chat: a conversation at the terminal.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>

#include "ipc/client/commands.h"
#include "ipc/client/daemon.h"
#include "ipc/client/input.h"
#include "ipc/client/line_editor.h"
#include "ipc/client/output_file.h"
#include "ipc/client/stream.h"
#include "ipc/client/terminal.h"
#include "ipc/json_reader.h"
#include "ipc/utf8.h"

namespace lockstep::ipc::client {

namespace {

constexpr std::string_view block = "\"\"\"";  // a line of it begins and ends a message of several lines

// "~/name" as shells read it.
std::string with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return home && path.starts_with("~/") ? home + path.substr(1) : path;
}

// The messages of a file that /save wrote: the parameters of a call of Chat.
std::vector<Message> read_conversation(const std::string& path) {
  const std::string text = read_file(path);
  const std::string method = std::string(interface_name) + ".Chat";
  try {
    JsonValue::parse(text, most_depth);  // so that it can be a part of another text
    const auto call = read_call(R"({"method":")" + method + R"(","parameters":)" + text + "}", "");
    if (const auto* read = std::get_if<Call>(&call)) return std::get<Chat>(read->what).messages;
    const std::string& answer = std::get<Answer>(call).bytes;
    throw Failure(exit_failed, path + " is no conversation: " +
                                   read_reply(answer.substr(0, answer.size() - 1)).error->message);
  } catch (const JsonError& error) {
    throw Failure(exit_failed, path + " is " + error.what());
  }
}

class Conversing {
 public:
  explicit Conversing(const Arguments& arguments)
      : socket_(socket_path(arguments)),
        sampling_(sampling_of(arguments)),
        thinking_(arguments.given("--think")),
        at_terminal_(::isatty(STDIN_FILENO) == 1),
        system_(arguments.value("--system").value_or("")),
        display_(Display::OnInterrupt::notice),
        editor_(history_path()) {}

  int run() {
    greet();
    for (;;) {
      forget_interrupt();
      LineEditor::Line line = editor_.read("> ");
      if (line.end == LineEditor::End::over) return exit_ok;
      if (line.end == LineEditor::End::interrupted || line.text.empty()) continue;
      editor_.remember(line.text);
      if (line.text == "/quit") return exit_ok;
      try {
        if (line.text == block)
          say(rest_of_block());
        else if (line.text[0] == '/' && line.text.find('\n') == std::string::npos)
          obey(line.text);
        else
          say(line.text);
      } catch (const Failure& failure) {
        if (!at_terminal_) throw;
        display_.notice(harmless(failure.what()));
      }
    }
  }

 private:
  struct Order {
    const char* name;
    const char* argument;
    const char* help;
    void (Conversing::*run)(const std::string&);
  };
  static std::span<const Order> orders();

  void greet() {
    const std::string reply = answer_to(socket_, "Models", "{}");
    if (!at_terminal_) return;
    const std::vector<Model> served = read_models_reply(reply);
    tell(served.empty() ? "The model is being loaded.\n"
                        : harmless(served[0].name) + " on " + harmless(served[0].device) + ", " +
                              std::to_string(served[0].context) + " tokens of context.\n");
    tell("/help shows the commands, Ctrl-C stops a reply, Ctrl-D ends.\n");
  }

  std::string rest_of_block() {
    std::string text;
    for (;;) {
      const LineEditor::Line line = editor_.read(". ");
      if (line.end == LineEditor::End::interrupted) return "";
      if (line.end == LineEditor::End::over || line.text == block) return text;
      if (!line.text.empty()) editor_.remember(line.text);
      text += (text.empty() ? "" : "\n") + line.text;
    }
  }

  void obey(const std::string& line) {
    const size_t blank = line.find(' ');
    const std::string name = line.substr(0, blank);
    const size_t begin = blank == std::string::npos ? blank : line.find_first_not_of(' ', blank);
    for (const Order& order : orders())
      if (name == order.name) return (this->*order.run)(begin == std::string::npos ? "" : line.substr(begin));
    throw Failure(exit_failed, "there is no " + name + ": /help shows the commands");
  }

  void say(const std::string& text) {
    if (text.empty()) return;
    if (!is_utf8(text)) throw Failure(exit_failed, "that is not UTF-8 text");
    if (!turns_.empty() && turns_.back().role == "user") turns_.pop_back();  // it got no reply
    turns_.push_back({"user", text, {}, {}, {}});
    reply(sampling_.seed);
  }

  Conversation conversation() const {
    Conversation whole;
    if (!system_.empty()) whole.messages.push_back({"system", system_, {}, {}, {}});
    whole.messages.insert(whole.messages.end(), turns_.begin(), turns_.end());
    whole.thinking = thinking_;
    return whole;
  }

  void reply(std::optional<uint64_t> seed) {
    Chat chat;
    static_cast<Conversation&>(chat) = conversation();
    static_cast<Sampling&>(chat) = sampling_;
    chat.seed = seed;
    Shown shown = show_reply(socket_, "Chat", chat_parameters(chat), display_);
    if (!shown.final) display_.notice("stopped");
    last_ = shown.final;
    if (shown.content.empty() && shown.reasoning.empty()) return;
    Message message{"assistant", std::move(shown.content), {}, {}, {}};
    if (!shown.reasoning.empty()) message.reasoning = std::move(shown.reasoning);
    turns_.push_back(std::move(message));
  }

  void help(const std::string&) {
    std::string text;
    for (const Order& order : orders()) {
      const std::string left = std::string(order.name) + " " + order.argument;
      text += "  " + left + std::string(15 - left.size(), ' ') + order.help + "\n";
    }
    text += "  /quit          end, as Ctrl-D does\n";
    text += "A line of \"\"\" begins a message of several lines, another ends it.\n";
    tell(text);
  }

  void set_system(const std::string& text) {
    if (text.empty())
      tell(system_.empty() ? "There are no instructions.\n" : "No longer: " + harmless(system_) + "\n");
    system_ = text;
  }

  void save(const std::string& path) {
    if (path.empty()) throw Failure(exit_failed, "name a file: /save FILE");
    if (turns_.empty()) throw Failure(exit_failed, "there is nothing to save yet");
    write_file(with_home(path), conversation_parameters(conversation()) + "\n");
    tell(std::to_string(turns_.size()) + " messages saved\n");
  }

  void load(const std::string& path) {
    if (path.empty()) throw Failure(exit_failed, "name a file: /load FILE");
    std::vector<Message> messages = read_conversation(with_home(path));
    const bool system = messages[0].role == "system";
    system_ = system ? messages[0].content : "";
    if (system) messages.erase(messages.begin());
    turns_ = std::move(messages);
    last_.reset();
    tell(std::to_string(turns_.size()) + " messages loaded\n");
  }

  // A missing seed would be derived from the prompt, and the reply would be the same.
  void retry(const std::string&) {
    if (!turns_.empty() && turns_.back().role == "assistant") turns_.pop_back();
    if (turns_.empty()) throw Failure(exit_failed, "there is nothing to ask again");
    std::random_device source;
    reply(uint64_t{source()} << 32 | source());
  }

  void clear(const std::string&) {
    turns_.clear();
    last_.reset();
  }

  void tokens(const std::string&) {
    if (turns_.empty()) throw Failure(exit_failed, "there are no messages yet");
    const auto count =
        read_tokens_reply(answer_to(socket_, "Tokenize", conversation_parameters(conversation()))).size();
    const std::vector<Model> served = read_models_reply(answer_to(socket_, "Models", "{}"));
    std::string text = "The conversation has " + std::to_string(count) + " tokens";
    if (!served.empty()) text += ", the context holds " + std::to_string(served[0].context);
    tell(text + ".\n");
    if (!last_) return;
    char speed[64] = "";
    if (last_->decode_seconds > 0 && last_->reply_tokens > 1)
      std::snprintf(speed, sizeof speed, ", %.1f a second",
                    (last_->reply_tokens - 1) / last_->decode_seconds);
    tell("The last reply: " + std::to_string(last_->prompt_tokens) + " read, " +
         std::to_string(last_->cached_tokens) + " of them cached, " + std::to_string(last_->reply_tokens) +
         " written" + speed + ".\nIts seed: " + std::to_string(last_->seed) + ".\n");
  }

  const std::string socket_;
  const Sampling sampling_;
  const bool thinking_, at_terminal_;
  std::string system_;
  std::vector<Message> turns_;
  std::optional<Final> last_;
  Display display_;
  LineEditor editor_;
};

std::span<const Conversing::Order> Conversing::orders() {
  static constexpr Order table[] = {
      {"/help", "", "show this", &Conversing::help},
      {"/system", "TEXT", "instructions to the model; without TEXT, none", &Conversing::set_system},
      {"/retry", "", "another reply to the last message", &Conversing::retry},
      {"/tokens", "", "how full the context is, and the last reply's counts", &Conversing::tokens},
      {"/save", "FILE", "write the conversation to a file", &Conversing::save},
      {"/load", "FILE", "go on with the conversation of a file", &Conversing::load},
      {"/clear", "", "begin anew, with the same instructions", &Conversing::clear},
  };
  return table;
}

}  // namespace

int chat(const Arguments& arguments) {
  try {
    return Conversing(arguments).run();
  } catch (const ProtocolError& error) {
    throw Failure(exit_failed, error.what());
  }
}

}  // namespace lockstep::ipc::client
