#include "ipc/client/commands.h"

namespace lockstep::ipc::client {

namespace {

constexpr Option json_option = {"--json", nullptr, "print the daemon's answer as JSON"};

constexpr Option max_tokens_option = {"--max-tokens", "N",
                                      "end the answer after N tokens (default: when the context is full)"};
constexpr Option temperature_option = {"--temperature", "X",
                                       "0: always the likeliest token (default: the model's own)"};
constexpr Option seed_option = {"--seed", "N",
                                "the seed of sampled answers (default: derived from the question)"};

constexpr Option receipt_option = {"--receipt", "FILE", "write what recomputes the answer, for verify"};
constexpr Option tokens_option = {"--tokens", nullptr, "print the token ids of the answer instead of it"};

constexpr Option ask_options[] = {
    {"--system", "TEXT", "instructions that come before the question"},
    max_tokens_option,
    temperature_option,
    seed_option,
    {"--think", nullptr, "let the model think first; thoughts go to standard error"},
    {"--tools", "FILE", "functions the model may call: a JSON array; calls are printed as JSON lines"},
    receipt_option,
    tokens_option,
    json_option,
};
constexpr Option chat_options[] = {
    {"--system", "TEXT", "instructions to the model"},
    max_tokens_option,
    temperature_option,
    seed_option,
    {"--think", nullptr, "let the model think before it answers"},
};
constexpr Option complete_options[] = {
    max_tokens_option, temperature_option, seed_option, {"--stop", "TEXT", "end the answer before TEXT"},
    receipt_option,    tokens_option,      json_option,
};
constexpr Option tokenize_options[] = {
    {"--chat", nullptr, "of the whole prompt that ask makes of the text"},
    {"--count", nullptr, "only their number"},
    json_option,
};
constexpr Option status_options[] = {
    {"--watch", nullptr, "until interrupted, again whenever it changes; with --json a line a change"},
    json_option,
};
constexpr Option check_options[] = {
    {"--trials", "N", "random requests for each law, 1 to 1000 (default: 20)"},
    {"--seed", "N", "of the random requests (default: 1)"},
    json_option,
};
constexpr Option device_option = {"--device", "NAME", "auto, cuda, hip, cpu-avx512, ... (default: auto)"};
constexpr Option self_test_options[] = {device_option};
constexpr Option bench_options[] = {
    device_option,
    {"--model", "DIR", "a checkpoint, for all but kernels (default: the configured one)"},
};
constexpr Option json_only[] = {json_option};

constexpr Command table[] = {
    {"ask", "QUESTION...", "Ask one question",
     "Standard input, when it is not a terminal, comes before the question as its context.\n", ask_options,
     ask},
    {"chat", "", "Have a conversation", "/help shows what can be done in it.\n", chat_options, chat},
    {"complete", "TEXT...", "Continue a text as it is, without the model's chat format",
     "Without TEXT it is standard input.\n", complete_options, complete},
    {"verify", "FILE", "Compute the answer of a receipt anew, and compare",
     "A receipt is what ask --receipt writes. Exit status 5: it differs.\n", json_only, verify},
    {"tokenize", "TEXT...", "Show the token ids of a text", "Without TEXT it is standard input.\n",
     tokenize_options, tokenize},
    {"status", "", "Show what the daemon is doing", "", status_options, status},
    {"models", "", "Show what the daemon serves", "", json_only, models},
    {"inspect", "DIR", "Show what a checkpoint consists of and needs here",
     "It is read by lockstepd's inspect; nothing is loaded.\n", json_only, inspect},
    {"check", "", "Try the laws on the model that is served", "Its requests wait behind all others.\n",
     check_options, check},
    {"snapshots", "list|verify|remove", "Show, verify or remove what is kept on disk",
     "A directory may follow. verify and remove are done by lockstepd.\n", json_only, snapshots},
    {"selftest", "", "Check the kernels of this machine against the reference",
     "It is done by lockstepd's selftest, beside a daemon that runs.\n", self_test_options, self_test},
    {"bench", "kernels|model|concurrent|cache|chat|gap", "Measure speeds, and compare the replies",
     "It is done by lockstepd's bench, which loads the model for itself.\n", bench_options, bench},
    {"cancel", "ID", "End a request that status shows", "", json_only, cancel},
    {"completion", "bash|zsh|fish", "Print the completions of a shell", "", {}, completion},
};

}  // namespace

std::span<const Command> commands() { return table; }

}  // namespace lockstep::ipc::client
