#include "bench/models/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/models/random_function.h"

namespace lockstep::compare {

namespace {

using random_function::Chance;
using random_function::Change;
using random_function::Function;
using random_function::GemmVariant;
using random_function::IdentityText;
using random_function::Int;
using random_function::OperationOf;
using random_function::Pick;
using random_function::PiecesOf;
using random_function::RandomFunction;
using random_function::Rename;
using random_function::Rng;
using random_function::SpelledFunction;
using random_function::Uniform;
using random_function::Verbs;

constexpr int kFirstFunctionId = 1'000;
constexpr int kFirstPieceId = 100'000;  // of second pieces

struct Site {
  int id = 0;
  int section = 0;  // 0 prologue, 1 layer, 2 epilogue
  int function = 0;
  double time_ns = 0;  // a launch
  std::string range;
};

struct Draft {
  std::vector<Site> sites;
  std::vector<Function> functions;
};

Draft RandomDraft(Rng& rng, bool ranges) {
  Draft draft;
  std::vector<std::string> verbs = Verbs();
  std::shuffle(verbs.begin(), verbs.end(), rng);
  const int count = Int(rng, 10, 80);
  const int coarse = Int(rng, 0, 2);  // 0 a range a few sites, 1 a range a section, 2 none
  for (int id = 0; id < count; ++id) {
    Site site{.id = id,
              .section = id < count / 10          ? 0
                         : id < count - count / 8 ? 1
                                                  : 2,
              .function = 0,
              .time_ns = 0,
              .range = {}};
    site.time_ns = std::exp(Uniform(rng, std::log(2e3), std::log(4e5)));
    const bool again = !draft.functions.empty() && Chance(rng, 0.1);  // the same kernel from another place
    if (again) {
      site.function = Int(rng, 0, static_cast<int>(draft.functions.size()) - 1);
    } else {
      Function f = RandomFunction(rng, verbs);
      site.function = static_cast<int>(draft.functions.size());
      for (size_t k = 0; k < draft.functions.size(); ++k) {
        if (IdentityText(draft.functions[k]) == IdentityText(f)) site.function = static_cast<int>(k);
      }
      if (site.function == static_cast<int>(draft.functions.size())) draft.functions.push_back(f);
      if (f.style == Function::Style::kGemm) site.time_ns *= 4;
    }
    if (ranges && coarse == 0) site.range = fmt::format("module_{}", static_cast<char>('a' + id / 4));
    if (ranges && coarse == 1) site.range = site.section == 1 ? "model.forward" : "model.rest";
    draft.sites.push_back(site);
  }
  return draft;
}

// No function takes the name of another one: that would be another kernel by its name.
// `more` draws what was added to the generator later, so that models of a seed stay alike.
void ChangeFunctions(Rng& rng, Rng& more, const ModelOptions& options, Draft& draft) {
  std::set<std::string> names;
  for (const Function& f : draft.functions) names.insert(IdentityText(f));
  for (Function& f : draft.functions) {
    Function changed = f;
    if (Chance(rng, options.changed)) Change(rng, changed);
    if (Chance(more, options.renamed)) Rename(more, changed);
    const bool taken = IdentityText(changed) != IdentityText(f) && !names.insert(IdentityText(changed)).second;
    if (!taken) f = changed;
    if (f.style == Function::Style::kInductor && options.changed > 0) f.ordinal = Int(rng, 0, 30);
  }
}

struct Versions {
  std::vector<std::string> names;                             // of each function, "" for gemms
  std::vector<std::string> gemms;                             // of each site
  std::map<int, std::pair<std::string, std::string>> pieces;  // of sites that are split
};

Versions NamesOfVersion(Rng& rng, const Draft& draft, int library, int variants) {
  Versions out;
  for (const Function& f : draft.functions) out.names.push_back(SpelledFunction(f));
  std::map<std::string, std::vector<std::string>> pool;
  for (const std::string layout : {"tn", "nn", "nt"}) {
    for (int i = 0; i < variants; ++i) pool[layout].push_back(GemmVariant(rng, library, layout));
  }
  for (const Site& site : draft.sites) {
    const Function& f = draft.functions[static_cast<size_t>(site.function)];
    out.gemms.push_back(f.style == Function::Style::kGemm ? Pick(rng, pool[f.layout]) : "");
  }
  return out;
}

// site -> name of the fused kernel, for sites that are fused on one side.
std::map<int, std::string> Fusions(Rng& rng, Rng& more, const Draft& draft, const ModelOptions& options,
                                   std::set<int>& taken, std::set<int>& opaque) {
  std::map<int, int> uses;
  for (const Site& site : draft.sites) ++uses[site.function];
  std::map<int, std::string> fused;
  for (size_t i = 0; i + 1 < draft.sites.size(); ++i) {
    if (!Chance(rng, options.fused)) continue;
    const size_t length = static_cast<size_t>(Int(rng, 2, 4));
    std::vector<size_t> parts;
    std::set<std::string> operations;
    for (size_t p = i; p < std::min(i + length, draft.sites.size()); ++p) {
      const Function& f = draft.functions[static_cast<size_t>(draft.sites[p].function)];
      const bool fits = draft.sites[p].section == draft.sites[i].section && uses[draft.sites[p].function] == 1 &&
                        taken.count(draft.sites[p].id) == 0 && f.style != Function::Style::kPlain &&
                        (f.style != Function::Style::kGemm || p == i);
      if (!fits || !operations.insert(OperationOf(f)).second) break;
      parts.push_back(p);
    }
    if (parts.size() < 2) continue;
    const bool says_nothing = Chance(rng, options.opaque);
    std::string name = says_nothing ? fmt::format("megablock_{}", static_cast<char>('a' + Int(rng, 0, 25))) : "fused";
    const bool shortened = !says_nothing && Chance(more, options.shortened);
    if (shortened) name = "both";
    for (const size_t p : parts) {
      taken.insert(draft.sites[p].id);
      if (says_nothing) opaque.insert(draft.sites[p].id);
      if (says_nothing) opaque.insert(kFirstFunctionId + draft.sites[p].function);
      std::string operation = OperationOf(draft.functions[static_cast<size_t>(draft.sites[p].function)]);
      if (shortened) operation.erase(std::min(operation.find('_'), operation.size()));
      if (!says_nothing) name += "_" + operation;
    }
    for (const size_t p : parts) fused[draft.sites[p].id] = fmt::format("void next::{}_kernel<{}>(float*)", name, i);
    i += parts.size();
  }
  return fused;
}

// Sites whose kernel is two on one side, with their names there. Each function is called from one place.
void SplitSites(Rng& more, const Draft& draft, const ModelOptions& options, std::set<int>& taken,
                std::vector<Versions*> sides, std::set<int>& split) {
  std::map<int, int> uses;
  for (const Site& site : draft.sites) ++uses[site.function];
  for (const Site& site : draft.sites) {
    const Function& f = draft.functions[static_cast<size_t>(site.function)];
    if (f.style != Function::Style::kCpp || uses[site.function] > 1 || taken.count(site.id) > 0) continue;
    if (!Chance(more, options.split)) continue;
    taken.insert(site.id);
    split.insert(site.function);
    const auto [first, second] = PiecesOf(more, f);
    sides[static_cast<size_t>(Int(more, 0, 1))]->pieces[site.id] = {SpelledFunction(first), SpelledFunction(second)};
  }
}

// Start of each launch of each site, as fractions of the step.
std::vector<std::vector<double>> PlacesOf(Rng& rng, const Draft& draft, const std::vector<double>& times,
                                          const std::set<int>& absent, int layers) {
  std::vector<std::vector<double>> starts(draft.sites.size());
  double now = 0;
  for (int section = 0; section < 3; ++section) {
    for (int layer = 0; layer < (section == 1 ? layers : 1); ++layer) {
      for (size_t s = 0; s < draft.sites.size(); ++s) {
        if (draft.sites[s].section != section || absent.count(draft.sites[s].id) > 0) continue;
        starts[s].push_back(now + Uniform(rng, 0, 300));
        now += times[s] + Uniform(rng, 500, 2'000);
      }
    }
  }
  for (std::vector<double>& of_site : starts) {
    for (double& start : of_site) start /= now;
  }
  return starts;
}

// One side of a model as it is put together.
struct SideInMaking {
  std::map<std::string, KernelOfRun> kernels;
  std::map<std::string, std::set<int>> sites;

  // Launches of a kernel; those of a further part of a fused one are there already.
  void Add(const std::string& name, const Site& site, const std::vector<double>& starts, double time_ns, bool part) {
    KernelOfRun& kernel = kernels[name];
    kernel.name = name;
    kernel.time_per_step_ns += time_ns * static_cast<double>(starts.size());
    if (part) return;
    kernel.range = kernel.places.empty() || kernel.range == site.range ? site.range : "";
    kernel.launches_per_step += static_cast<double>(starts.size());
    kernel.places.insert(kernel.places.end(), starts.begin(), starts.end());
  }

  [[nodiscard]] ModelSide Done(ModelPlaces kept) {
    ModelSide side;
    for (auto& entry : kernels) {
      std::sort(entry.second.places.begin(), entry.second.places.end());
      entry.second.kind = ClassifyKernel(entry.first);
      side.kernels.push_back(entry.second);
      side.sites.push_back(sites[entry.first]);
    }
    KeepPlaces(kept, side.kernels);
    return side;
  }
};

// What one side does at the sites, beside their times.
struct SidePlan {
  Versions versions;
  std::map<int, std::string> fused;
  std::set<int> absent;
  std::vector<double> times;
};

ModelSide SideOfModel(Rng& rng, const Draft& draft, const SidePlan& plan, const std::set<int>& split, int layers,
                      ModelPlaces places) {
  const auto starts = PlacesOf(rng, draft, plan.times, plan.absent, layers);
  SideInMaking side;
  for (size_t s = 0; s < draft.sites.size(); ++s) {
    const Site& site = draft.sites[s];
    if (plan.absent.count(site.id) > 0) continue;
    // A product is known by its place, as its name is that of a variant; another kernel by its function.
    const bool product = draft.functions[static_cast<size_t>(site.function)].style == Function::Style::kGemm;
    const int id = product ? site.id : kFirstFunctionId + site.function;
    if (const auto pieces = plan.versions.pieces.find(site.id); pieces != plan.versions.pieces.end()) {
      side.sites[pieces->second.first].insert(id);
      side.sites[pieces->second.second].insert(kFirstPieceId + site.function);
      side.Add(pieces->second.first, site, starts[s], plan.times[s] * 0.6, false);
      // Right after the first one, which begins at most 300 ns after what was before it.
      std::vector<double> later = starts[s];
      for (double& start : later) start += 1e-9;
      side.Add(pieces->second.second, site, later, plan.times[s] * 0.5, false);
      continue;
    }
    const bool is_fused = plan.fused.count(site.id) > 0;
    const std::string name = is_fused                         ? plan.fused.at(site.id)
                             : plan.versions.gemms[s].empty() ? plan.versions.names[static_cast<size_t>(site.function)]
                                                              : plan.versions.gemms[s];
    const bool part = is_fused && !side.sites[name].empty();
    side.sites[name].insert(id);
    if (split.count(site.function) > 0) side.sites[name].insert(kFirstPieceId + site.function);
    side.Add(name, site, starts[s], plan.times[s] * (is_fused ? 0.6 : 1), part);
  }
  return side.Done(places);
}

}  // namespace

RandomModel MakeRandomModel(uint64_t seed, const ModelOptions& options) {
  Rng rng(seed);
  Rng more(~seed);
  Draft draft = RandomDraft(rng, options.ranges);
  const int layers = Int(rng, 2, 40);
  const int library = Int(rng, 0, 4);
  SidePlan before;
  SidePlan after;
  before.versions = NamesOfVersion(rng, draft, library, Int(rng, 1, 4));
  RandomModel model;
  std::set<int> taken;
  std::set<int> opaque;
  before.fused = Fusions(rng, more, draft, options, taken, opaque);
  after.fused = Fusions(rng, more, draft, options, taken, opaque);
  std::set<int> taken_or_split = taken;
  std::set<int> split;
  Versions split_after;
  SplitSites(more, draft, options, taken_or_split, {&before.versions, &split_after}, split);
  for (const Site& site : draft.sites) {
    const int side = Int(rng, 0, 1);
    const bool added = Chance(rng, options.added) && taken.count(site.id) == 0;
    if (added && taken_or_split.count(site.id) == 0) (side == 0 ? before.absent : after.absent).insert(site.id);
    before.times.push_back(site.time_ns);
    after.times.push_back(site.time_ns * (Chance(rng, 0.5) ? std::exp(Uniform(rng, std::log(0.3), std::log(3.0)))
                                                           : Uniform(rng, 0.98, 1.02)));
  }
  ChangeFunctions(rng, more, options, draft);
  after.versions = NamesOfVersion(rng, draft, Chance(rng, 0.6) ? library : Int(rng, 0, 4), Int(rng, 1, 4));
  after.versions.pieces = split_after.pieces;
  if (!options.retuned) after.versions.gemms = before.versions.gemms;
  model.before = SideOfModel(rng, draft, before, split, layers, options.places);
  model.after = SideOfModel(rng, draft, after, split, layers, options.places);
  model.before.opaque = model.after.opaque = opaque;
  return model;
}

}  // namespace lockstep::compare
