// Any text as a filter of the command line: an answer within its contract or an error that names what was met; memory
// within what the values need.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "analysis/base/check.h"
#include "analysis/base/time.h"
#include "analysis/metrics/run/family_names.h"
#include "cli/filter_text.h"

namespace lockstep {
namespace {

constexpr size_t kMostRanks = 1'000'000;

template <typename Value>
bool IsAnswer(const absl::StatusOr<Value>& answer) {
  LOCKSTEP_CHECK(answer.ok() || (absl::IsInvalidArgument(answer.status()) && !answer.status().message().empty()));
  return answer.ok();
}

void CheckAll(std::string_view text) {
  if (const auto ns = ParseDuration(text); IsAnswer(ns)) LOCKSTEP_CHECK(*ns >= 0 && *ns <= kMaxAbsTimeNs);
  if (const auto steps = ParseStepRange(text); IsAnswer(steps)) LOCKSTEP_CHECK(steps->first <= steps->second);
  if (const auto time = ParseTimeRange(text); IsAnswer(time)) LOCKSTEP_CHECK(time->first < time->second);
  if (const auto ranks = ParseRanks(text); IsAnswer(ranks)) {
    LOCKSTEP_CHECK(!ranks->empty() && ranks->size() <= kMostRanks && ranks->front() >= 0);
    LOCKSTEP_CHECK(std::adjacent_find(ranks->begin(), ranks->end(), std::greater_equal<>()) == ranks->end());
  }
  if (const auto age = ParseAge(text); IsAnswer(age)) LOCKSTEP_CHECK(*age >= 0);
  if (const auto bytes = ParseByteCount(text); IsAnswer(bytes)) LOCKSTEP_CHECK(*bytes >= 0);
  if (const auto families = ParseFamilies(text); IsAnswer(families)) {
    LOCKSTEP_CHECK(families->size() <= static_cast<size_t>(kMaxFamilyWords));
  }
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::CheckAll(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
