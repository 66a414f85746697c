// Runs the contract of the kernels on one device of this machine.
//   kernel_contract DEVICE [OPERATION...]
#include <exception>
#include <iostream>

#include "kernels/contract/contract.h"

int main(int argc, char** argv) {
  using namespace lockstep::kernels;
  if (argc < 2) {
    std::cerr << "Usage: kernel_contract DEVICE [OPERATION...]\n";
    return 2;
  }
  try {
    const std::unique_ptr<Device> device = open_device(argv[1]);
    std::cout << device->name() << ": " << device->description() << std::endl;
    contract::Options options;
    options.only.assign(argv + 2, argv + argc);
    return contract::check(*device, options, std::cout).good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
