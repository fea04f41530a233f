#include "analysis/metrics/fleet/slow_part.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/base/disjoint_sets.h"
#include "analysis/metrics/fleet/job_steps.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kFewestSteps = 8;
constexpr double kClearlyLonger = 1.05;
constexpr double kSameWork = 1.02;

struct Part {
  std::vector<size_t> members;
  std::vector<int64_t> steps_ns;  // ascending
  int64_t kernels = 0;            // of the median step of its first rank

  [[nodiscard]] int64_t At(double quantile) const {
    return steps_ns[static_cast<size_t>(quantile * static_cast<double>(steps_ns.size() - 1))];
  }
};

// By a number of each. A rank without a trace joins those of its groups, too.
std::map<size_t, Part> PartsOf(const Fleet& fleet) {
  std::map<int32_t, size_t> number_of_rank;
  for (const FleetRank& member : fleet.members) number_of_rank.emplace(member.rank, number_of_rank.size());
  for (const Communicator& communicator : fleet.match.communicators) {
    for (const int32_t rank : communicator.members) number_of_rank.emplace(rank, number_of_rank.size());
  }
  DisjointSets sets(number_of_rank.size());
  for (const Communicator& communicator : fleet.match.communicators) {
    for (const int32_t rank : communicator.members) {
      sets.Join(number_of_rank.at(communicator.members.front()), number_of_rank.at(rank));
    }
  }
  std::map<size_t, Part> parts;
  for (size_t m = 0; m < fleet.members.size(); ++m) {
    parts[sets.Find(number_of_rank.at(fleet.members[m].rank))].members.push_back(m);
  }
  return parts;
}

bool KnowsWhoIsJoined(const Fleet& fleet) {
  return std::none_of(fleet.match.communicators.begin(), fleet.match.communicators.end(),
                      [](const Communicator& it) { return it.members.empty() && it.size != 1; });
}

void Measure(const Fleet& fleet, Part& part) {
  std::map<int64_t, int64_t> longest;
  std::vector<int64_t> kernels;
  for (const size_t m : part.members) {
    const FleetRank& member = fleet.members[m];
    for (const auto& [number, step] : StepsOfMember(fleet, member)) {
      longest[number] = std::max(longest[number], step.span_ns);
      if (m == part.members.front()) kernels.push_back(member.source->steps[step.row].kernels);
    }
  }
  for (const auto& [number, span_ns] : longest) part.steps_ns.push_back(span_ns);
  std::sort(part.steps_ns.begin(), part.steps_ns.end());
  if (!kernels.empty()) part.kernels = UpperMedian(std::move(kernels));
}

bool DoTheSame(const Part& a, const Part& b) {
  const auto [fewer, more] = std::minmax(a.kernels, b.kernels);
  return a.members.size() == b.members.size() && fewer > 0 &&
         static_cast<double>(more) <= kSameWork * static_cast<double>(fewer);
}

}  // namespace

std::optional<SlowPart> FindSlowPart(const Fleet& fleet) {
  if (!KnowsWhoIsJoined(fleet)) return std::nullopt;
  std::vector<Part> parts;
  for (auto& [number, part] : PartsOf(fleet)) {
    Measure(fleet, part);
    if (part.members.size() < 2 || part.steps_ns.size() < kFewestSteps) return std::nullopt;
    parts.push_back(std::move(part));
  }
  if (parts.size() < 2) return std::nullopt;
  const auto slowest =
      std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.At(0.5) < b.At(0.5); });
  std::vector<int64_t> others_ns;
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    if (part == slowest) continue;
    const auto most_ns = static_cast<double>(part->At(0.9));
    const bool longer = static_cast<double>(slowest->At(0.5)) >= kClearlyLonger * most_ns;
    if (!longer || !DoTheSame(*part, *slowest) || part->At(0.5) <= 0) return std::nullopt;
    others_ns.push_back(part->At(0.5));
  }
  return SlowPart{slowest->members, slowest->At(0.5), UpperMedian(std::move(others_ns))};
}

}  // namespace lockstep
