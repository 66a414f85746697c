#include "daemon/http/metrics_page.h"

#include <initializer_list>
#include <utility>
#include <vector>

namespace lockstep::daemon::http {
namespace {

void add(std::string& out, const char* name, const char* type, double value) {
  out +=
      std::string("# TYPE ") + name + " " + type + "\n" + name + " " + json::write(json::Value(value)) + "\n";
}

void counter(std::string& out, const char* name, uint64_t value) {
  out += std::string("# TYPE ") + name + " counter\n" + name + " " + std::to_string(value) + "\n";
}

// As the label of a metric.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// A counter with a value for each of a label's values.
template <class Values>
void counters(std::string& out, const char* name, const char* label, const Values& values) {
  out += std::string("# TYPE ") + name + " counter\n";
  for (const auto& [value, count] : values)
    out += std::string(name) + "{" + label + "=\"" + value + "\"} " + std::to_string(count) + "\n";
}

using Counts = std::initializer_list<std::pair<std::string, uint64_t>>;

void add_drafts(const engine::Status& status, std::string& out) {
  std::vector<std::pair<std::string, uint64_t>> guessed, right;
  for (const engine::Status::Depth& depth : status.drafts) {
    guessed.emplace_back(std::to_string(guessed.size() + 1), depth.guessed);
    right.emplace_back(std::to_string(right.size() + 1), depth.right);
  }
  counters(out, "lockstep_draft_guesses_total", "depth", guessed);
  counters(out, "lockstep_draft_right_total", "depth", right);
}

void add_caches(const engine::Status& status, std::string& out) {
  const engine::Status::Cache& cache = status.cache;
  counters(out, "lockstep_cache_lookups_total", "kind", Counts{{"hit", cache.hits}, {"miss", cache.misses}});
  counters(out, "lockstep_prompts_begun_total", "from",
           Counts{{"nothing", status.begun_new},
                  {"memory", status.begun_from_memory},
                  {"disk", status.begun_from_disk}});
  counters(
      out, "lockstep_cache_stops_total", "why",
      Counts{{"new", cache.ended_new}, {"differs", cache.ended_differs}, {"evicted", cache.ended_evicted}});
  counter(out, "lockstep_cache_stored_total", cache.stored);
  counter(out, "lockstep_cache_evicted_total", cache.evicted);
  counter(out, "lockstep_cache_reused_tokens_total", cache.reused_tokens);
  const engine::Status::Snapshots& disk = status.snapshots;
  if (!disk.on) return;
  counter(out, "lockstep_snapshots_stored_total", disk.stored);
  counter(out, "lockstep_snapshots_evicted_total", disk.evicted);
  counter(out, "lockstep_snapshots_skipped_total", disk.skipped);
  counter(out, "lockstep_snapshots_corrupt_total", disk.corrupt);
  counter(out, "lockstep_snapshots_reused_tokens_total", disk.reused_tokens);
  counter(out, "lockstep_snapshots_written_bytes_total", disk.written_bytes);
  add(out, "lockstep_snapshots_bytes", "gauge", static_cast<double>(disk.bytes));
  add(out, "lockstep_snapshots_budget_bytes", "gauge", static_cast<double>(disk.budget));
}

void add_engine(const engine::Engine& engine, std::string& out) {
  const engine::Status status = engine.status();
  const engine::ModelInfo& model = engine.model();
  out += "# TYPE lockstep_model_info gauge\nlockstep_model_info{model=" + quoted(model.name) +
         ",fingerprint=" + quoted(model.fingerprint) + ",canon=\"" + std::to_string(model.canon_version) +
         "\",device=" + quoted(model.device) + "} 1\n";
  add(out, "lockstep_context_tokens", "gauge", model.context);
  add(out, "lockstep_requests_active", "gauge", status.active);
  add(out, "lockstep_requests_waiting", "gauge", status.queued);
  counters(out, "lockstep_requests_total", "end",
           Counts{{"served", status.served},
                  {"cancelled", status.cancelled},
                  {"refused", status.refused},
                  {"failed", status.failed}});
  counter(out, "lockstep_prompt_tokens_total", status.prompt_tokens);
  counter(out, "lockstep_reply_tokens_total", status.reply_tokens);
  counter(out, "lockstep_rounds_total", status.rounds);
  add_drafts(status, out);
  add_caches(status, out);
  out += "# TYPE lockstep_memory_bytes gauge\n";
  for (const engine::Status::Pool& pool : status.memory)
    out += "lockstep_memory_bytes{pool=" + quoted(pool.name) + "} " + std::to_string(pool.bytes) + "\n";
  out += "# TYPE lockstep_memory_used_bytes gauge\n";
  for (const engine::Status::Pool& pool : status.memory)
    out += "lockstep_memory_used_bytes{pool=" + quoted(pool.name) + "} " + std::to_string(pool.used) + "\n";
}

}  // namespace

Response metrics_page(const Service& service) {
  std::string out;
  add(out, "lockstep_uptime_seconds", "gauge", service.uptime().count());
  add(out, "lockstep_ready", "gauge", service.state() == Service::State::ready);
  add(out, "lockstep_requests_in_work", "gauge", service.requests());
  service.metrics().print(out);
  if (service.has_engine()) add_engine(service.engine(), out);
  return {200, std::move(out), {}, "text/plain; version=0.0.4"};
}

}  // namespace lockstep::daemon::http
