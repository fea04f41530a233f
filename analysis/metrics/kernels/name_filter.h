// Which kernel names pass --kernels, asked once a name. Not thread safe; the run must outlive it.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/base/name_pattern.h"
#include "analysis/model/run_data.h"

namespace lockstep {

class NameFilter {
 public:
  // "" lets everything through. kInvalidArgument: no ECMAScript regular expression, or too long.
  static absl::StatusOr<NameFilter> Make(const RunData& run, const std::string& pattern);

  // kInvalidArgument: the pattern is too complex for the name.
  absl::StatusOr<bool> Passes(uint32_t name);

 private:
  NameFilter(const RunData& run, std::optional<NamePattern> pattern) : run_(&run), pattern_(std::move(pattern)) {}

  const RunData* run_;
  std::optional<NamePattern> pattern_;
  std::map<uint32_t, bool> known_;
};

}  // namespace lockstep
