// What the GPU operations need of a vendor's runtime: memory, one stream, kernels by name. The CUDA driver
// (cuda.h) and HIP (hip.h) are loaded when they are asked for; the program needs neither to start.
//
// Threads: one thread makes every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::kernels::gpu {

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual std::string_view name() const = 0;         // "cuda", "hip"
  virtual std::string_view description() const = 0;  // chip and memory
  // Of the chip's code: rows that the smallest linear layers are made for (tiles.h).
  virtual int fewest_rows() const = 0;
  virtual int multiprocessors() const { return 1; }
  virtual bool has_matrix_unit() const { return true; }
  virtual bool copies_ahead() const { return true; }  // stream.h takes shared memory

  // As in Device. Work is done in call order and may still be running when a call returns.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual uint64_t free_memory() = 0;
  virtual void upload(void* to, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* from, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void wait() = 0;

  // Kernels that are started at once. Between begin_graph() and end_graph() launches are kept instead of
  // started, and nothing but launch() of kernels that ran before, and copy(), may be called.
  struct Graph {
    virtual ~Graph() = default;
  };
  virtual bool has_graphs() const { return false; }
  virtual void begin_graph() {}
  virtual std::unique_ptr<Graph> end_graph() { return nullptr; }
  virtual void start(const Graph&) {}

  // A place in the order of the work. The time between two is known once both have been waited for.
  struct Mark {
    virtual ~Mark() = default;
  };
  virtual std::unique_ptr<Mark> mark() = 0;
  virtual double seconds(const Mark& from, const Mark& to) = 0;

  // Starts a kernel; args points to its one struct, which is copied.
  virtual void launch(const std::string& kernel, Grid blocks, unsigned threads, size_t shared_bytes,
                      const void* args) = 0;
};

// In mebibytes, for messages.
inline std::string mebibytes(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }
// What an OutOfMemory says.
inline std::string memory_problem(size_t bytes, size_t free, size_t total) {
  return "cannot allocate " + mebibytes(bytes + (1 << 20) - 1) + " of GPU memory: " + mebibytes(free) +
         " of " + mebibytes(total) + " are free";
}

// A vendor's compiled kernels for one chip, in this program.
struct CodeObject {
  const char* chip;    // "sm_90", "gfx1100"
  const char* source;  // which file of kernels/gpu
  const unsigned char *begin, *end;
};
// All of them; the build makes the list.
std::vector<CodeObject> code_objects();
// Those of one chip.
std::vector<CodeObject> code_objects_of(std::string_view chip);
// The chips there is code for that start with the prefix, for messages: "gfx1030, gfx1100".
std::string chips_with_code(std::string_view prefix);

}  // namespace lockstep::kernels::gpu
