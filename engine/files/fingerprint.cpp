#include "engine/files/fingerprint.h"

#include <openssl/evp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "engine/files/host_buffer.h"

namespace lockstep::engine {

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  void update(const void* data, size_t bytes) {
    if (EVP_DigestUpdate(context_.get(), data, bytes) != 1) throw std::bad_alloc();
  }
  std::string hex() {
    unsigned char digest[32];
    if (EVP_DigestFinal_ex(context_.get(), digest, nullptr) != 1) throw std::bad_alloc();
    std::string text;
    for (unsigned char byte : digest) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string digest_of(const WeightFiles::Place& place, HostBuffer& buffer) {
  Sha256 sha;
  const uint64_t bytes = place.tensor->info.bytes;
  for (uint64_t done = 0; done < bytes;) {
    const size_t part = std::min<uint64_t>(buffer.size(), bytes - done);
    place.file->file.read(place.tensor->offset + done, buffer.data(), part);
    sha.update(buffer.data(), part);
    done += part;
  }
  return sha.hex();
}

// Digests in the order of files.tensors.
std::vector<std::string> digests_of(const WeightFiles& files) {
  std::vector<const WeightFiles::Place*> places;
  for (const auto& [name, place] : files.tensors) places.push_back(&place);
  std::vector<std::string> digests(places.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      HostBuffer buffer(size_t{1} << 20);
      for (size_t i; (i = next++) < places.size();) digests[i] = digest_of(*places[i], buffer);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = places.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    for (unsigned i = 1; i < count; i++) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return digests;
}

class Lines {
 public:
  void add(std::string_view key, std::string_view value) {
    ((text += key) += ' ') += value;
    text += '\n';
  }
  // The shortest decimal that reads back as the same number.
  template <typename Number>
  void number(std::string_view key, Number value) {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    add(key, std::string_view(digits, static_cast<size_t>(end - digits)));
  }
  std::string text;
};

void add_config(Lines& lines, const ModelConfig& c) {
  lines.add("family", c.model_type);
  lines.number("vocabulary", c.vocabulary);
  lines.number("hidden", c.hidden);
  lines.number("norm_eps", c.norm_eps);
  lines.number("tied_head", static_cast<int>(c.tied_head));
  std::string layers;
  for (LayerKind kind : c.layers) layers += kind == LayerKind::full_attention ? 'f' : 'l';
  lines.add("layers", layers);
  lines.number("query_heads", c.query_heads);
  lines.number("key_heads", c.key_heads);
  lines.number("head_dim", c.head_dim);
  lines.number("rotary_dim", c.rotary_dim);
  lines.number("rope_theta", c.rope_theta);
  lines.number("delta_key_heads", c.delta_key_heads);
  lines.number("delta_value_heads", c.delta_value_heads);
  lines.number("delta_key_dim", c.delta_key_dim);
  lines.number("delta_value_dim", c.delta_value_dim);
  lines.number("conv_taps", c.conv_taps);
  lines.number("intermediate", c.intermediate);
  lines.number("experts", c.experts);
  lines.number("experts_per_token", c.experts_per_token);
  lines.number("expert_intermediate", c.expert_intermediate);
  lines.number("shared_intermediate", c.shared_intermediate);
  lines.number("mtp_layers", c.mtp_layers);
  for (int32_t token : c.end_tokens) lines.number("end_token", token);
}

}  // namespace

std::string sha256(std::string_view text) {
  Sha256 sha;
  sha.update(text.data(), text.size());
  return sha.hex();
}

std::string fingerprint_text(const ModelConfig& config, const WeightFiles& files) {
  Lines lines;
  lines.add("lockstep", "model 1");
  add_config(lines, config);
  const std::vector<std::string> digests = digests_of(files);
  size_t i = 0;
  for (const auto& [name, place] : files.tensors) {
    std::string value = name + ' ' + std::string(name_of(place.tensor->info.type));
    for (int64_t length : place.tensor->info.shape) value += ' ' + std::to_string(length);
    lines.add("tensor", value + ' ' + digests[i++]);
  }
  return std::move(lines.text);
}

}  // namespace lockstep::engine
