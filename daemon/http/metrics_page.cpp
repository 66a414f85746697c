#include "daemon/http/metrics_page.h"

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

void add_engine(const engine::Engine& engine, std::string& out) {
  const engine::Status status = engine.status();
  const engine::ModelInfo& model = engine.model();
  out += "# TYPE lockstep_model_info gauge\nlockstep_model_info{model=" + quoted(model.name) +
         ",fingerprint=" + quoted(model.fingerprint) + ",canon=\"" + std::to_string(model.canon_version) +
         "\",device=" + quoted(model.device) + "} 1\n";
  add(out, "lockstep_context_tokens", "gauge", model.context);
  add(out, "lockstep_requests_active", "gauge", status.active);
  add(out, "lockstep_requests_waiting", "gauge", status.queued);
  out += "# TYPE lockstep_requests_total counter\n";
  for (const auto& [how, count] :
       {std::pair{"served", status.served}, std::pair{"cancelled", status.cancelled},
        std::pair{"refused", status.refused}, std::pair{"failed", status.failed}})
    out += std::string("lockstep_requests_total{end=\"") + how + "\"} " + std::to_string(count) + "\n";
  counter(out, "lockstep_prompt_tokens_total", status.prompt_tokens);
  counter(out, "lockstep_reply_tokens_total", status.reply_tokens);
  counter(out, "lockstep_rounds_total", status.rounds);
  out += "# TYPE lockstep_cache_lookups_total counter\n";
  out += "lockstep_cache_lookups_total{kind=\"hit\"} " + std::to_string(status.cache.hits) + "\n";
  out += "lockstep_cache_lookups_total{kind=\"miss\"} " + std::to_string(status.cache.misses) + "\n";
  counter(out, "lockstep_cache_stored_total", status.cache.stored);
  counter(out, "lockstep_cache_evicted_total", status.cache.evicted);
  counter(out, "lockstep_cache_reused_tokens_total", status.cache.reused_tokens);
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
