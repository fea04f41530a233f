#include "analysis/metrics/run/family_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/ascii.h"
#include "analysis/base/utf8.h"

namespace lockstep {
namespace {

constexpr std::string_view kSpace = " \t\r";

absl::StatusOr<FamilyWord> ParseLine(std::string_view line, size_t number) {
  const size_t comma = line.find(',');
  FamilyWord word;
  if (comma != std::string_view::npos) {
    word.family = std::string(Trimmed(line.substr(0, comma), kSpace));
    word.text = std::string(Trimmed(line.substr(comma + 1), kSpace));
  }
  if (RepairUtf8(line) != line) {
    return absl::InvalidArgumentError(fmt::format("line {} is not UTF-8 text", number));
  }
  if (word.family.empty() || word.text.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "line {} is '{:.80}', but a line has a family and a part of a kernel's name, such as 'communication, "
        "my_all_reduce'",
        number, line));
  }
  return word;
}

}  // namespace

absl::StatusOr<std::vector<FamilyWord>> ParseFamilies(std::string_view text) {
  std::vector<FamilyWord> words;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = Trimmed(whole.substr(0, whole.find('#')), kSpace);
    if (line.empty()) continue;
    absl::StatusOr<FamilyWord> word = ParseLine(line, number);
    if (!word.ok()) return word.status();
    if (words.size() == size_t{kMaxFamilyWords}) {
      return absl::InvalidArgumentError(fmt::format("families: more than {} lines", kMaxFamilyWords));
    }
    words.push_back(*std::move(word));
  }
  return words;
}

FamilyNames::FamilyNames(const RunData& run, const AnalysisOptions& options) : run_(run), words_(options.families) {
  for (FamilyWord& word : words_) word.text = Lowered(word.text);
}

const std::string& FamilyNames::Of(const KernelRow& row) {
  const auto [found, is_new] = known_.emplace(std::pair(row.name, row.kind.family), std::string());
  if (is_new) found->second = Told(row);
  return found->second;
}

std::string FamilyNames::Told(const KernelRow& row) const {
  if (!words_.empty() && row.name < run_.names.size() && !row.is_rest) {
    const std::string name = Lowered(run_.names[row.name]);
    for (const FamilyWord& word : words_) {
      if (name.find(word.text) != std::string::npos) return word.family;
    }
  }
  return std::string(Name(row.kind.family));
}

}  // namespace lockstep
