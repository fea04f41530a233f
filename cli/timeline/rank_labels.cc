#include "cli/timeline/rank_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analysis/base/unit_text.h"
#include "analysis/metrics/clock_align/clock_model.h"

namespace lockstep {
namespace {

// Rank index of the lowest rank of each component: the one whose clock is the axis.
std::map<int32_t, size_t> References(const RunEvents& events) {
  std::map<int32_t, size_t> lowest;
  for (size_t i = 0; i < events.ranks.ranks.size(); ++i) {
    lowest.emplace(events.match.clock.ComponentOf(static_cast<int32_t>(i)), i);
  }
  return lowest;
}

std::optional<int64_t> UncertaintyOf(const RunEvents& events, size_t rank_index, size_t reference) {
  const AlignedTime middle{events.start_ns + (events.end_ns - events.start_ns) / 2};
  const auto uncertainty =
      events.match.clock.PairUncertainty(static_cast<int32_t>(rank_index), static_cast<int32_t>(reference), middle);
  return uncertainty ? std::optional(uncertainty->ns) : std::nullopt;
}

std::string ClockOf(const RunEvents& events, size_t rank_index, size_t reference) {
  const ClockModel& clock = events.match.clock;
  const int32_t index = static_cast<int32_t>(rank_index);
  if (rank_index == reference) return "Its clock is the time axis.";
  const int32_t rank = events.ranks.ranks[reference].rank;
  const AlignedTime middle{events.start_ns + (events.end_ns - events.start_ns) / 2};
  const int64_t moved_ns = clock.Correction(index, clock.ToLocal(index, middle)).ns;
  std::string text = fmt::format("Its clock was {} {} that of rank {} in the middle of the run",
                                 TimeText(std::abs(moved_ns)), moved_ns < 0 ? "behind" : "ahead of", rank);
  const std::optional<double> drift = clock.ClockOf(clock.DomainOf(index)).drift_ppm;
  if (drift) text += fmt::format(", and drifted by {:.3g} ppm", *drift);
  text += "; its times are corrected for that.";
  if (const auto uncertainty = UncertaintyOf(events, rank_index, reference)) {
    text += fmt::format(" Times of the two ranks compare to within {} (95 %).", TimeText(*uncertainty));
  }
  return text;
}

}  // namespace

std::vector<perfetto::ExportedRank> ExportedRanks(const RunData& run, const RunEvents& events,
                                                  const NamedRanks& named) {
  const std::map<int32_t, size_t> references = References(events);
  std::vector<perfetto::ExportedRank> ranks;
  for (size_t i = 0; i < events.places.size(); ++i) {
    if (events.places[i] == kNoId) continue;
    const ResolvedRank& resolved = events.ranks.ranks[i];
    const SourceContext& context = run.sources[resolved.source].context;
    perfetto::ExportedRank rank{.rank = resolved.rank, .name = fmt::format("rank {}", resolved.rank)};
    if (!resolved.host.empty()) rank.name += " · " + resolved.host;
    if (context.device >= 0) rank.name += fmt::format(" · GPU {}", context.device);
    const auto label = named.labels.find(resolved.rank);
    if (label != named.labels.end()) rank.labels.push_back(label->second);
    const int32_t component = events.match.clock.ComponentOf(static_cast<int32_t>(i));
    if (component != references.begin()->first) {
      rank.labels.emplace_back("its clock cannot be compared with that of the first ranks");
    }
    rank.description = ClockOf(events, i, references.at(component));
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::string ClocksInWords(const RunEvents& events) {
  const std::map<int32_t, size_t> references = References(events);
  int64_t worst_ns = 0;
  for (size_t i = 0; i < events.places.size(); ++i) {
    if (events.places[i] == kNoId) continue;
    const size_t reference = references.at(events.match.clock.ComponentOf(static_cast<int32_t>(i)));
    if (i != reference) worst_ns = std::max(worst_ns, UncertaintyOf(events, i, reference).value_or(0));
  }
  std::string text = worst_ns == 0 ? "there is only one clock"
                                   : fmt::format("aligned; times of two ranks compare to within {} or better (95 %)",
                                                 TimeText(worst_ns));
  if (references.size() > 1) {
    text += fmt::format("; {} sets of ranks share no collective: between them times are what the traces claim",
                        references.size());
  }
  return text;
}

}  // namespace lockstep
