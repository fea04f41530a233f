// How the exposed communication of a rank splits into waiting for others, transferring, and what cannot be told.
//
// An instant covered by communication and by no compute is transfer if any covering instance has passed the latest
// arrival that it can have waited for, else unresolved if any covering instance is unmatched, ambiguous, has U > its
// wait, or has passed the arrival a_i that it surely waited for, else wait. Swept
// once over the instances in order of start with their COVER intervals; memory is that of the instances open at one
// instant. Units: ns. Exact int64; per window the three parts sum to the exposed communication of that window.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "analysis/base/few.h"
#include "analysis/metrics/match/match.h"
#include "analysis/model/instance_row.h"

namespace lockstep {

struct Exposure {
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
  int64_t unresolved_ns = 0;

  [[nodiscard]] int64_t total_ns() const { return wait_ns + transfer_ns + unresolved_ns; }
  void Add(const Exposure& other);
  friend bool operator==(const Exposure&, const Exposure&) = default;
};

// Makes the parts sum to `exposed_comm_ns`: a remainder is unresolved, an excess is taken from unresolved, wait,
// transfer.
void Reconcile(Exposure& exposure, int64_t exposed_comm_ns);

struct SweepWindow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Instances must come in order of start; an earlier one is clipped to what is not yet decided.
class ExposureSweep {
 public:
  // Windows ascending and disjoint; what lies in none is left out.
  explicit ExposureSweep(std::vector<SweepWindow> windows);

  // `arrival` holds a_i on the axis of the instance.
  void Add(const InstanceRow& instance, const ArrivalOfRow& arrival) {
    Add(instance.start_ns, instance.end_ns(), instance.cover, arrival);
  }
  using Cover = Few<std::pair<int64_t, int64_t>>;  // as InstanceRow::cover
  void Add(int64_t start_ns, int64_t end_ns, const Cover& cover, const ArrivalOfRow& arrival);
  // One window more, behind the others; nothing was added yet that starts in it.
  void Append(const SweepWindow& window);
  // One result a window. The sweep is used up.
  [[nodiscard]] std::vector<Exposure> Finish();

 private:
  // What is counted of the instances that run at a moment: all of them, those that are past the last arrival, those of
  // which the last arrival is not resolved, and those with compute beside them.
  enum class Count : uint8_t { kActive, kPassed, kUnresolved, kCompute };
  struct Edge {
    int64_t time_ns = 0;
    Count of = Count::kActive;
    int8_t change = 0;
    friend bool operator>(const Edge& a, const Edge& b) { return a.time_ns > b.time_ns; }
  };
  // An instance, as far as it is not decided yet.
  struct Row {
    int64_t start_ns = 0;
    int64_t unresolved_ns = 0;  // from here on the last arrival is not resolved,
    int64_t passed_ns = 0;      // from here on it has passed
    int64_t end_ns = 0;
  };
  void AddRow(const Row& row);
  void FlushAlone(int64_t next_start_ns);
  void AdvanceTo(int64_t time_ns);
  void AccountRunning(int64_t start_ns, int64_t end_ns);
  void Account(int64_t start_ns, int64_t end_ns, int64_t Exposure::*part);
  [[nodiscard]] int32_t& Running(Count of) { return running_[static_cast<size_t>(of)]; }
  void AddStretch(int64_t start_ns, int64_t end_ns, Count of);
  void AddCover(int64_t start_ns, int64_t end_ns, const Cover& cover, int64_t from_ns);

  std::vector<SweepWindow> windows_;
  std::vector<Exposure> results_;
  size_t window_ = 0;                 // first window that may still receive time
  int64_t now_ns_ = INT64_MIN;        // up to here all is decided
  std::optional<Row> alone_;          // the last instance, where nothing ran when it started
  std::array<int32_t, 4> running_{};  // by Count
  std::priority_queue<Edge, std::vector<Edge>, std::greater<>> edges_;
};

}  // namespace lockstep
