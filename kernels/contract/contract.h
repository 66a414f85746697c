// The contract: what every implementation of the operations must give, checked against the reference bit for
// bit (NaN equals NaN) over edge shapes and reduced served shapes, with inf and NaN planted, outputs
// poisoned, guard bytes around every array, each operation repeated, and rows run alone against the same rows
// in a round.
//
// Planted wrong devices, the controls, prove that each check can fail.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels::contract {

struct Options {
  uint32_t seed = 1;
  std::vector<std::string> only;  // names of operations; empty: all
  int every = 1;                  // of an operation's cases every n-th
  bool controls = true;
};

struct OperationResult {
  std::string operation;
  int cases = 0;
  std::vector<std::string> differences;  // one line a case that differs or breaks a rule
};
struct ControlResult {
  std::string control;    // what is wrong with the planted device
  std::string operation;  // where
  bool red;
};

struct Summary {
  std::string device;
  std::vector<OperationResult> operations;
  std::vector<ControlResult> controls;
  std::vector<std::string>
      limit_problems;  // memory and packing: what the door promises but the device breaks

  int exact() const;
  int differ() const;
  int missed() const;
  bool good() const { return differ() == 0 && missed() == 0 && limit_problems.empty(); }
};

// Names of all operations, in the order of operations.h.
std::vector<std::string> operation_names();

// Runs the contract and writes one line an operation, one line a problem, and last
// "SUMMARY <device> N ops: N exact, D differ; C controls: R red as planted, M missed; L limit problems".
Summary check(Device& candidate, const Options&, std::ostream&);

}  // namespace lockstep::kernels::contract
