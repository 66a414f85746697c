// The cases of the contract, one list an operation, and the check that no operation is without one.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/contract/data.h"
#include "kernels/contract/stage.h"

namespace lockstep::kernels::contract {

// One input of one operation. `units` are what can run alone: rows, or the sequences of a round.
struct Case {
  std::string name;
  std::function<void(Stage&, const std::vector<int>& units)>
      run;                                         // puts arrays on the stage, calls the operation
  std::vector<std::vector<int>> rows;              // [units]: rows of the round of each
  std::function<void(Results&)> forget = nullptr;  // clears what the operation leaves unspecified
};

std::vector<Case> cases(const Embed*, Data&);
std::vector<Case> cases(const Norm*, Data&);
std::vector<Case> cases(const Quantize*, Data&);
std::vector<Case> cases(const Linear*, Data&);
std::vector<Case> cases(const SwiGlu*, Data&);
std::vector<Case> cases(const AttentionInputs*, Data&);
std::vector<Case> cases(const Attention*, Data&);
std::vector<Case> cases(const KvRead*, Data&);
std::vector<Case> cases(const Convolution*, Data&);
std::vector<Case> cases(const ConvolutionReplay*, Data&);
std::vector<Case> cases(const DeltaRule*, Data&);
std::vector<Case> cases(const DeltaReplay*, Data&);
std::vector<Case> cases(const Router*, Data&);
std::vector<Case> cases(const CombineExperts*, Data&);
std::vector<Case> cases(const Gather*, Data&);
std::vector<Case> cases(const Candidates*, Data&);

// An operation's name and its cases.
struct Operation {
  std::string name;
  std::vector<Case> (*make)(Data&);
};
template <class Op>
Operation operation(const char* name) {
  return {name, [](Data& data) { return cases(static_cast<const Op*>(nullptr), data); }};
}

// A device that overrides exactly the operations listed. Abstract as long as the list lacks one.
template <class... Ops>
struct Listed;
template <>
struct Listed<> : Device {
  std::string_view name() const override { return ""; }
  std::string_view description() const override { return ""; }
  void* allocate(size_t) override { return nullptr; }
  void release(void*) noexcept override {}
  void upload(void*, const void*, size_t) override {}
  void download(void*, const void*, size_t) override {}
  void copy(void*, const void*, size_t) override {}
  void wait() override {}
  std::unique_ptr<Matrix> pack(const MatrixSource&) override { return nullptr; }
  std::unique_ptr<Matrix> pack_pair(const MatrixSource&, const MatrixSource&) override { return nullptr; }
  size_t kv_page_bytes(int, int) const override { return 0; }
};
template <class Op, class... Rest>
struct Listed<Op, Rest...> : Listed<Rest...> {
  using Device::run;
  void run(const Op&) override {}
};

template <class... Ops>
struct OperationList {
  static_assert(!std::is_abstract_v<Listed<Ops...>>, "an operation of Device has no cases in the contract");
  template <size_t N>
  static std::vector<Operation> named(const char* const (&names)[N]) {
    static_assert(N == sizeof...(Ops), "one name an operation");
    size_t i = 0;
    return {operation<Ops>(names[i++])...};
  }
};

// All operations, in the order of operations.h.
inline std::vector<Operation> operations() {
  return OperationList<Embed, Norm, Quantize, Linear, SwiGlu, AttentionInputs, Attention, KvRead, Convolution,
                       ConvolutionReplay, DeltaRule, DeltaReplay, Router, CombineExperts, Gather,
                       Candidates>::named({"embed", "norm", "quantize", "linear", "swiglu",
                                           "attention_inputs", "attention", "kv_read", "convolution",
                                           "convolution_replay", "delta_rule", "delta_replay", "router",
                                           "combine_experts", "gather", "candidates"});
}

// Rows 0 to n-1, each a unit of its own.
std::vector<std::vector<int>> single_rows(int n);

// The given rows of [rows][length].
template <class T>
std::vector<T> rows_of(const std::vector<T>& all, const std::vector<int>& rows, int length) {
  std::vector<T> some;
  for (const int row : rows) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(row) * length;
    some.insert(some.end(), first, first + length);
  }
  return some;
}

}  // namespace lockstep::kernels::contract
