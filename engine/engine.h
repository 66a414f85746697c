// The door of engine/: one model on one device, answering jobs.
//
// Threads: open() and the destructor are called by the owner. prepare*(), submit(), cancel(), status() and
// the const members may be called from any thread. A Sink is called on the engine's thread, must not block,
// and gets exactly one of done() and failed() as its last call.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/conversation.h"
#include "engine/commands.h"
#include "engine/inspection.h"
#include "engine/lanes/token_hash.h"
#include "engine/measures.h"
#include "engine/sampling/parameters.h"
#include "engine/snapshots/catalogue.h"
#include "engine/status.h"

namespace lockstep::engine {

// Why an engine could not be opened. what() is one sentence naming the thing and the remedy.
struct StartError : std::runtime_error {
  enum class Kind { model, device, memory } kind;
  StartError(Kind k, const std::string& text) : std::runtime_error(text), kind(k) {}
};

// Why a request was refused or failed.
struct RequestError : std::runtime_error {
  enum class Kind { invalid, context_overflow, busy, cancelled, failed } kind;
  std::string field;  // invalid: the part of the request that is wrong; of a ReplyForm "schema", "functions"
  RequestError(Kind k, const std::string& text, std::string f = {})
      : std::runtime_error(text), kind(k), field(std::move(f)) {}
};

struct Options {
  std::filesystem::path model;  // directory of the checkpoint
  std::string device = "auto";  // a name of devices(), or auto
  int threads = 0;              // CPU threads; 0: one a CPU
  uint64_t memory = 0;          // bytes for weights, caches, states and scratch; 0: 3/4 of what is available
  uint64_t cache = 0;           // of them, for the prompt cache; 0: half of what is left, at most 1 GiB
  int context = 0;              // positions a request may use; 0: the model's own
  int lanes = 16;               // requests served at once
  int queue = 64;               // requests waiting for a lane; more are refused as busy
  int chunk = 512;              // prompt tokens of a round
  // Prefixes that outlive the engine: a directory of their own (empty: none) and its most bytes.
  std::filesystem::path snapshots;
  uint64_t snapshot_budget = uint64_t(4) << 30;
};

struct ModelInfo {
  std::string name;         // the directory's name
  std::string family;       // "qwen3_5", "qwen3_5_moe"
  std::string fingerprint;  // SHA-256, hex
  int canon_version;
  int context;  // positions a request may use
  int vocabulary;
  int64_t created;     // the checkpoint's time, seconds since 1970
  std::string device;  // implementation that runs
  std::string device_description;
  Footprint footprint;
};

class Grammar;

struct Prompt {
  std::vector<int32_t> tokens;
  bool in_reasoning = false;            // the reply begins inside a thought
  bool chat = false;                    // the reply is parsed for reasoning and tool calls
  std::vector<std::string> tools;       // of the conversation
  bool single_call = false;             // the reply ends with its first call
  std::shared_ptr<const Grammar> form;  // what the reply must be; none: anything
  std::vector<std::string> unenforced;  // words of the request's schemas that `form` does not hold to
};

struct TokenLogprob {
  int32_t token;
  std::string bytes;  // empty: a special token, which is not part of the text
  float logprob;
  struct Top {
    int32_t token;
    std::string bytes;
    float logprob;
  };
  std::vector<Top> top;
};

struct Delta {
  std::string reasoning, content;  // valid UTF-8
  struct Call {
    int index;
    std::string name;       // in the first piece of a call
    std::string arguments;  // JSON text, to be joined
  };
  std::vector<Call> calls;
  std::vector<TokenLogprob> logprobs;
  std::vector<TokenLogprob>
      prompt;  // if wanted, before all else; with names of special tokens; the first is NaN
};

enum class Finish { stop, length, tool_calls };

struct Reply {
  Finish finish;
  std::string stop;  // the stop string that ended it, or empty
  int prompt_tokens = 0, cached_tokens = 0, reasoning_tokens = 0;
  std::vector<int32_t> tokens;  // the end token included
  std::string token_sha;        // token_sha(tokens)
  std::string prompt_sha;       // of the prompt's tokens
  uint64_t seed = 0;
  double queue_seconds = 0, prompt_seconds = 0, decode_seconds = 0;
  std::vector<KernelTime> kernel_times;  // if Job::time_kernels: longest first; empty where none are timed
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void progress(int read, int total) = 0;  // prompt tokens read so far
  virtual void delta(Delta&&) = 0;
  virtual void done(Reply&&) = 0;
  virtual void failed(const RequestError&) = 0;
};

struct Job {
  Prompt prompt;
  Sampling sampling;
  std::shared_ptr<Sink> sink;
  uint64_t owner = 0;         // those of one owner take turns with those of others while they wait
  bool time_kernels = false;  // each kernel runs by itself meanwhile and is timed, those of others too
};
using JobId = uint64_t;

// For the log.
struct Notice {
  bool detail;  // how things work inside; else something that the operator should know
  std::string text;
};

class Engine {
 public:
  // Loads the model and produces a first token. `progress` gets one line at a time for the log.
  // Throws StartError.
  static std::unique_ptr<Engine> open(const Options&,
                                      const std::function<void(const std::string&)>& progress);
  virtual ~Engine() = default;

  virtual const ModelInfo& model() const = 0;
  virtual Sampling default_sampling() const = 0;  // of generation_config.json

  // Throw RequestError (invalid, context_overflow).
  virtual Prompt prepare(const Conversation&) const = 0;
  virtual std::string render(const Conversation&) const = 0;  // the prompt's text as the template wrote it
  // `special`: names of added tokens in the text are those tokens, else they are text.
  virtual std::vector<int32_t> tokenize(std::string_view text, bool special = false) const = 0;
  virtual std::string detokenize(std::span<const int32_t>) const = 0;

  // Throws RequestError: invalid, context_overflow, busy.
  virtual JobId submit(Job) = 0;
  virtual void cancel(JobId) = 0;  // its sink gets failed(cancelled) unless it is over already
  virtual Status status() const = 0;

  // Called from the engine's loop about twice a second, also when idle, and once after a fault.
  virtual void on_beat(std::function<void()>) = 0;
  // Called from any thread. What should be known from before comes at once.
  virtual void on_notice(std::function<void(const Notice&)>) = 0;
};

// Names that Options::device takes on this machine.
std::vector<std::string> devices();

}  // namespace lockstep::engine
