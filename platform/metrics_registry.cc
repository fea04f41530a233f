#include "platform/metrics_registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "analysis/base/check.h"
#include "analysis/base/version.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

std::string Escaped(std::string_view text, bool quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

// a="x",b="y"
std::string LabelText(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, Escaped(value, true));
  }
  return text;
}

void AppendSample(std::string_view name, std::string_view labels, double value, std::string* out) {
  if (labels.empty()) {
    fmt::format_to(std::back_inserter(*out), "{} {}\n", name, value);
  } else {
    fmt::format_to(std::back_inserter(*out), "{}{{{}}} {}\n", name, labels, value);
  }
}

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

void AppendHistogram(const std::string& name, const std::string& labels, const MetricHistogram& histogram,
                     std::string* out) {
  const std::string comma = labels.empty() ? "" : ",";
  int64_t below = 0;
  for (size_t i = 0; i <= histogram.bounds_ns().size(); ++i) {
    below += histogram.count(i);
    const bool last = i == histogram.bounds_ns().size();
    const std::string bound = last ? "+Inf" : fmt::format("{:g}", Seconds(histogram.bounds_ns()[i]));
    AppendSample(name + "_bucket", fmt::format("{}{}le=\"{}\"", labels, comma, bound), static_cast<double>(below), out);
  }
  AppendSample(name + "_sum", labels, Seconds(histogram.sum_ns()), out);
  AppendSample(name + "_count", labels, static_cast<double>(below), out);
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator folder("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(folder), end(folder)));
}

}  // namespace

void MetricHistogram::Observe(int64_t ns) {
  const auto place = std::lower_bound(bounds_ns_.begin(), bounds_ns_.end(), ns);
  counts_[static_cast<size_t>(place - bounds_ns_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(ns, std::memory_order_relaxed);
}

std::vector<int64_t> LatencyBoundsNs() {
  std::vector<int64_t> bounds;
  for (int64_t decade = 100'000; decade <= 1'000'000'000; decade *= 10) {
    for (const int64_t step : {1, 2, 5}) bounds.push_back(decade * step);
  }
  bounds.push_back(10'000'000'000);
  return bounds;
}

MetricsRegistry::Series& MetricsRegistry::Add(const std::string& name, const std::string& help, const char* type,
                                              const MetricLabels& labels) {
  const MutexLock lock(mutex_);
  Family& family = families_[name];
  LOCKSTEP_CHECK(family.type.empty() || family.type == type);
  family.help = help;
  family.type = type;
  const auto [place, is_new] = family.series.try_emplace(LabelText(labels));
  LOCKSTEP_CHECK(is_new);
  return place->second;
}

MetricCounter& MetricsRegistry::AddCounter(const std::string& name, const std::string& help,
                                           const MetricLabels& labels) {
  auto counter = std::make_unique<MetricCounter>();
  MetricCounter& added = *counter;
  AddCounterOf(
      name, help, [&added] { return static_cast<double>(added.value()); }, labels);
  const MutexLock lock(mutex_);
  families_[name].series[LabelText(labels)].counter = std::move(counter);
  return added;
}

MetricHistogram& MetricsRegistry::AddHistogram(const std::string& name, const std::string& help,
                                               std::vector<int64_t> bounds_ns, const MetricLabels& labels) {
  auto histogram = std::make_unique<MetricHistogram>(std::move(bounds_ns));
  MetricHistogram& added = *histogram;
  Series& series = Add(name, help, "histogram", labels);
  const MutexLock lock(mutex_);
  series.histogram = std::move(histogram);
  return added;
}

void MetricsRegistry::AddGauge(const std::string& name, const std::string& help, std::function<double()> value,
                               const MetricLabels& labels) {
  Series& series = Add(name, help, "gauge", labels);
  const MutexLock lock(mutex_);
  series.value = std::move(value);
}

void MetricsRegistry::AddCounterOf(const std::string& name, const std::string& help, std::function<double()> value,
                                   const MetricLabels& labels) {
  Series& series = Add(name, help, "counter", labels);
  const MutexLock lock(mutex_);
  series.value = std::move(value);
}

void MetricsRegistry::AppendSeries(const std::string& name, const std::string& labels, const Series& series,
                                   std::string* out) {
  if (series.histogram) {
    AppendHistogram(name, labels, *series.histogram, out);
  } else if (series.value) {
    AppendSample(name, labels, series.value(), out);
  }
}

std::string MetricsRegistry::Text() const {
  const MutexLock lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, Escaped(family.help, false), name,
                   family.type);
    for (const auto& [labels, series] : family.series) AppendSeries(name, labels, series, &text);
  }
  return text;
}

void AddProcessMetrics(MetricsRegistry& registry) {
  const double started_s = Seconds(SystemClock().UnixNs());
  registry.AddGauge("process_resident_memory_bytes", "Resident memory of the process.", &ResidentBytes);
  registry.AddGauge("process_open_fds", "Open file descriptors of the process.", &OpenDescriptors);
  registry.AddGauge("process_start_time_seconds", "When the process started, since the Unix epoch.",
                    [started_s] { return started_s; });
  registry.AddGauge("lockstep_build_info", "1; the version is in the label.", [] { return 1.0; },
                    {{"version", std::string(Version())}});
}

}  // namespace lockstep
