// lockstep compare: two runs, or two sides of several, side by side.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/any_run.h"
#include "cli/output_flags.h"

namespace lockstep {

struct CompareFlags : OutputFlags {
  std::vector<std::string> runs;
  std::vector<std::string> base;
  std::vector<std::string> fresh;
  std::string self;
  std::string by;
  std::vector<std::string> gates;
  std::string gate_file;
  bool strict_unclear = false;
  std::vector<std::string> views = {"comparison"};
  int64_t limit = 20;
  std::string pair = "auto";
  std::string kernel_map;
  std::vector<std::string> context;
  AnyRunOptions input;
};

// What every comparison of two sides can be asked: how ranks and kernels are matched, gates, views and output.
void AddComparisonFlags(CLI::App& verb, CompareFlags& flags);

// The exit code.
int CompareRuns(const CompareFlags& flags);

std::function<int()> AddCompareCommand(CLI::App& verb);

}  // namespace lockstep
