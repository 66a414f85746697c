#include "tests/rdna/assemble.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/tools/temporary_directory.h"

namespace lockstep::rdna {

std::vector<uint8_t> assemble(const Chip& chip, const std::string& text) {
  const tools::TemporaryDirectory directory;
  const std::string base = directory.path();
  const std::string source = base + "/code.s", object = base + "/code.o", said = base + "/said";
  std::ofstream(source) << ".text\n" << text;
  const std::string command = std::string(LOCKSTEP_HIP_CLANG) +
                              " -x assembler --target=amdgcn-amd-amdhsa -mcpu=" + chip.name + " -c " +
                              source + " -o " + object + " >" + said + " 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream message(said), file(object, std::ios::binary);
  const std::string words(std::istreambuf_iterator<char>(message), {});
  const std::string elf(std::istreambuf_iterator<char>(file), {});
  if (status != 0) throw std::runtime_error("the assembler refuses: " + words);
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  const auto section = [&](size_t n) {
    Elf64_Shdr s;
    std::memcpy(&s, elf.data() + header.e_shoff + n * header.e_shentsize, sizeof s);
    return s;
  };
  for (size_t n = 0; n < header.e_shnum; ++n) {
    const Elf64_Shdr s = section(n);
    if (std::strcmp(elf.data() + section(header.e_shstrndx).sh_offset + s.sh_name, ".text") == 0)
      return {elf.data() + s.sh_offset, elf.data() + s.sh_offset + s.sh_size};
  }
  throw std::runtime_error("the assembler gave no code");
}

Assembled::Assembled(const Chip& chip, const std::string& text) : bytes(assemble(chip, text)) {
  Kernel kernel{};
  kernel.name = "test";
  kernel.begin = bytes.data();
  kernel.end = bytes.data() + bytes.size();
  kernel.user_registers = 2;
  kernel.workgroup_id[0] = true;
  program = decode(chip, kernel, Disassembler(chip));
}

}  // namespace lockstep::rdna
