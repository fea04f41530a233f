#include "analysis/report/analysis_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/base/rank_list.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

// A message is read by a person, so it names only some of many files.
constexpr size_t kMostGroupsNamed = 8;
constexpr size_t kMostPathsNamed = 16;
constexpr size_t kMostTextBytes = 3'000;
constexpr size_t kMostRefusedNamed = 8;

// The command that analyses a group alone: its paths, or the folder that holds these and nothing of another group.
// Paths beyond the limits are only counted.
std::string CommandOf(const std::set<std::string>& paths, const std::set<std::string>& others, size_t most_bytes) {
  const std::string& first = *paths.begin();
  const std::string folder = first.substr(0, first.rfind('/') + 1);
  const auto inside = [&](const std::string& path) { return path.starts_with(folder); };
  if (paths.size() > 1 && !folder.empty() && std::all_of(paths.begin(), paths.end(), inside) &&
      std::none_of(others.begin(), others.end(), inside)) {
    return fmt::format("lockstep analyze '{}'", folder);
  }
  std::string text = "lockstep analyze";
  size_t named = 0;
  for (const std::string& path : paths) {
    if (named == kMostPathsNamed || (named > 0 && text.size() + path.size() > most_bytes)) {
      return fmt::format("{} and {} more", text, paths.size() - named);
    }
    text += fmt::format(" '{}'", path);
    ++named;
  }
  return text;
}

// The files that can be one run, and the command that analyses them alone.
std::string DescribeGroups(const RunData& run, const RankResolution& ranks) {
  std::vector<std::set<std::string>> paths(ranks.groups.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    for (const size_t source : ranks.groups[i]) paths[i].insert(run.sources[source].context.path);
  }
  std::stable_sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::string text = fmt::format("these files are {} different runs: {}", paths.size(), ranks.groups_reason);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i == kMostGroupsNamed || text.size() > kMostTextBytes) {
      return fmt::format("{}\n  and {} more runs; analyze each one separately", text, paths.size() - i);
    }
    std::set<std::string> others;
    for (size_t k = 0; k < paths.size(); ++k) {
      if (k != i) others.insert(paths[k].begin(), paths[k].end());
    }
    text += fmt::format("\n  run {} ({} file{}): {}", i + 1, paths[i].size(), paths[i].size() == 1 ? "" : "s",
                        CommandOf(paths[i], others, kMostTextBytes - std::min(text.size(), kMostTextBytes)));
  }
  return text;
}

absl::Status DoAll(const std::vector<InstanceSums::Part>& parts, Executor& executor) {
  std::vector<absl::Status> done(parts.size());
  executor.ParallelFor(parts.size(), [&](size_t i) { done[i] = parts[i](); });
  for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

// What comes next made ready, and each part with the chapters one after the other.
std::vector<InstanceSums::Part> TasksOf(RunChapters& chapters,
                                        const std::vector<std::vector<InstanceSums::Part>>& parts) {
  std::vector<InstanceSums::Part> out;
  for (size_t lane = 0; lane < chapters.LanesAhead(); ++lane) {
    out.emplace_back([&chapters, lane] { return chapters.Prepare(lane); });
  }
  for (size_t p = 0; p < parts.front().size(); ++p) {
    out.emplace_back([&parts, p] {
      for (const auto& of_chapter : parts) LOCKSTEP_RETURN_IF_ERROR(of_chapter[p]());
      return absl::OkStatus();
    });
  }
  out.emplace_back([&chapters] {
    chapters.Count();
    return absl::OkStatus();
  });
  return out;
}

absl::Status SumSample(RunChapters& chapters, Executor& executor, InstanceSums& sums) {
  if (!chapters.sample_is_apart() || sums.causes == nullptr) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(RunChapters::Sample sample, chapters.TakeSample());
  return sums.causes->SetSample(std::move(sample.matched), std::move(sample.rows), executor);
}

}  // namespace

absl::Status CheckOptions(const AnalysisOptions& options) {
  for (const std::string& view : options.views) {
    if (view != "all" && !IsView(view)) {
      return absl::InvalidArgumentError(fmt::format("--view '{}': there is no such view; the views are {}, or all",
                                                    view, fmt::join(KnownViews(), ", ")));
    }
  }
  if (options.limit && *options.limit < 0) {
    return absl::InvalidArgumentError(fmt::format("--limit {}: it must not be negative", *options.limit));
  }
  return absl::OkStatus();
}

absl::Status CheckRanks(const RunData& run, const RankResolution& ranks, const AnalysisOptions& options) {
  if (ranks.groups.size() > 1) return absl::FailedPreconditionError(DescribeGroups(run, ranks));
  if (ranks.ranks.empty()) {
    std::string text = "no usable input: there is no trace of a rank to analyze";
    for (size_t i = 0; i < ranks.refused.size(); ++i) {
      if (i == kMostRefusedNamed) {
        text += fmt::format("\n  and {} more", ranks.refused.size() - i);
        break;
      }
      text += fmt::format("\n  {}: {}", run.sources[ranks.refused[i].source].context.path, ranks.refused[i].detail);
    }
    return absl::FailedPreconditionError(text);
  }
  const std::vector<bool> selected = SelectedRanks(ranks, options);
  if (std::find(selected.begin(), selected.end(), true) != selected.end()) return absl::OkStatus();
  std::vector<int32_t> present;
  for (const ResolvedRank& rank : ranks.ranks) present.push_back(rank.rank);
  return absl::InvalidArgumentError(fmt::format("--ranks: there is no trace of {} in this run; it has {}",
                                                FoldedRanks(options.ranks), FoldedRanks(std::move(present))));
}

void NotifyOfSample(const ViewInput& input, const RunChapters& chapters) {
  if (chapters.span_ns() == 0) return;
  const auto seconds = [](int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  const RunSpan sample = chapters.sample_span();
  for (const std::string_view view : {"stragglers", "imbalance"}) {
    input.Notify(
        view,
        fmt::format("savings are computed from {:.4g} s of the run's {:.4g} s, beginning {:.4g} s after its start",
                    seconds(sample.end_ns - sample.start_ns), seconds(chapters.span_ns()),
                    seconds(input.SinceStart(sample.start_ns))));
  }
}

// Takes every chapter of the run through the sums.
absl::Status SumChapters(RunChapters& chapters, const Fleet& fleet, const std::vector<bool>& selected,
                         std::vector<Notice>& notices, Executor& executor, FleetMeter& meter, InstanceSums& sums,
                         const std::function<bool()>& go_on) {
  while (go_on == nullptr || go_on()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, chapters.Next());
    if (!more) return SumSample(chapters, executor, sums);
    std::deque<AnalysisContext> contexts;
    std::vector<std::vector<InstanceSums::Part>> parts;  // of each chapter the same ones
    for (const RunChapters::Current& it : chapters.current()) {
      LOCKSTEP_ASSIGN_OR_RETURN(auto named_rows, NamedRows(fleet.run, it.rows, fleet.ranks, fleet.options.kernels));
      LOCKSTEP_ASSIGN_OR_RETURN(auto range_rows, RangeRows(fleet, it.rows));
      contexts.push_back({fleet.run, it.rows, fleet.options, fleet.ranks, it.chapter.match, executor,
                          fleet.run_start_ns, selected, notices, std::move(named_rows), std::move(range_rows)});
      // The longest first: what is begun last is waited for.
      parts.push_back({[&] { return meter.Add(it.chapter, it.rows, executor); }});
      auto of_sums = sums.Parts(it.chapter, contexts.back(), it.sample);
      std::move(of_sums.begin(), of_sums.end(), std::back_inserter(parts.back()));
    }
    LOCKSTEP_RETURN_IF_ERROR(DoAll(TasksOf(chapters, parts), executor));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
