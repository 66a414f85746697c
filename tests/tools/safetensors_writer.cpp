#include "tests/tools/safetensors_writer.h"

#include <stdexcept>

namespace lockstep::tools {

uint64_t WrittenTensor::bytes() const {
  uint64_t count = dtype == "BF16" || dtype == "F16" ? 2 : 4;
  for (int64_t length : shape) count *= static_cast<uint64_t>(length);
  return count;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<WrittenTensor>& tensors, const std::string& format)
    : path_(path), out_(path, std::ios::binary | std::ios::trunc) {
  std::string header = "{\"__metadata__\":{\"format\":\"" + format + "\"}";
  for (const WrittenTensor& tensor : tensors) {
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
    for (size_t i = 0; i < tensor.shape.size(); i++)
      header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(left_) + ",";
    left_ += tensor.bytes();
    header += std::to_string(left_) + "]}";
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = static_cast<unsigned char>(header.size() >> 8 * i);
  out_.write(reinterpret_cast<const char*>(length), sizeof length);
  out_.write(header.data(), static_cast<std::streamsize>(header.size()));
  if (!out_) throw std::runtime_error("cannot write " + path_.string());
}

void SafetensorsWriter::write(const void* data, size_t bytes) {
  if (bytes > left_) throw std::runtime_error("too many bytes for " + path_.string());
  left_ -= bytes;
  out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

void SafetensorsWriter::close() {
  if (left_ != 0) throw std::runtime_error("too few bytes for " + path_.string());
  out_.close();
  if (!out_) throw std::runtime_error("cannot write " + path_.string());
}

}  // namespace lockstep::tools
