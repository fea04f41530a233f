// A random model whose kernels are known, and the same model in another version of its software.
//
// A site is a call in the code of the model; a kernel of a side is a name with the sites that launch it. A match is
// right when both of its sides are of the same sites. Names are put together as libraries do it; nothing here is shared
// with the code under test. Deterministic by seed.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "analysis/compare/kernels/kernel_matches.h"
#include "bench/models/model_places.h"

namespace lockstep::compare {

struct ModelOptions {
  ModelPlaces places = ModelPlaces::kTypicalStep;
  bool ranges = true;
  double changed = 0.6;    // chance that a kernel is re-templated, respelled or gets another version
  double renamed = 0.08;   // chance that a kernel has the name of another library, if there is one
  double fused = 0.08;     // chance that a fusion begins at a site, on either side
  double opaque = 0.0;     // chance that the name of a fused kernel says nothing
  double shortened = 0.2;  // chance that the name of a fused kernel has one word for each part
  double split = 0.05;     // chance that a kernel is two on one side
  double added = 0.05;     // chance that a site is of one side only
  bool retuned = true;
};

struct ModelSide {
  std::vector<KernelOfRun> kernels;
  std::vector<std::set<int>> sites;  // of each kernel
  std::set<int> opaque;              // sites in kernels whose name says nothing
};

struct RandomModel {
  ModelSide before;
  ModelSide after;
};

[[nodiscard]] RandomModel MakeRandomModel(uint64_t seed, const ModelOptions& options);

struct ModelScore {
  double right = 0;      // time of kernels that both sides have, in right matches, by all such time
  double matched = 0;    // time of all kernels in matches, by all time
  double worst = 0;      // the largest wrong match, by the time of the step
  int wrong = 0;         // wrong matches above 1 % of the step
  int fusions = 0;       // that the model has
  int fusions_told = 0;  // of these, matched as fused or split
};
[[nodiscard]] ModelScore ScoreOf(const RandomModel& model, const KernelMatches& matches);

}  // namespace lockstep::compare
