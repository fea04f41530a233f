#include "analysis/base/rank_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

void SortOut(std::vector<int32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// How many numbers from `first` on follow each other without a gap.
size_t RunLength(const std::vector<int32_t>& ascending, size_t first) {
  size_t end = first + 1;
  while (end < ascending.size() && ascending[end] - 1 == ascending[end - 1]) ++end;
  return end - first;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ";
    text += fmt::format("{}{}", before, parts[i]);
  }
  return text;
}

std::string Folded(const std::vector<int32_t>& ascending, size_t most) {
  constexpr size_t kLeastFolded = 3;
  std::vector<std::string> parts;
  size_t next = 0;
  while (next < ascending.size() && parts.size() < most) {
    const size_t run = RunLength(ascending, next);
    const size_t taken = run >= kLeastFolded ? run : 1;
    const int32_t first = ascending[next];
    parts.push_back(taken > 1 ? fmt::format("{}-{}", first, ascending[next + taken - 1]) : fmt::format("{}", first));
    next += taken;
  }
  if (next < ascending.size()) parts.push_back(fmt::format("{} more", ascending.size() - next));
  return Joined(parts);
}

}  // namespace

std::string FoldedNumbers(std::vector<int32_t> numbers, size_t most) {
  SortOut(numbers);
  return Folded(numbers, most);
}

std::string FoldedRanks(std::vector<int32_t> ranks, size_t most) {
  SortOut(ranks);
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", Folded(ranks, most));
}

}  // namespace lockstep
