// The figures that a daemon tells about itself, as Prometheus text: counters, gauges, histograms.
//
// Everything is registered once, at the start, with a help text and labels that are fixed then: a name or a path of a
// trace is never a label, so that the number of series cannot grow. Names follow Prometheus: base units in the name
// (_seconds, _bytes), counters end in _total. Registering the same name with other labels adds a series of one family.
// Thread safe; counting is one relaxed atomic addition.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/mutex.h"

namespace lockstep {

class MetricCounter {
 public:
  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Durations in nanoseconds, counted below fixed bounds; told in seconds.
class MetricHistogram {
 public:
  explicit MetricHistogram(std::vector<int64_t> bounds_ns)
      : bounds_ns_(std::move(bounds_ns)), counts_(bounds_ns_.size() + 1) {}
  void Observe(int64_t ns);
  [[nodiscard]] const std::vector<int64_t>& bounds_ns() const { return bounds_ns_; }
  // Of bucket i: at most bounds_ns()[i]; the last one has no bound.
  [[nodiscard]] int64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  [[nodiscard]] int64_t sum_ns() const { return sum_ns_.load(std::memory_order_relaxed); }

 private:
  const std::vector<int64_t> bounds_ns_;
  std::vector<std::atomic<int64_t>> counts_;
  std::atomic<int64_t> sum_ns_{0};
};

// 100 us to 10 s, five a decade and a half.
[[nodiscard]] std::vector<int64_t> LatencyBoundsNs();

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class MetricsRegistry {
 public:
  // The references stay valid as long as the registry.
  MetricCounter& AddCounter(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  MetricHistogram& AddHistogram(const std::string& name, const std::string& help, std::vector<int64_t> bounds_ns,
                                const MetricLabels& labels = {});
  // Read whenever the text is asked for, from any thread; what it uses must outlive the registry's last Text.
  void AddGauge(const std::string& name, const std::string& help, std::function<double()> value,
                const MetricLabels& labels = {});
  // The same for a count that is kept elsewhere.
  void AddCounterOf(const std::string& name, const std::string& help, std::function<double()> value,
                    const MetricLabels& labels = {});

  // Prometheus text format 0.0.4: families by name, series in the order of their labels.
  [[nodiscard]] std::string Text() const LOCKSTEP_EXCLUDES(mutex_);

 private:
  struct Series {
    std::unique_ptr<MetricCounter> counter;
    std::unique_ptr<MetricHistogram> histogram;
    std::function<double()> value;
  };
  struct Family {
    std::string help;
    std::string type;
    std::map<std::string, Series> series;  // by the text of the labels
  };

  Series& Add(const std::string& name, const std::string& help, const char* type, const MetricLabels& labels)
      LOCKSTEP_EXCLUDES(mutex_);
  static void AppendSeries(const std::string& name, const std::string& labels, const Series& series, std::string* out);

  mutable Mutex mutex_;
  std::map<std::string, Family> families_ LOCKSTEP_GUARDED_BY(mutex_);
};

// Resident memory, open descriptors, start time and version of this process, as other Prometheus clients name them.
void AddProcessMetrics(MetricsRegistry& registry);

}  // namespace lockstep
