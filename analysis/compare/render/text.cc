// The comparison as text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/compare/render/render.h"
#include "analysis/compare/words.h"
#include "analysis/report/text/text_page.h"
#include "analysis/report/text/text_words.h"

namespace lockstep::compare {
namespace {

constexpr size_t kItemWidth = 10;

using report::ComparisonDocument;

Cell PercentChange(const std::optional<double>& ratio) {
  if (!ratio) return {};
  return SignedPercent(*ratio);
}

Cell RangeOfRatio(const std::optional<double>& ratio, const report::OptionalRange& range) {
  if (!range) return {};
  return PercentRange(ratio.value_or(0), *range);
}

// The interval of a time that is compared by its ratio, or of a part of it.
Cell RangeCell(const report::MetricChange& row) {
  if (row.metric.starts_with("step_time") && row.interval_ratio)
    return RangeOfRatio(row.change_ratio, row.interval_ratio);
  if (!row.interval) return {};
  return fmt::format("{} to {}", SignedTime(row.interval->first), SignedTime(row.interval->second));
}

Emphasis EmphasisOf(std::string_view verdict) {
  if (verdict == report::kSlowerWord) return Emphasis::kBad;
  if (verdict == report::kFasterWord) return Emphasis::kGood;
  return Emphasis::kStrong;
}

void WriteSide(std::string_view side, const std::vector<report::ComparedRunHead>& runs, TextPage& page) {
  for (const report::ComparedRunHead& run : runs) {
    const std::string warm_up =
        run.warm_up_steps.value > 0 ? fmt::format(" after {} of warm-up", run.warm_up_steps.value) : std::string();
    page.Item(side, 4,
              fmt::format("{}: {} rank{}, {} step{}{}, typical step {}", Printable(run.name), run.ranks.value,
                          run.ranks.value == 1 ? "" : "s", run.steps.value, run.steps.value == 1 ? "" : "s", warm_up,
                          FormatTime(run.step_time_ns)));
  }
}

void WriteHeadline(const ComparisonDocument& document, TextPage& page) {
  page.Raw("");
  page.Line(document.headline.sentence, 0, 2, EmphasisOf(document.headline.verdict));
  for (const std::string& detail : document.headline.details) page.Line(detail, 2, 2);
  if (!document.headline.sureness.empty()) page.Item("how sure", kItemWidth, document.headline.sureness);
  for (const std::string& reason : document.comparable.reasons) page.Item("restricted", kItemWidth, reason);
}

bool IsNothing(const report::MetricChange& row) { return row.base.value_or(0) == 0 && row.fresh.value_or(0) == 0; }

void WriteRates(const ComparisonDocument& document, TextPage& page) {
  for (const report::MetricChange& row : document.metrics) {
    if (row.unit == "ns" || IsNothing(row)) continue;
    page.Line(fmt::format("{}: {:.4g} {} instead of {:.4g} ({})", row.metric, row.fresh.value_or(0), row.unit,
                          row.base.value_or(0), PercentChange(row.change_ratio).Text()));
  }
}

void WriteMetrics(const ComparisonDocument& document, TextPage& page) {
  using Row = report::MetricChange;
  std::vector<Row> times = document.metrics;
  std::erase_if(times, [](const Row& row) { return row.unit != "ns" || IsNothing(row); });
  page.Heading("metrics", "time of a step; its parts are those of the mean rank");
  page.Table(times, {{"metric", &Row::metric},
                     {"base", &Row::base, CellKind::kTime},
                     {"new", &Row::fresh, CellKind::kTime},
                     {"change", [](const Row& row) { return PercentChange(row.change_ratio); }},
                     {"95 % interval", RangeCell, CellKind::kText, 1},
                     {"verdict", &Row::verdict}});
  const auto is_same = [](const Row& row) { return row.verdict == report::kSameWord; };
  if (std::any_of(times.begin(), times.end(), is_same)) {
    page.Line("same: the change is below 1 % of the step, or none is found", 2);
  }
  WriteRates(document, page);
}

void WriteLedger(const ComparisonDocument& document, TextPage& page) {
  using Row = report::LedgerEntry;
  page.Heading("ledger", "the change of the mean step, split into parts that sum to it");
  std::vector<Row> rows = document.ledger;
  Row total;
  total.label = "the mean step";
  for (const Row& row : rows) {
    total.base_ns_per_step += row.base_ns_per_step;
    total.new_ns_per_step += row.new_ns_per_step;
    total.change_ns_per_step += row.change_ns_per_step;
  }
  if (!rows.empty()) rows.insert(rows.begin(), total);
  page.Table(rows, {{"part", &Row::label, CellKind::kName},
                    {"base", &Row::base_ns_per_step, CellKind::kTime},
                    {"new", &Row::new_ns_per_step, CellKind::kTime},
                    {"change", &Row::change_ns_per_step, CellKind::kTime}});
}

std::string NameOfKernels(const report::KernelChange& change) {
  const auto& side = change.fresh ? change.fresh : change.base;
  if (!side || side->names.empty()) return "";
  return side->names.size() == 1 ? side->names.front()
                                 : fmt::format("{} (and {} more)", side->names.front(), side->names.size() - 1);
}

// What one side lacks has no change that could be a verdict.
Cell VerdictOfPair(const report::KernelChange& change) {
  return change.base && change.fresh ? Cell(change.verdict) : Cell();
}

void WriteKernels(const ComparisonDocument& document, TextPage& page) {
  using Row = report::KernelChange;
  const auto time = [](const std::optional<report::KernelSide>& side) {
    return side ? Cell(side->ns_per_step) : Cell();
  };
  page.Heading("kernels", "time a step on the mean rank, largest changes first");
  page.Table(document.kernels,
             {{"base", [time](const Row& row) { return time(row.base); }, CellKind::kTime},
              {"new", [time](const Row& row) { return time(row.fresh); }, CellKind::kTime},
              {"change", &Row::change_ns_per_step, CellKind::kTime},
              {"change %", [](const Row& row) { return PercentChange(row.change_ratio); }, CellKind::kText, 2},
              {"verdict", VerdictOfPair},
              {"match", &Row::match, CellKind::kText, 1},
              {"kernel", NameOfKernels, CellKind::kKernel}});
}

void WriteFamilies(const ComparisonDocument& document, TextPage& page) {
  using Row = report::FamilyChange;
  page.Heading("families", "kernels by family, time a step on the mean rank");
  page.Table(document.families, {{"family", &Row::family},
                                 {"base", &Row::base_ns_per_step, CellKind::kTime},
                                 {"new", &Row::new_ns_per_step, CellKind::kTime},
                                 {"change", &Row::change_ns_per_step, CellKind::kTime},
                                 {"change %", [](const Row& row) { return PercentChange(row.change_ratio); }}});
}

void WriteRoles(const ComparisonDocument& document, TextPage& page) {
  using Row = report::RoleChange;
  page.Heading("roles", "kernels by part of the model, on the mean rank; communication includes its waiting");
  const bool tells_tokens = std::any_of(document.roles.begin(), document.roles.end(),
                                        [](const Row& row) { return row.base_ns_per_token || row.new_ns_per_token; });
  std::vector<Column<Row>> columns = {{"role", &Row::role},
                                      {"step base", &Row::base_ns_per_step, CellKind::kTime},
                                      {"step new", &Row::new_ns_per_step, CellKind::kTime},
                                      {"change", [](const Row& row) { return PercentChange(row.change_ratio); }}};
  if (tells_tokens) {
    columns.push_back({"token base", &Row::base_ns_per_token, CellKind::kTime});
    columns.push_back({"token new", &Row::new_ns_per_token, CellKind::kTime});
    columns.push_back({"change", [](const Row& row) { return PercentChange(row.per_token_change_ratio); }});
  }
  page.Table(document.roles, columns);
  if (!tells_tokens) page.Line("for the time of a token, add --context tokens_per_step=N", 2);
  WriteRates(document, page);
}

void WriteCollectives(const ComparisonDocument& document, TextPage& page) {
  using Row = report::CollectiveChange;
  const auto figure = [](auto Row::*side, auto report::CollectiveSide::*member) {
    return [side, member](const Row& row) { return row.*side ? Cell((*(row.*side)).*member) : Cell(); };
  };
  page.Heading("collectives", "transfer: median of one; waiting: a step, summed over the ranks");
  page.Table(document.collectives,
             {{"operation", &Row::op},
              {"type", &Row::dtype, CellKind::kText, 3},
              {"message", &Row::bytes, CellKind::kBytes},
              {"ranks", &Row::members, CellKind::kNumber, 2},
              {"transfer base", figure(&Row::base, &report::CollectiveSide::transfer_p50_ns), CellKind::kTime},
              {"new", figure(&Row::fresh, &report::CollectiveSide::transfer_p50_ns), CellKind::kTime},
              {"change", [](const Row& row) { return PercentChange(row.transfer_change_ratio); }},
              {"waiting base", figure(&Row::base, &report::CollectiveSide::wait_ns_per_step), CellKind::kTime},
              {"new", figure(&Row::fresh, &report::CollectiveSide::wait_ns_per_step), CellKind::kTime}});
}

void WriteLate(const ComparisonDocument& document, TextPage& page) {
  using Row = report::LateChange;
  const auto share = [](const std::optional<report::LateSide>& side) {
    return side ? Cell(side->share_of_wait_ratio) : Cell();
  };
  page.Heading("waits", "who makes the others wait, by share of the waiting");
  page.Table(document.late,
             {{"who", [](const Row& row) { return NameInScope(row.scope, row.id); }, CellKind::kName},
              {"base", [share](const Row& row) { return share(row.base); }, CellKind::kPercent},
              {"new", [share](const Row& row) { return share(row.fresh); }, CellKind::kPercent},
              {"change", &Row::change},
              {"host", &Row::host, CellKind::kName, 1}},
             "(nobody is named on either side)");
}

void WriteRanks(const ComparisonDocument& document, TextPage& page) {
  using Row = report::RankChange;
  const report::RankPairing& pairing = document.ranks;
  page.Heading("ranks", pairing.by == "none" ? "" : fmt::format("paired by {}: {}", pairing.by, pairing.reason));
  if (pairing.by == "none") {
    page.Line(fmt::format("not compared one by one: {}", pairing.reason));
    if (pairing.scaling) {
      page.Line(fmt::format("{} scaling, from fewer to more ranks, with an efficiency of {}", *pairing.scaling,
                            FormatPercent(pairing.efficiency)));
    }
    return;
  }
  const auto caused = [](const report::RankSide& side) { return Cell(side.caused_wait_ns_per_step); };
  page.Table(pairing.ranks, {{"base", [](const Row& row) { return row.base.rank; }, CellKind::kNumber},
                             {"new", [](const Row& row) { return row.fresh.rank; }, CellKind::kNumber},
                             {"computing", [](const Row& row) { return PercentChange(row.compute_change_ratio); }},
                             {"caused base", [caused](const Row& row) { return caused(row.base); }, CellKind::kTime},
                             {"caused new", [caused](const Row& row) { return caused(row.fresh); }, CellKind::kTime},
                             {"host", [](const Row& row) { return Cell(row.fresh.host); }, CellKind::kName, 1}});
}

void WriteHosts(const ComparisonDocument& document, TextPage& page) {
  using Row = report::HostChange;
  page.Heading("hosts", "how the ranks of each host changed, and how much more than those of the other hosts");
  page.Table(document.hosts,
             {{"host", &Row::host, CellKind::kName},
              {"before", [](const Row& row) { return Cell(fmt::format("{}", fmt::join(row.base_hosts, ", "))); },
               CellKind::kName, 1},
              {"ranks", &Row::ranks, CellKind::kNumber},
              {"computing", [](const Row& row) { return PercentChange(row.compute_change_ratio); }},
              {"more than others", [](const Row& row) { return PercentChange(row.against_others_ratio); }},
              {"95 % interval",
               [](const Row& row) { return RangeOfRatio(row.against_others_ratio, row.against_others_interval); },
               CellKind::kText, 2},
              {"waiting caused", &Row::caused_wait_change_ns_per_step, CellKind::kTime}},
             "(the ranks are not paired, or no host is known)");
}

void WriteContext(const ComparisonDocument& document, TextPage& page) {
  using Row = report::ContextDifference;
  page.Heading("context", "what differs between the sides");
  page.Table(document.comparable.differences,
             {{"key", &Row::key}, {"base", &Row::base, CellKind::kName}, {"new", &Row::fresh, CellKind::kName}},
             "(no difference is known)");
}

void WriteGates(const ComparisonDocument& document, TextPage& page) {
  if (document.gates.empty()) return;
  page.Heading("gates");
  for (const report::GateResult& gate : document.gates) {
    page.Line(fmt::format("{}: {}, {}", gate.verdict, gate.gate, MeasuredText(gate)), 2, 2,
              gate.verdict == "fails" ? Emphasis::kBad : Emphasis::kPlain);
  }
}

struct Section {
  std::string_view view;
  void (*write)(const ComparisonDocument& document, TextPage& page);
};

constexpr std::array<Section, 11> kSections = {{{"comparison", WriteMetrics},
                                                {"ledger", WriteLedger},
                                                {"kernels", WriteKernels},
                                                {"families", WriteFamilies},
                                                {"roles", WriteRoles},
                                                {"collectives", WriteCollectives},
                                                {"waits", WriteLate},
                                                {"ranks", WriteRanks},
                                                {"hosts", WriteHosts},
                                                {"context", WriteContext},
                                                {"gates", WriteGates}}};

}  // namespace

const std::vector<std::string_view>& ComparisonViews() {
  static const std::vector<std::string_view> views = [] {
    std::vector<std::string_view> names;
    for (const Section& section : kSections) names.push_back(section.view);
    return names;
  }();
  return views;
}

std::string RenderText(const ComparisonDocument& document, const std::vector<std::string>& views,
                       const TextOptions& options) {
  TextPage page(options);
  WriteSide("base", document.base, page);
  WriteSide("new", document.fresh, page);
  WriteHeadline(document, page);
  for (const Section& section : kSections) {
    if (std::find(views.begin(), views.end(), section.view) != views.end()) section.write(document, page);
  }
  if (!document.notices.empty()) {
    page.Heading("notices");
    for (const std::string& notice : document.notices) page.Line(notice, 2, 2);
  }
  return page.Take();
}

}  // namespace lockstep::compare
