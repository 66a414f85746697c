// Devices with one planted fault each, which the contract must find.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::kernels::contract {

struct Control {
  std::string fault;
  std::string operation;
  std::unique_ptr<Device> (*make)();
};

std::vector<Control> controls();

}  // namespace lockstep::kernels::contract
