#include "cli/baseline_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"
#include "cli/compare_command.h"
#include "cli/report_output.h"
#include "cli/run_source.h"
#include "platform/command_line/command_line.h"

namespace lockstep {
namespace {

struct Baseline {
  std::string name;
  std::string run;
};

// By name.
absl::StatusOr<std::vector<Baseline>> BaselinesOf(const QueryClient& client) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, client.Runs());
  std::vector<Baseline> baselines;
  for (const RunInfo& run : runs) {
    for (const std::string& name : run.baselines) baselines.push_back({name, run.name});
  }
  std::sort(baselines.begin(), baselines.end(), [](const Baseline& a, const Baseline& b) { return a.name < b.name; });
  return baselines;
}

// The one of this name; without a name the only one there is.
absl::StatusOr<Baseline> Choose(const std::vector<Baseline>& baselines, const std::string& name) {
  if (baselines.empty()) {
    return absl::NotFoundError("there is no baseline yet: lockstep baseline set NAME RUN makes one");
  }
  std::vector<std::string> names;
  for (const Baseline& baseline : baselines) {
    if (baseline.name == name) return baseline;
    names.push_back(fmt::format("'{}'", Printable(baseline.name)));
  }
  if (name.empty() && baselines.size() == 1) return baselines.front();
  if (name.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("there are several baselines, {}: choose one with --name", fmt::join(names, ", ")));
  }
  return absl::NotFoundError(
      fmt::format("there is no baseline '{}'; the baselines are {}", Printable(name), fmt::join(names, ", ")));
}

struct ChangeFlags {
  RunSourceFlags source;
  std::string name;
  std::string run;
};

struct ListFlags {
  RunSourceFlags source;
  std::string format = "text";
};

struct CompareWithFlags : CompareFlags {
  std::string run;
  std::string name;
};

int Finish(const absl::Status& done) { return done.ok() ? kExitDone : Complain(done, ExitCodeOf(done)); }

int Set(const ChangeFlags& flags) {
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) return Finish(source.status());
  return Finish(source->query().SetBaseline(flags.name, flags.run));
}

int Remove(const ChangeFlags& flags) {
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) return Finish(source.status());
  return Finish(source->query().RemoveBaseline(flags.name));
}

std::string AsText(const std::vector<Baseline>& baselines) {
  if (baselines.empty()) return "no baselines\n";
  size_t width = std::string_view("baseline").size();
  for (const Baseline& baseline : baselines) width = std::max(width, Printable(baseline.name).size());
  std::string text = fmt::format("{:{}}  run\n", "baseline", width);
  for (const Baseline& baseline : baselines) {
    text += fmt::format("{:{}}  {}\n", Printable(baseline.name), width, Printable(baseline.run));
  }
  return text;
}

std::string AsJson(const std::vector<Baseline>& baselines) {
  Json document;
  document["schema"] = "lockstep.baselines/1";
  document["baselines"] = Json::array();
  for (const Baseline& baseline : baselines) {
    document["baselines"].push_back({{"name", baseline.name}, {"run", baseline.run}});
  }
  return RenderJson(document);
}

int List(const ListFlags& flags) {
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) return Finish(source.status());
  const absl::StatusOr<std::vector<Baseline>> baselines = BaselinesOf(source->query());
  if (!baselines.ok()) return Finish(baselines.status());
  return Finish(WriteText(flags.format == "json" ? AsJson(*baselines) : AsText(*baselines), ""));
}

absl::StatusOr<Baseline> FindBaseline(const CompareWithFlags& flags) {
  LOCKSTEP_ASSIGN_OR_RETURN(const RunSource source, RunSource::Open(flags.input.source));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<Baseline> baselines, BaselinesOf(source.query()));
  return Choose(baselines, flags.name);
}

int CompareWith(const CompareWithFlags& flags) {
  const absl::StatusOr<Baseline> baseline = FindBaseline(flags);
  if (!baseline.ok()) return Finish(baseline.status());
  fmt::print(stderr, "lockstep: comparing with the baseline '{}', run '{}'\n", Printable(baseline->name),
             Printable(baseline->run));
  CompareFlags sides = flags;
  sides.base = {baseline->run};
  sides.fresh = {flags.run};
  return CompareRuns(sides);
}

// One of the things that can be done, and how.
struct Action {
  CLI::App* verb;
  std::function<int()> run;
};

Action AddSet(CLI::App& verb) {
  CLI::App* const set = verb.add_subcommand("set", "make a run the baseline of this name; it replaces the former one");
  auto flags = std::make_shared<ChangeFlags>();
  set->add_option("NAME", flags->name, "name of the baseline, such as main or main-8xh100")->required();
  set->add_option("RUN", flags->run, "name of a stored run; `lockstep runs` lists them")->required();
  AddRunSourceFlags(*set, flags->source);
  return {set, [flags] { return Set(*flags); }};
}

Action AddList(CLI::App& verb) {
  CLI::App* const list = verb.add_subcommand("list", "list the baselines and their runs");
  auto flags = std::make_shared<ListFlags>();
  list->add_option("--format", flags->format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->option_text("FORMAT")
      ->default_str("text");
  AddRunSourceFlags(*list, flags->source);
  return {list, [flags] { return List(*flags); }};
}

Action AddCompare(CLI::App& verb) {
  CLI::App* const compare = verb.add_subcommand("compare", "compare a run with a baseline, as `lockstep compare` does");
  auto flags = std::make_shared<CompareWithFlags>();
  compare
      ->add_option("RUN", flags->run,
                   "name of a stored run, or a folder of traces, written as a path with a slash: ./new or new/")
      ->required();
  compare->add_option("--name", flags->name, "which baseline (default: the only one there is)")->option_text("NAME");
  AddComparisonFlags(*compare, *flags);
  return {compare, [flags] { return CompareWith(*flags); }};
}

Action AddRemove(CLI::App& verb) {
  CLI::App* const remove = verb.add_subcommand("remove", "remove a baseline; its run stays");
  auto flags = std::make_shared<ChangeFlags>();
  remove->add_option("NAME", flags->name, "name of the baseline")->required();
  AddRunSourceFlags(*remove, flags->source);
  return {remove, [flags] { return Remove(*flags); }};
}

}  // namespace

std::function<int()> AddBaselineCommand(CLI::App& verb) {
  verb.require_subcommand(1);
  auto actions = std::make_shared<std::vector<Action>>();
  for (const auto& add : {AddSet, AddList, AddCompare, AddRemove}) actions->push_back(add(verb));
  verb.footer(
      "A run that is a baseline is not removed by `lockstep runs --prune`.\n\n"
      "Examples:\n"
      "  lockstep baseline set main monday --store runs.db\n"
      "  lockstep baseline compare tuesday --store runs.db --gate 'step_time<=2%'\n"
      "  lockstep baseline compare new/ --store runs.db\n"
      "  lockstep baseline list --store runs.db");
  return [actions] {
    const auto asked =
        std::find_if(actions->begin(), actions->end(), [](const Action& action) { return action.verb->parsed(); });
    return asked == actions->end() ? static_cast<int>(kExitUsage) : asked->run();
  };
}

}  // namespace lockstep
