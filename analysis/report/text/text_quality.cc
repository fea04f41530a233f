// ranks[], quality{}: what the traces are worth.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/rank_list.h"
#include "analysis/model/drop_reason.h"
#include "analysis/report/rows/quality.h"
#include "analysis/report/rows/ranks.h"
#include "analysis/report/text/text_sections.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {
namespace {

constexpr size_t kGateWidth = 24;

void WriteGate(const report::GateRow& gate, TextPage& page) {
  const std::string_view state = gate.ok == true ? "ok  " : gate.ok == false ? "FAIL" : "-   ";
  const Emphasis emphasis = gate.ok == true ? Emphasis::kGood : gate.ok == false ? Emphasis::kBad : Emphasis::kFaint;
  page.Item(fmt::format("{} {}", state, gate.name), kGateWidth, gate.detail, emphasis);
  if (gate.ok == false && gate.fix) page.Item("", kGateWidth, fmt::format("fix: {}", *gate.fix));
}

// What became of the records that a counter counts.
struct CounterWords {
  DropReason reason;
  std::string_view fate;  // kLost, kLeftOut or kKept
  std::string_view words;
};

constexpr std::string_view kLost = "lost";
constexpr std::string_view kLeftOut = "left out";
constexpr std::string_view kKept = "kept";
constexpr std::array kCounterWords = std::to_array<CounterWords>({
    {DropReason::kZeroTime, kLost, "without a time"},
    {DropReason::kNegativeDuration, kLost, "with a negative duration"},
    {DropReason::kOutsideWindow, kLost, "outside the capture"},
    {DropReason::kAbsurdDuration, kLost, "with an impossible duration"},
    {DropReason::kBadNumber, kLost, "with an unreadable number"},
    {DropReason::kOversizeEvent, kLost, "too large to read"},
    {DropReason::kResync, kLost, "at unreadable places"},
    {DropReason::kTruncatedTail, kLost, "cut off at the end of a file"},
    {DropReason::kGzipTruncated, kLost, "cut off at the end of a gzip file"},
    {DropReason::kUnknownPhase, kLeftOut, "of unknown type"},
    {DropReason::kStrayDevice, kLeftOut, "on devices that are no ranks"},
    {DropReason::kDuplicateRecord, kLeftOut, "recorded twice"},
    {DropReason::kConflictingBatch, kLeftOut, "sent again with other content"},
    {DropReason::kDuplicateRank, kLeftOut, "of a rank that is claimed twice"},
    {DropReason::kStepLimit, kLeftOut, "steps beyond the limit of a file"},
    {DropReason::kBadString, kKept, "with an unreadable text"},
    {DropReason::kBadUtf8, kKept, "with a name that was not UTF-8"},
    {DropReason::kMissingLaunch, kKept, "without a launch call"},
    {DropReason::kNegativeLaunchDelay, kKept, "that start before their launch call"},
    {DropReason::kClockOrderViolation, kKept, "that start long before their launch call"},
    {DropReason::kNameLimit, kKept, "beyond the limit of names"},
    {DropReason::kKeyLimit, kKept, "beyond the limit of table rows"},
    {DropReason::kElidedGroupUnresolved, kKept, "collectives whose process group could not be resolved"},
    {DropReason::kNoGroup, kKept, "collectives without a process group"},
    {DropReason::kUnmatchedInstance, kKept, "collectives without a match"},
    {DropReason::kAmbiguousInstance, kKept, "collectives with an uncertain match"},
});

CounterWords WordsOf(std::string_view name) {
  const auto found =
      std::find_if(kCounterWords.begin(), kCounterWords.end(), [&](const auto& it) { return Name(it.reason) == name; });
  return found == kCounterWords.end() ? CounterWords{DropReason{}, kKept, name} : *found;
}

// "lost 3 without a time; kept 64 without a launch call, 8 collectives without a process group"
std::string CountersText(const report::Keyed<report::Count>& counters) {
  std::string text;
  for (const std::string_view fate : {kLost, kLeftOut, kKept}) {
    std::string of_fate;
    for (const auto& [reason, count] : counters) {
      const CounterWords words = WordsOf(reason);
      if (words.fate != fate) continue;
      of_fate += fmt::format("{}{} {}", of_fate.empty() ? "" : ", ", FormatCount(count), words.words);
    }
    if (!of_fate.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", fate, of_fate);
  }
  return text;
}

// Ranks with equal counters share a line.
void WriteCounters(const std::vector<report::CountersOfRank>& ranks, TextPage& page) {
  page.Heading("records with defects", "kept = used, but incomplete or repaired");
  std::vector<std::pair<std::string, std::vector<int32_t>>> lines;
  for (const report::CountersOfRank& rank : ranks) {
    std::string text = CountersText(rank.counters);
    if (text.empty()) continue;
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == text; });
    if (same == lines.end()) {
      lines.push_back({std::move(text), {rank.rank}});
    } else {
      same->second.push_back(rank.rank);
    }
  }
  for (const auto& [text, of_text] : lines) {
    page.Line(fmt::format("{}{}: {}", FoldedRanks(of_text), of_text.size() > 1 ? ", each" : "", text), 2, 2);
  }
  if (lines.empty()) page.Line("none", 2, 0, Emphasis::kFaint);
}

bool IsReadCompletely(const report::FileRow& file) { return file.status == "used"; }

// Files that were read completely are only counted.
void WriteFiles(const std::vector<report::FileRow>& files, TextPage& page) {
  const int64_t used = std::count_if(files.begin(), files.end(), IsReadCompletely);
  page.Heading("files", fmt::format("{} of {} read completely", used, files.size()));
  int64_t shown = 0;
  for (const report::FileRow& file : files) {
    if (IsReadCompletely(file)) continue;
    if (shown++ == page.options().max_rows) {
      page.Line(fmt::format("... and {} more (--limit)", static_cast<int64_t>(files.size()) - used - (shown - 1)));
      return;
    }
    const std::string place = file.offset ? fmt::format(" at byte {}", file.offset->value) : "";
    page.Item(file.status, 8, fmt::format("{}{}: {}", file.path, place, file.reason.value_or("")));
  }
}

// "file name"
std::string SourceInWords(const report::RankRow& row) {
  std::string source = row.rank_source;
  std::replace(source.begin(), source.end(), '_', ' ');
  return source;
}

}  // namespace

void RanksSection(const std::vector<report::RankRow>& rows, TextPage& page) {
  using Row = report::RankRow;
  page.Heading("ranks", "source = where the rank number comes from");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"source", SourceInWords},
                    {"host", &Row::host},
                    {"clock", &Row::domain, CellKind::kNumber, 4},
                    {"capture", &Row::capture, CellKind::kNumber, 9},
                    {"device", &Row::device, CellKind::kNumber, 5},
                    {"GPU", &Row::gpu_name, CellKind::kText, 3},
                    {"bus", &Row::pci_bus, CellKind::kText, 8},
                    {"span", &Row::span_ns, CellKind::kTime},
                    {"kernels", &Row::kernels, CellKind::kCount},
                    {"collectives", &Row::collectives, CellKind::kCount},
                    {"copies", &Row::copies, CellKind::kCount, 6},
                    {"steps", [](const Row& row) { return row.steps.count; }, CellKind::kCount, 2},
                    {"complete", [](const Row& row) { return row.complete ? "yes" : "no"; }, CellKind::kText, 7},
                    {"path", &Row::path, CellKind::kPath}});
}

void QualitySection(const report::Quality& quality, TextPage& page) {
  page.Heading("quality of the data");
  for (const bool failed : {true, false}) {
    for (const report::GateRow& gate : quality.gates) {
      if ((gate.ok == false) == failed) WriteGate(gate, page);
    }
  }
  if (quality.gates.empty()) page.Line("(nothing)", 2, 0, Emphasis::kFaint);
  WriteCounters(quality.ranks, page);
  WriteFiles(quality.files, page);
}

}  // namespace lockstep
