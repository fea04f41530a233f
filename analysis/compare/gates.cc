#include "analysis/compare/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/compare/metrics.h"

namespace lockstep::compare {
namespace {

struct Unit {
  std::string_view name;
  double scale;
  bool is_share = false;
};

constexpr std::array<Unit, 5> kUnits = {{{"%", 0.01, true}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

absl::Status NoGate(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("--gate '{}': {}; a gate is METRIC<=LIMIT, such as step_time<=2%, exposed_wait<=500us or "
                  "kernel:flash.*<=3%",
                  text, why));
}

// "2%", "-1%", "500us".
absl::Status SetLimit(std::string_view text, Gate& gate) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gate.limit);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) { return known.name == unit; });
  if (error != std::errc() || !std::isfinite(gate.limit) || found == kUnits.end()) {
    return NoGate(gate.text,
                  fmt::format("'{}' is no limit: it is a number with one of the units %, ns, us, ms, s", text));
  }
  gate.limit *= found->scale;
  gate.is_share = found->is_share;
  return absl::OkStatus();
}

absl::Status SetMetric(std::string_view metric, Gate& gate) {
  constexpr std::string_view kKernel = "kernel:";
  constexpr std::string_view kFamily = "family:";
  if (metric.starts_with(kKernel)) {
    gate.of = Gate::Of::kKernels;
    gate.name = metric.substr(kKernel.size());
    LOCKSTEP_ASSIGN_OR_RETURN(gate.pattern, NamePattern::Make(gate.name, fmt::format("--gate '{}'", gate.text)));
  } else if (metric.starts_with(kFamily)) {
    gate.of = Gate::Of::kFamily;
    gate.name = metric.substr(kFamily.size());
  } else {
    gate.name = metric;
    const std::vector<std::string_view> names = MetricNames();
    if (std::find(names.begin(), names.end(), metric) == names.end()) {
      return NoGate(gate.text, fmt::format("there is no metric '{}'; the metrics are {}, kernel:REGEX and family:NAME",
                                           metric, fmt::join(names, ", ")));
    }
  }
  if (gate.of == Gate::Of::kMetric && gate.name == "throughput" && !gate.is_share) {
    return NoGate(gate.text, "a limit of the throughput is a share, such as throughput>=-5%");
  }
  return gate.name.empty() ? NoGate(gate.text, "it names nothing") : absl::OkStatus();
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// The kernels that a gate is about, of both sides: by name.
absl::StatusOr<std::set<std::string>> KernelsOfGate(const Gate& gate, const Sides& sides) {
  std::set<std::string> names;
  absl::Status status;
  ForEachRun(sides, [&](const ComparedRun& run) {
    for (const report::ProfileKernel& kernel : run.profile.kernels) {
      const absl::StatusOr<bool> is_meant =
          gate.pattern ? gate.pattern->IsIn(kernel.name) : absl::StatusOr<bool>(kernel.family == gate.name);
      status.Update(is_meant.status());
      if (is_meant.ok() && *is_meant) names.insert(kernel.name);
    }
  });
  LOCKSTEP_RETURN_IF_ERROR(status);
  return names;
}

struct GateValue {
  std::string metric;
  std::optional<double> change_ns;
  std::optional<double> base_ns;
  report::OptionalRange interval_ns;
};

// Graphs traced as a whole on one side hide the kernels that the other side shows.
bool GraphsHideKernels(const std::vector<report::MetricChange>& metrics) {
  const report::MetricChange* const step = FindMetric(metrics, kStepTime);
  const report::MetricChange* const opaque = FindMetric(metrics, "opaque");
  if (step == nullptr || opaque == nullptr) return false;
  const double step_ns = std::max(step->base.value_or(0), step->fresh.value_or(0));
  return step_ns > 0 && HidesMuch(opaque->change.value_or(0), step_ns);
}

absl::StatusOr<GateValue> ValueOfKernels(const Gate& gate, const Sides& sides,
                                         const std::vector<report::MetricChange>& metrics) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::set<std::string> names, KernelsOfGate(gate, sides));
  GateValue value;
  value.metric = names.empty() ? "no kernel matches" : fmt::format("{} kernels", names.size());
  if (names.empty()) return value;
  const auto is_meant = [&](const report::ProfileKernel& kernel) { return names.contains(kernel.name); };
  const auto time = [&](const ComparedRun& run) { return run.KernelTime(is_meant); };
  value.base_ns = MeanOver(sides.base, time);
  value.change_ns = MeanOver(sides.fresh, time) - *value.base_ns;
  if (*value.base_ns <= 0 && *value.change_ns > 0) value.metric += ", none on the base side";
  if (GraphsHideKernels(metrics)) {
    value.metric += ", which CUDA graphs traced as a whole may hide";
    return value;
  }
  const SeriesOfRun series = [&](const ComparedRun& run) { return run.KernelTimes(is_meant); };
  const SeriesComparison compared = CompareParts(sides, series, NoiseShare::kOfItself, 0);
  if (compared.known && compared.change.verdict != Verdict::kNotEnoughSteps) {
    value.interval_ns = std::pair(compared.change.change_ns_interval.low, compared.change.change_ns_interval.high);
  }
  return value;
}

GateValue ValueOfMetric(const Gate& gate, const std::vector<report::MetricChange>& metrics) {
  GateValue value{gate.name, {}, {}, {}};
  if (gate.name == "throughput") value.metric = "throughput (the context needs tokens_per_step or samples_per_step)";
  for (const report::MetricChange& metric : metrics) {
    if (metric.metric != gate.name) continue;
    value.metric = gate.name;
    value.change_ns = metric.change;
    value.base_ns = metric.base;
    value.interval_ns = metric.interval;
  }
  return value;
}

void Judge(const Gate& gate, report::GateResult& result) {
  result.verdict = "unclear";
  if (!result.interval) return;
  const auto [low, high] = *result.interval;
  const bool within = gate.at_least ? low >= gate.limit : high <= gate.limit;
  const bool beyond = gate.at_least ? high < gate.limit : low > gate.limit;
  result.verdict = within ? "holds" : beyond ? "fails" : "unclear";
}

report::GateResult ResultOf(const Gate& gate, const GateValue& value) {
  report::GateResult result;
  result.gate = gate.text;
  result.metric = value.metric;
  result.limit = gate.limit;
  const double base = value.base_ns.value_or(0);
  if (gate.is_share && base <= 0 && value.change_ns == 0) {
    result.value = 0;
    result.interval = {0, 0};
  } else if (value.change_ns && (!gate.is_share || base > 0)) {
    const double unit = gate.is_share ? base : 1;
    result.value = *value.change_ns / unit;
    if (value.interval_ns) result.interval = {value.interval_ns->first / unit, value.interval_ns->second / unit};
  }
  Judge(gate, result);
  // From nothing to something is beyond any share.
  const bool appeared = gate.is_share && base <= 0 && value.interval_ns && value.interval_ns->first > 0;
  if (appeared) result.verdict = gate.at_least ? "holds" : "fails";
  return result;
}

}  // namespace

absl::StatusOr<Gate> ParseGate(std::string_view text) {
  Gate gate;
  gate.text = Trimmed(text);
  const std::string_view all = gate.text;
  const size_t place = std::max(all.rfind("<=") + 1, all.rfind(">=") + 1);  // npos + 1 = 0
  if (place == 0) return NoGate(all, "it has neither <= nor >=");
  gate.at_least = all[place - 1] == '>';
  LOCKSTEP_RETURN_IF_ERROR(SetLimit(Trimmed(all.substr(place + 1)), gate));
  LOCKSTEP_RETURN_IF_ERROR(SetMetric(Trimmed(all.substr(0, place - 1)), gate));
  return gate;
}

absl::StatusOr<std::vector<Gate>> ParseGates(std::string_view text, std::string_view origin) {
  std::vector<Gate> gates;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty() || content.front() == '#') continue;
    absl::StatusOr<Gate> gate = ParseGate(content);
    if (!gate.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{}, line {}: {}", origin, line, std::string(gate.status().message())));
    }
    gates.push_back(*std::move(gate));
  }
  return gates;
}

absl::StatusOr<std::vector<report::GateResult>> ApplyGates(const std::vector<Gate>& gates, const Sides& sides,
                                                           const std::vector<report::MetricChange>& metrics) {
  std::vector<report::GateResult> results;
  for (const Gate& gate : gates) {
    if (gate.of == Gate::Of::kMetric) {
      results.push_back(ResultOf(gate, ValueOfMetric(gate, metrics)));
      continue;
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const GateValue value, ValueOfKernels(gate, sides, metrics));
    results.push_back(ResultOf(gate, value));
  }
  return results;
}

}  // namespace lockstep::compare
