#include "ipc/client/commands.h"

namespace lockstep::ipc::client {

namespace {

constexpr Option json_option = {"--json", nullptr, "print the daemon's answer as JSON"};

constexpr Option ask_options[] = {
    {"--system", "TEXT", "instructions that come before the question"},
    {"--max-tokens", "N", "end the answer after N tokens (default: when the context is full)"},
    {"--temperature", "X", "0: always the likeliest token (default: the model's own)"},
    {"--seed", "N", "the seed of sampled answers (default: derived from the question)"},
    {"--think", nullptr, "let the model think first; thoughts go to standard error"},
    {"--tools", "FILE", "functions the model may call: a JSON array; calls are printed as JSON lines"},
    json_option,
};
constexpr Option json_only[] = {json_option};

constexpr Command table[] = {
    {"ask", "QUESTION...", "Ask one question",
     "Standard input, when it is not a terminal, comes before the question as its context.\n", ask_options,
     ask},
    {"status", "", "Show what the daemon is doing", "", json_only, status},
    {"models", "", "Show what the daemon serves", "", json_only, models},
};

}  // namespace

std::span<const Command> commands() { return table; }

}  // namespace lockstep::ipc::client
