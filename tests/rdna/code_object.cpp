#include "tests/rdna/code_object.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lockstep::rdna {

namespace {

constexpr int machine_amdgpu = 224;         // EM_AMDGPU
constexpr uint32_t machine_gfx1201 = 0x4e;  // EF_AMDGPU_MACH; RDNA4 has no IEEE mode
constexpr size_t page = 4096, slack = 256;  // instructions are fetched ahead

template <class T>
T read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

uint32_t bits(uint32_t word, int first, int count) { return word >> first & ((1u << count) - 1); }

// .max_flat_workgroup_size of a kernel in the metadata note: MessagePack, keys in order, its .name comes
// next.
unsigned most_threads_of(const std::string& file, const std::string& name) {
  static const std::string key = ".max_flat_workgroup_size";
  for (size_t at = file.find(key); at != std::string::npos; at = file.find(key, at + 1)) {
    const auto* value = reinterpret_cast<const uint8_t*>(file.data() + at + key.size());
    const bool wide = *value == 0xcd, byte = *value == 0xcc;
    const unsigned size = wide ? value[1] * 256u + value[2] : byte ? value[1] : *value;
    const std::string next = file.substr(at + key.size() + (wide ? 3 : byte ? 2 : 1), 64);
    const size_t start =
        next.find(".name") + 6;  // a short string's length is in its first byte, a longer one's behind
    if (next.compare(start, name.size(), name) == 0 || next.compare(start + 1, name.size(), name) == 0)
      return size;
  }
  throw std::runtime_error("the metadata does not have the kernel " + name);
}

}  // namespace

void CodeObject::Free::operator()(uint8_t* p) const { std::free(p); }

CodeObject::CodeObject(const void* data) {
  const auto* file = static_cast<const uint8_t*>(data);
  const auto header = read<Elf64_Ehdr>(file);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != machine_amdgpu)
    throw std::runtime_error("this is no code object for an AMD chip");
  target_ = header.e_flags & 0xff;
  const auto segment = [&](int i) {
    return read<Elf64_Phdr>(file + header.e_phoff + static_cast<size_t>(i) * header.e_phentsize);
  };
  for (int i = 0; i < header.e_phnum; ++i) {
    if (segment(i).p_type == PT_LOAD)
      bytes_ = std::max<size_t>(bytes_, segment(i).p_vaddr + segment(i).p_memsz);
  }
  bytes_ = (bytes_ + slack + page - 1) / page * page;
  memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(page, bytes_)));
  std::memset(memory_.get(), 0, bytes_);
  for (int i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr s = segment(i);
    if (s.p_type == PT_LOAD) std::memcpy(memory_.get() + s.p_vaddr, file + s.p_offset, s.p_filesz);
  }
  read_symbols(file);
}

void CodeObject::read_symbols(const uint8_t* file) {
  const auto header = read<Elf64_Ehdr>(file);
  const auto section = [&](size_t i) {
    return read<Elf64_Shdr>(file + header.e_shoff + i * header.e_shentsize);
  };
  struct Symbol {
    std::string name;
    uint64_t at, bytes;
  };
  std::vector<Symbol> symbols;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) continue;
    const auto* names = reinterpret_cast<const char*>(file + section(table.sh_link).sh_offset);
    for (uint64_t at = 0; at < table.sh_size; at += table.sh_entsize) {
      const auto symbol = read<Elf64_Sym>(file + table.sh_offset + at);
      symbols.push_back({names + symbol.st_name, symbol.st_value, symbol.st_size});
    }
  }
  const std::string whole(reinterpret_cast<const char*>(file), header.e_shoff);
  for (const Symbol& descriptor : symbols) {
    if (!descriptor.name.ends_with(".kd")) continue;
    const std::string name = descriptor.name.substr(0, descriptor.name.size() - 3);
    for (const Symbol& code : symbols) {
      if (code.name != name) continue;
      kernels_.push_back(read_descriptor(name, descriptor.at, code.bytes));
      kernels_.back().most_threads = most_threads_of(whole, name);
    }
  }
}

// The fields of kernel_descriptor_t, compute_pgm_rsrc1 and 2 that matter here; each other one must be as
// compilers leave it for kernels without scratch.
Kernel CodeObject::read_descriptor(const std::string& name, uint64_t at, uint64_t code_bytes) const {
  const uint8_t* d = memory_.get() + at;
  const auto rsrc1 = read<uint32_t>(d + 48), rsrc2 = read<uint32_t>(d + 52);
  const auto properties = read<uint16_t>(d + 56);
  const auto refuse = [&](const char* why) {
    throw std::runtime_error("the kernel " + name + " " + why + ", which the emulator does not have");
  };
  Kernel kernel;
  kernel.name = name;
  kernel.begin = d + read<int64_t>(d + 16);
  kernel.end = kernel.begin + code_bytes;
  kernel.lds_bytes = read<uint32_t>(d);
  kernel.argument_bytes = read<uint32_t>(d + 8);
  kernel.user_registers = static_cast<int>(bits(rsrc2, 1, 5));
  for (int axis = 0; axis < 3; ++axis) kernel.workgroup_id[axis] = bits(rsrc2, 7 + axis, 1);
  if (read<uint32_t>(d + 4) != 0) refuse("uses scratch memory");
  if (bits(rsrc1, 12, 4) != 0) refuse("rounds other than to the nearest");
  if (bits(rsrc1, 16, 4) != 15) refuse("flushes denormal numbers");
  if (target_ != machine_gfx1201 && !bits(rsrc1, 23, 1)) refuse("is not in the IEEE mode");
  if (!bits(properties, 10, 1)) refuse("has waves of 64 lanes");
  if (bits(rsrc2, 10, 1)) refuse("asks for workgroup information");
  if (bits(rsrc2, 11, 2) != 0) refuse("uses work-items in more than one dimension");
  if (bits(properties, 0, 7) & ~0x09u) refuse("wants more than its arguments in scalar registers");
  if (read<uint16_t>(d + 58) != 0) refuse("has its arguments loaded ahead");
  // The descriptor of a scratch buffer comes first where it is asked for: four registers.
  kernel.argument_register = bits(properties, 0, 1) ? 4 : 0;
  return kernel;
}

}  // namespace lockstep::rdna
