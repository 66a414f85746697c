// SHA-256 over token ids as little-endian u32.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lockstep::engine {

std::string token_sha(std::span<const int32_t> tokens);      // lower-case hex
uint64_t seed_from_tokens(std::span<const int32_t> tokens);  // first 8 bytes of the hash, little-endian

}  // namespace lockstep::engine
