// Receipts and sampling parameters as JSON, for both ends of the protocol.
#pragma once

#include "ipc/fields.h"
#include "ipc/json_writer.h"
#include "ipc/receipt.h"

namespace lockstep::ipc {

// maxTokens, temperature, topP, minP, topK, seed, stop: of those that are given.
void read_sampling(Fields& fields, Sampling& sampling);
void write_sampling(JsonWriter& json, const Sampling& sampling);

// Throws FieldError.
Receipt read_receipt(JsonValue value, const std::string& path);
void write(JsonWriter& json, const Receipt& receipt);

// Token ids. Throws FieldError.
std::vector<int32_t> read_tokens(Fields& fields, std::string_view name);
void write_tokens(JsonWriter& json, const std::vector<int32_t>& tokens);

template <class Value>
Value needed(const Fields& fields, std::string_view name, std::optional<Value> value) {
  if (!value) fields.fail(name, "is missing");
  return *std::move(value);
}

}  // namespace lockstep::ipc
