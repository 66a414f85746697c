#include "kernels/contract/contract.h"

#include <algorithm>
#include <numeric>
#include <ostream>

#include "kernels/contract/cases.h"
#include "kernels/contract/controls.h"
#include "kernels/contract/limits.h"
#include "kernels/reference/reference.h"

namespace lockstep::kernels::contract {

namespace {

Results run(Device& device, const Case& c, const std::vector<int>& units) {
  Stage stage(device);
  c.run(stage, units);
  Results results = stage.finish();
  if (c.forget) c.forget(results);
  return results;
}

// What is wrong with one case, or "": the round twice against the reference, then some of its units alone.
std::string problem_of(Device& candidate, Device& reference, const Case& c) {
  std::vector<int> all(c.rows.size());
  std::iota(all.begin(), all.end(), 0);
  const Results want = run(reference, c, all), got = run(candidate, c, all);
  std::string text = difference(got, want);
  if (!text.empty()) return text;
  text = difference(run(candidate, c, all), want);
  if (!text.empty()) return text + " (when repeated)";
  if (all.size() < 2) return "";
  const int last = all.back();
  for (const int unit : {0, last / 2, last}) {
    text = difference_of_rows(run(candidate, c, {unit}), got, c.rows[static_cast<size_t>(unit)]);
    if (!text.empty()) return text;
  }
  return "";
}

std::string safely(Device& candidate, Device& reference, const Case& c) {
  try {
    return problem_of(candidate, reference, c);
  } catch (const std::exception& error) {
    return std::string("failed: ") + error.what();
  }
}

OperationResult check_operation(Device& candidate, Device& reference, const Operation& operation,
                                const Options& options, bool stop_at_first) {
  Data data(options.seed);
  OperationResult result{operation.name, 0, {}};
  int index = 0;
  for (const Case& c : operation.make(data)) {
    if (index++ % options.every != 0) continue;
    ++result.cases;
    const std::string text = safely(candidate, reference, c);
    if (text.empty()) continue;
    result.differences.push_back(c.name + ": " + text);
    if (stop_at_first) break;
  }
  return result;
}

bool wanted(const Options& options, const std::string& name) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), name) != options.only.end();
}

void print(const OperationResult& result, std::ostream& out) {
  out << result.operation << ": " << result.cases << " cases, ";
  if (result.differences.empty()) {
    out << "exact\n";
    return;
  }
  out << result.differences.size() << " DIFFER\n";
  for (const std::string& text : result.differences) out << "  " << text << "\n";
}

}  // namespace

int Summary::exact() const { return static_cast<int>(operations.size()) - differ(); }
int Summary::differ() const {
  return static_cast<int>(std::count_if(operations.begin(), operations.end(),
                                        [](const OperationResult& r) { return !r.differences.empty(); }));
}
int Summary::missed() const {
  return static_cast<int>(
      std::count_if(controls.begin(), controls.end(), [](const ControlResult& c) { return !c.red; }));
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.push_back(operation.name);
  return names;
}

Summary check(Device& candidate, const Options& options, std::ostream& out) {
  const std::unique_ptr<Device> reference = open_reference();
  Summary summary;
  summary.device = candidate.name();
  const std::vector<Operation> all = operations();
  for (const Operation& operation : all) {
    if (!wanted(options, operation.name)) continue;
    summary.operations.push_back(check_operation(candidate, *reference, operation, options, false));
    print(summary.operations.back(), out);
  }
  if (options.controls) {
    for (const Control& control : controls()) {
      const auto operation = std::find_if(all.begin(), all.end(),
                                          [&](const Operation& o) { return o.name == control.operation; });
      if (!wanted(options, control.operation)) continue;
      const std::unique_ptr<Device> faulty = control.make();
      const bool red = !check_operation(*faulty, *reference, *operation, options, true).differences.empty();
      summary.controls.push_back({control.fault, control.operation, red});
      if (!red) out << "control MISSED: " << control.operation << ": " << control.fault << "\n";
    }
  }
  summary.limit_problems = limit_problems(candidate);
  for (const std::string& text : summary.limit_problems) out << "limit: " << text << "\n";
  const auto controls_run = static_cast<int>(summary.controls.size());
  out << "SUMMARY " << summary.device << " " << summary.operations.size() << " ops: " << summary.exact()
      << " exact, " << summary.differ() << " differ; " << controls_run
      << " controls: " << controls_run - summary.missed() << " red as planted, " << summary.missed()
      << " missed; " << summary.limit_problems.size() << " limit problems\n";
  return summary;
}

}  // namespace lockstep::kernels::contract

namespace lockstep::kernels {

bool self_test(std::ostream& out, std::string_view name, int threads) {
  const std::unique_ptr<Device> device = open_device(name, threads);
  out << device->name() << ": " << device->description() << std::endl;
  return contract::check(*device, {}, out).good();
}

}  // namespace lockstep::kernels
