// Which kernel names pass --kernels, asked once a name. Not thread safe; the run must outlive it.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <string>

#include "analysis/model/run_data.h"

namespace lockstep {

// The longest pattern that --kernels accepts.
inline constexpr size_t kMaxPatternLength = 1'000;

class NameFilter {
 public:
  // "" lets everything through. kInvalidArgument: no ECMAScript regular expression, or too long.
  static absl::StatusOr<NameFilter> Make(const RunData& run, const std::string& pattern);

  // kInvalidArgument: the pattern is too complex for the name.
  absl::StatusOr<bool> Passes(uint32_t name);

 private:
  NameFilter(const RunData& run, std::optional<std::regex> pattern) : run_(&run), pattern_(std::move(pattern)) {}

  const RunData* run_;
  std::optional<std::regex> pattern_;
  std::map<uint32_t, bool> known_;
};

}  // namespace lockstep
