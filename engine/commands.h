// What lockstepd does with a model or a device besides serving. Part of the door, engine.h.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace lockstep::engine {

class Engine;
struct Options;
struct Inspection;

// What the checkpoint of the options consists of, what is wrong with it, and what it needs here. Throws
// StartError (device, memory).
Inspection inspect(const Options&);
// `lockstepd selftest`: every operation of a device against the reference. False when one differs. Throws
// StartError.
bool self_test(std::ostream&, const std::string& device, int threads);

// Speeds as tables for people: single operations beside what the machine can do; and a model's prompts, its
// decoding beside a copy of the device's memory, and the time of each kernel. Throw StartError.
void bench_kernels(std::ostream&, const std::string& device, int threads);
void bench_model(std::ostream&, const Options&);
// Chats at several numbers of streams, drafted beside undrafted. False when a reply is not the one that the
// same request gets alone and undrafted. Throws StartError.
struct ConcurrentBench {
  std::vector<int> levels = {1, 4, 8, 16};  // streams
  bool alone = false,
       serial = false;  // also the speeds of one request at a time: its own, and of all in turn
};
bool bench_concurrent(std::ostream&, const Options&, ConcurrentBench);
// Time to the first token of a prompt that is new, known in memory, and known on disk; and what the turns of
// conversations read. False when replies differ or more was read than is new. Throw StartError.
bool bench_cache(std::ostream&, const Options&);
bool bench_chat(std::ostream&, const Options&);
// The gaps between a stream's tokens while a prompt of 3,000 tokens, or half the context, is read beside it.
// False when a prompt of 20 tokens that came later was not answered first. Throws StartError.
bool bench_gap(std::ostream&, const Options&);

// The laws tried on the model: drafted = undrafted, concurrent = solo, resumed = fresh from memory and, after
// a kill, from disk, chunked = whole, one device = another. Loads the model twice. False when one is broken.
// Throws StartError.
bool check_laws(std::ostream&, const Options&, int trials, unsigned seed);

struct LawCount {
  std::string law;
  int passed = 0, failed = 0;
  std::string skipped{};  // why, if it was
};
// The laws that can be tried on an engine while it serves others, with few requests at once that wait behind
// all others. `tell` gets a law's counts whenever they have grown, and ends the check by false. Throws
// StartError when a request fails.
std::vector<LawCount> check_served(Engine&, int trials, unsigned seed,
                                   const std::function<bool(const LawCount&)>& tell);

}  // namespace lockstep::engine
