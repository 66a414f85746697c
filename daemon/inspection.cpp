#include "daemon/inspection.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "daemon/json/value.h"
#include "daemon/limits.h"
#include "daemon/printable.h"

namespace lockstep::daemon {
namespace {

// A number below 1000 of the largest unit; units are `step` apart.
std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  for (; value >= (step == 1024 ? 1024 : 1000) && unit + 1 < units.size(); ++unit) value /= step;
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && unit > 0 ? "%.1f%s" : "%.0f%s", value, units[unit]);
  return text;
}
std::string bytes(uint64_t count) {
  return scaled(static_cast<double>(count), 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}
std::string weights(int64_t count) {
  return scaled(static_cast<double>(count), 1000, {"", " k", " M", " G", " T"});
}

// Cells two blanks apart; all but the first `texts` columns are numbers and stand at the right.
using Row = std::vector<std::string>;
std::string table(const std::vector<Row>& rows, std::size_t texts) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      out += (i > 0 ? "  " : "") + (i < texts ? row[i] + blanks : blanks + row[i]);
    }
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  return out;
}

std::string model_text(const engine::Inspection& model) {
  const engine::CheckpointSummary& parts = model.parts;
  std::string out = model.family + ", " + std::to_string(model.vocabulary) + " tokens of vocabulary, " +
                    std::to_string(model.context) + " of context\n";
  out += std::to_string(parts.linear_layers + parts.full_layers) +
         " layers: " + std::to_string(parts.linear_layers) + " of linear attention, " +
         std::to_string(parts.full_layers) + " of full attention\n";
  if (model.experts)
    out += std::to_string(model.experts) + " experts a layer, " + std::to_string(model.experts_per_token) +
           " for a token\n";
  out += weights(parts.weights) + " weights, " + weights(parts.active_weights) +
         " of them multiplied for a token";
  out += model.multi_token_head ? "; with a multi-token head\n\n" : "\n\n";
  std::vector<Row> rows{{"part", "format", "tensors", "weights", "bytes"}};
  for (const engine::RoleSummary& part : parts.roles)
    rows.push_back(
        {part.role, part.format, std::to_string(part.tensors), weights(part.weights), bytes(part.bytes)});
  rows.push_back({"all", "", "", weights(parts.weights), bytes(parts.bytes)});
  return out + table(rows, 2);
}

std::string memory_text(const engine::Inspection& model) {
  std::string out = "\nOn " + model.device + ", of a memory budget of " + bytes(model.budget) + ":\n";
  std::vector<Row> rows{{"weights", bytes(model.weight_bytes)}, {"scratch", bytes(model.scratch_bytes)}};
  rows.push_back({"states of " + std::to_string(model.lanes) + " requests",
                  bytes(model.state_bytes * static_cast<uint64_t>(model.lanes))});
  rows.push_back({"KV of a token", bytes(model.position_bytes)});
  out += table(rows, 1) + "\n";
  rows = {{"context", "KV of a request", "requests at once"}};
  for (const engine::Inspection::Fit& fit : model.fits)
    rows.push_back({std::to_string(fit.context), bytes(fit.kv_bytes),
                    fit.requests > 0 ? std::to_string(std::min(fit.requests, model.lanes)) : "does not fit"});
  return out + table(rows, 0);
}

}  // namespace

std::string inspection_text(const engine::Inspection& model) {
  std::string out = printable(model.name, limits::error_bytes) + "\n";
  for (const std::string& problem : model.problems)
    out += "cannot be served: " + printable(problem, limits::error_bytes) + "\n";
  if (model.readable) out += model_text(model) + memory_text(model);
  return out;
}

std::string inspection_json(const engine::Inspection& model) {
  using json::Object;
  json::Array problems, parts, fits;
  for (const std::string& problem : model.problems) problems.emplace_back(problem);
  Object out{{"name", model.name}, {"problems", std::move(problems)}};
  if (model.readable) {
    for (const engine::RoleSummary& part : model.parts.roles)
      parts.emplace_back(Object{{"part", part.role},
                                {"format", part.format},
                                {"tensors", part.tensors},
                                {"weights", part.weights},
                                {"bytes", part.bytes}});
    for (const engine::Inspection::Fit& fit : model.fits)
      fits.emplace_back(Object{{"context", fit.context},
                               {"kvBytes", fit.kv_bytes},
                               {"requests", std::min(fit.requests, model.lanes)}});
    Object more{{"family", model.family},
                {"vocabulary", model.vocabulary},
                {"context", model.context},
                {"linearLayers", model.parts.linear_layers},
                {"fullLayers", model.parts.full_layers},
                {"experts", model.experts},
                {"expertsPerToken", model.experts_per_token},
                {"multiTokenHead", model.multi_token_head},
                {"weights", model.parts.weights},
                {"activeWeights", model.parts.active_weights},
                {"bytes", model.parts.bytes},
                {"parts", std::move(parts)},
                {"device", model.device},
                {"budget", model.budget},
                {"scratchBytes", model.scratch_bytes},
                {"stateBytes", model.state_bytes},
                {"kvBytesPerToken", model.position_bytes},
                {"fits", std::move(fits)}};
    for (json::Member& member : more) out.push_back(std::move(member));
  }
  return json::write(json::Value(std::move(out))) + "\n";
}

}  // namespace lockstep::daemon
