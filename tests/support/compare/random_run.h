// Runs for tests of comparisons, drawn at random: a job of some ranks whose steps have known parts and kernels.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"

namespace lockstep::compare {

struct KernelPlan {
  std::string name;
  std::string family = "gemm";
  std::string category = "compute";
  double ns = 10'000;  // a step and rank
};

struct RunPlan {
  std::string name = "run";
  int32_t ranks = 4;
  int64_t steps = 60;
  std::vector<KernelPlan> kernels = {{"gemm_kernel"}, {"flash_fwd_kernel", "attention"}};
  double wait_ns = 5'000;
  double transfer_ns = 8'000;
  double idle_ns = 3'000;
  double noise = 0.01;  // standard deviation of each part, as a share of it
  int32_t late_rank = -1;
  RunContext context;
};

// A document as `lockstep analyze` gives it.
[[nodiscard]] report::Document RandomDocument(const RunPlan& plan, uint32_t seed);
[[nodiscard]] ComparedRun RandomRun(const RunPlan& plan, uint32_t seed);

}  // namespace lockstep::compare
