// Communicators whose transfers take longer than those of equal communicators, and rails they share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kFirstFamily = 16;  // after those of own time

// Transfers are compared between communicators of one size and reach, for one operation and message size. Where no size
// is told, only equally many instances may be of one size.
struct TransferKey {
  int32_t size = 0;
  bool between_hosts = false;
  CollectiveOp op = CollectiveOp::kUnknown;
  int64_t bytes = 0;
  int64_t instances = 0;  // about, on a logarithmic scale; 0 where the size is told
  friend auto operator<=>(const TransferKey&, const TransferKey&) = default;
};

struct CommunicatorShape {
  std::vector<int32_t> rank_indices;  // seen in its instances, ascending
  bool between_hosts = false;
  std::optional<int32_t> rail;  // the local index that all of them have, on several hosts
};

struct TransferSeries {
  std::vector<double> excess_ns;  // [unit], NaN = not measured
  double instances = 0;           // compared
  double deviations_ns = 0;       // sum of the instances' clock standard deviations
};

// Who came early has sent while it waited: a transfer takes between what follows the last arrival, and that and the
// spread of the arrivals. What two such intervals differ by in any case.
struct TransferRange {
  double least_ns = 0;
  double most_ns = 0;
};
double SureDifference(const TransferRange& a, const TransferRange& b) {
  if (a.least_ns > b.most_ns) return a.least_ns - b.most_ns;
  return std::min(0.0, a.most_ns - b.least_ns);
}

class TransferComparison {
 public:
  explicit TransferComparison(const CandidateInput& input) : input_(input), shapes_(input.match.communicators.size()) {
    FindShapes();
    for (const auto& [of, by_number] : input.transfers.sums) Add(of, by_number);
    DropThoseOfEqualMembers();
  }

  std::vector<Candidate> Build() {
    const std::map<uint32_t, TransferSeries> series = Excesses();
    std::vector<Candidate> out = Rails(series);
    std::vector<Candidate> communicators = Communicators(series);
    std::move(communicators.begin(), communicators.end(), std::back_inserter(out));
    return out;
  }

 private:
  void FindShapes() {
    const auto& members = input_.transfers.members;
    for (size_t c = 0; c < members.size() && c < shapes_.size(); ++c) shapes_[c].rank_indices = members[c];
    for (CommunicatorShape& shape : shapes_) PlaceShape(shape);
  }

  void PlaceShape(CommunicatorShape& shape) const {
    if (shape.rank_indices.empty()) return;
    const Positions& positions = input_.positions;
    const auto first = static_cast<size_t>(shape.rank_indices.front());
    bool one_place = positions.local_index[first] >= 0;
    for (const int32_t index : shape.rank_indices) {
      const auto rank = static_cast<size_t>(index);
      shape.between_hosts |= positions.host[rank] != positions.host[first];
      one_place = one_place && positions.local_index[rank] == positions.local_index[first];
    }
    if (one_place && shape.between_hosts) shape.rail = positions.local_index[first];
  }

  void Add(const TransferClass& of, const std::vector<TransferSum>& by_number) {
    const CommunicatorShape& shape = shapes_[of.communicator];
    const TransferKey key{static_cast<int32_t>(shape.rank_indices.size()), shape.between_hosts, of.op, of.bytes,
                          of.bytes > 0 ? 0 : AboutAsMany(by_number)};
    std::vector<TransferSum>& units = sums_[key][of.communicator];
    for (const size_t number : input_.order) {
      units.push_back(number < by_number.size() ? by_number[number] : TransferSum{});
    }
  }

  // Captures that begin or lose a little apart still have as many.
  static int64_t AboutAsMany(const std::vector<TransferSum>& by_number) {
    constexpr double kStepsPerDoubling = 3;
    double count = 0;
    for (const TransferSum& sum : by_number) count += sum.count;
    return std::llround(kStepsPerDoubling * std::log2(count + 1));
  }

  // Between the same ranks the network is the same, and what differs is what is sent.
  void DropThoseOfEqualMembers() {
    for (auto& [key, communicators] : sums_) {
      std::map<std::vector<int32_t>, size_t> with_members;
      for (const auto& [communicator, units] : communicators) ++with_members[shapes_[communicator].rank_indices];
      std::erase_if(communicators, [&](const auto& of) { return with_members[shapes_[of.first].rank_indices] > 1; });
    }
  }

  // Excess of each communicator over the mean of its equals, instance for instance, summed over a unit.
  [[nodiscard]] std::map<uint32_t, TransferSeries> Excesses() const {
    std::map<uint32_t, TransferSeries> out;
    for (const auto& [key, communicators] : sums_) {
      if (communicators.size() < 2) continue;
      for (size_t unit = 0; unit < input_.units.count; ++unit) AddUnit(communicators, unit, out);
    }
    return out;
  }

  void AddUnit(const std::map<uint32_t, std::vector<TransferSum>>& communicators, size_t unit,
               std::map<uint32_t, TransferSeries>& out) const {
    double means = 0;
    double spreads = 0;
    double count = 0;
    for (const auto& [communicator, units] : communicators) {
      if (units[unit].count == 0) continue;
      means += units[unit].ns / units[unit].count;
      spreads += units[unit].spread_ns / units[unit].count;
      ++count;
    }
    if (count < 2) return;
    for (const auto& [communicator, units] : communicators) {
      if (units[unit].count == 0) continue;
      const double mean = units[unit].ns / units[unit].count;
      TransferSeries& series = out[communicator];
      series.excess_ns.resize(input_.units.count, std::numeric_limits<double>::quiet_NaN());
      double& excess = series.excess_ns[unit];
      if (std::isnan(excess)) excess = 0;
      const double spread = units[unit].spread_ns / units[unit].count;
      const double others = (means - mean) / (count - 1);
      excess += units[unit].count *
                SureDifference({mean, mean + spread}, {others, others + (spreads - spread) / (count - 1)});
      series.instances += units[unit].count;
    }
  }

  // The minimum effect: shifts of the clocks below three standard deviations look like slow transfers.
  [[nodiscard]] double FloorOf(uint32_t communicator, const TransferSeries& series) const {
    const double deviation =
        input_.transfers.deviations_ns.at(communicator) / input_.transfers.instances.at(communicator);
    const double per_unit = series.instances / static_cast<double>(std::max<size_t>(1, input_.units.count));
    return std::max(kMinEffectRatio * static_cast<double>(input_.units.unit_ns), 3 * deviation * per_unit);
  }

  [[nodiscard]] Candidate Make(StragglerScope scope, std::string id, std::vector<uint32_t> communicators) const {
    Candidate candidate;
    candidate.scope = scope;
    candidate.id = std::move(id);
    for (const uint32_t communicator : communicators) {
      const std::vector<int32_t>& ranks = shapes_[communicator].rank_indices;
      candidate.rank_indices.insert(candidate.rank_indices.end(), ranks.begin(), ranks.end());
    }
    std::sort(candidate.rank_indices.begin(), candidate.rank_indices.end());
    candidate.rank_indices.erase(std::unique(candidate.rank_indices.begin(), candidate.rank_indices.end()),
                                 candidate.rank_indices.end());
    candidate.communicators = std::move(communicators);
    return candidate;
  }

  // Those that may be compared: the transfers of others are longer, or differ by more.
  [[nodiscard]] size_t FamilyOf(uint32_t communicator) const {
    const auto kind_of = [](const CommunicatorShape& shape) {
      return std::pair(shape.rank_indices.size(), shape.between_hosts);
    };
    const auto same = [&](const CommunicatorShape& shape) { return kind_of(shape) == kind_of(shapes_[communicator]); };
    const auto first = std::find_if(shapes_.begin(), shapes_.end(), same);
    return kFirstFamily + 1 + static_cast<size_t>(first - shapes_.begin());
  }

  static void Finish(Candidate& candidate) {
    double sum = 0;
    for (const double value : candidate.series) sum += value;
    candidate.parts[static_cast<size_t>(LatenessPart::kTransfer)] = sum / static_cast<double>(candidate.series.size());
  }

  [[nodiscard]] std::vector<Candidate> Rails(const std::map<uint32_t, TransferSeries>& series) const {
    std::map<int32_t, std::vector<uint32_t>> rails;
    for (const auto& [communicator, unused] : series) {
      if (shapes_[communicator].rail) rails[*shapes_[communicator].rail].push_back(communicator);
    }
    std::vector<Candidate> out;
    for (const auto& [rail, communicators] : rails) {
      Candidate candidate = Make(StragglerScope::kRail, fmt::format("rail {}", rail), communicators);
      candidate.family = kFirstFamily;
      AddLowerMedians(series, candidate);
      if (candidate.series.size() < 2) continue;
      Finish(candidate);
      out.push_back(std::move(candidate));
    }
    return out;
  }

  void AddLowerMedians(const std::map<uint32_t, TransferSeries>& series, Candidate& candidate) const {
    for (const uint32_t communicator : candidate.communicators) {
      candidate.floor_ns = std::max(candidate.floor_ns, FloorOf(communicator, series.at(communicator)));
    }
    for (size_t unit = 0; unit < input_.units.count; ++unit) {
      std::vector<double> values;
      for (const uint32_t communicator : candidate.communicators) {
        const double excess = series.at(communicator).excess_ns[unit];
        if (!std::isnan(excess)) values.push_back(excess);
      }
      if (!values.empty()) candidate.Add(unit, LowerMedian(std::move(values)));
    }
  }

  // A rail of one communicator is told as the rail.
  [[nodiscard]] std::vector<Candidate> Communicators(const std::map<uint32_t, TransferSeries>& series) const {
    std::map<int32_t, int> on_rail;
    for (const auto& [communicator, unused] : series) {
      if (shapes_[communicator].rail) ++on_rail[*shapes_[communicator].rail];
    }
    std::vector<Candidate> out;
    for (const auto& [communicator, it] : series) {
      if (shapes_[communicator].rail && on_rail[*shapes_[communicator].rail] == 1) continue;
      Candidate candidate =
          Make(StragglerScope::kCommunicator, input_.match.communicators[communicator].id, {communicator});
      candidate.family = FamilyOf(communicator);
      candidate.floor_ns = FloorOf(communicator, it);
      for (size_t unit = 0; unit < it.excess_ns.size(); ++unit) {
        if (!std::isnan(it.excess_ns[unit])) candidate.Add(unit, it.excess_ns[unit]);
      }
      if (candidate.series.size() < 2) continue;
      Finish(candidate);
      out.push_back(std::move(candidate));
    }
    return out;
  }

  const CandidateInput& input_;
  std::vector<CommunicatorShape> shapes_;  // by communicator
  std::map<TransferKey, std::map<uint32_t, std::vector<TransferSum>>> sums_;
};

}  // namespace

std::vector<Candidate> TransferCandidates(const CandidateInput& input) { return TransferComparison(input).Build(); }

}  // namespace lockstep
