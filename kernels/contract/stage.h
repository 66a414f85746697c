// One run of an operation on a device: its arrays, with guards around them, and what came out.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels::contract {

// An output as bytes. Row-wise outputs can be compared row by row with those of another round.
struct Array {
  std::string name;
  bool floats;    // compared as fp32, any NaN equal to any NaN
  bool row_wise;  // [rows][row_bytes]; otherwise one row
  size_t rows, row_bytes;
  std::vector<uint8_t> bytes;
};

struct Results {
  std::vector<Array> arrays;
  std::vector<std::string> problems;  // guards or inputs that were written to

  Array& array(const std::string& name);
};

// The first difference in words, or "" when there is none.
std::string difference(const Results& got, const Results& want);
// Likewise for row-wise arrays, where row i of `alone` is row rows[i] of `round`.
std::string difference_of_rows(const Results& alone, const Results& round, const std::vector<int>& rows);

class Stage {
 public:
  explicit Stage(Device& device) : device_(device) {}
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Device& device() { return device_; }

  // Read by the operation; must come back unchanged.
  template <class T>
  const T* input(const std::vector<T>& data) {
    return static_cast<const T*>(add({"", false, false, true}, 1, bytes_of(data), data.data()));
  }
  // Read and written: compared as a whole.
  template <class T>
  T* inout(const char* name, const std::vector<T>& data) {
    return static_cast<T*>(
        add({name, std::is_same_v<T, float>, false, false}, 1, bytes_of(data), data.data()));
  }
  // As above, row-wise.
  template <class T>
  T* inout_rows(const char* name, const std::vector<T>& data, int rows) {
    const auto n = static_cast<size_t>(rows);
    return static_cast<T*>(
        add({name, std::is_same_v<T, float>, true, false}, n, bytes_of(data) / n, data.data()));
  }
  // Written; poisoned beforehand, so that what is not written shows.
  template <class T>
  T* output(const char* name, int rows, int per_row) {
    return static_cast<T*>(add({name, std::is_same_v<T, float>, true, false}, static_cast<size_t>(rows),
                               static_cast<size_t>(per_row) * sizeof(T), nullptr));
  }
  // As above, compared as a whole.
  template <class T>
  T* whole_output(const std::string& name, int n) {
    return static_cast<T*>(
        add({name, std::is_same_v<T, float>, false, false}, 1, static_cast<size_t>(n) * sizeof(T), nullptr));
  }
  Blocks output_blocks(int rows, int length, int group, bool sums);
  Blocks input_blocks(const std::vector<float>& x, int rows, int length, int group, bool sums);
  // Memory whose contents are not compared; filled with 0xff bytes, which are NaN as floats.
  void* scratch(size_t bytes);

  // Waits, checks guards and inputs, brings the outputs home.
  Results finish();

 private:
  struct Use {
    std::string name;
    bool floats, row_wise, constant;
  };
  struct Region {
    Use use;
    size_t rows, row_bytes;
    void* memory;
    std::vector<uint8_t> image;  // what was uploaded, guards included
    bool compared;
  };
  template <class T>
  static size_t bytes_of(const std::vector<T>& data) {
    return data.size() * sizeof(T);
  }
  void* add(Use use, size_t rows, size_t row_bytes, const void* data);
  void check_guards(const Region&, const std::vector<uint8_t>& now, std::vector<std::string>& problems) const;

  Device& device_;
  std::vector<Region> regions_;
};

}  // namespace lockstep::kernels::contract
