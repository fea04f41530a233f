#include "agent/readers/kineto/process_labels.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "analysis/base/ascii.h"

namespace lockstep::kineto {
namespace {

constexpr size_t kMostLabels = 4'096;
constexpr size_t kLongestLabel = 64;
constexpr size_t kMostGroups = size_t{1} << 16;  // of all processes together

// The label in front of a process id; "" where there is none.
std::string_view LabelOf(const JsonToken& pid) {
  if (!pid.is_string() || !pid.text.starts_with('[')) return {};
  const size_t end = pid.text.find("] ");
  return end == std::string_view::npos || end > kLongestLabel ? std::string_view{} : pid.text.substr(1, end - 1);
}

}  // namespace

std::optional<int32_t> RankOfLabel(std::string_view label) {
  const std::string text = Lowered(label);
  std::string_view rest = text;
  constexpr std::array<std::string_view, 2> kWords = {"rank", "tp"};
  const auto word =
      std::find_if(kWords.begin(), kWords.end(), [&](std::string_view it) { return rest.starts_with(it); });
  if (word == kWords.end()) return std::nullopt;
  rest.remove_prefix(word->size());
  while (!rest.empty() && std::string_view("-_ ").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
  int32_t rank = -1;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
  const bool whole = error == std::errc() && end == rest.data() + rest.size();
  return whole && rank >= 0 ? std::optional(rank) : std::nullopt;
}

ProcessLabels::ProcessLabels(RecordSink& sink) : sink_(sink), first_(sink.AddProcess(-1)), last_process_(first_) {}

std::optional<ProcessLabels::Place> ProcessLabels::Of(const JsonToken& pid) {
  const std::string_view label = LabelOf(pid);
  if (label.empty()) return Place{first_, pid.text};
  if (label != last_label_ || labels_.empty()) {
    auto found = labels_.find(label);
    if (found == labels_.end()) {
      if (labels_.size() == kMostLabels) return std::nullopt;
      const uint32_t process = labels_.empty() ? first_ : sink_.AddProcess(-2 - static_cast<int64_t>(labels_.size()));
      found = labels_.emplace(label, process).first;
    }
    last_label_ = label;
    last_process_ = found->second;
  }
  return Place{last_process_, pid.text.substr(label.size() + 3)};
}

void ProcessLabels::Finish(FileContext& context) const {
  if (labels_.size() < 2) return;
  ProcessInfo& first = context.processes[first_];
  std::erase_if(first.claims, [](const RankClaim& claim) { return claim.source == RankSource::kMetadata; });
  for (GroupConfig& group : first.groups) group.own_rank = -1;
  for (const auto& [label, process] : labels_) {
    ProcessInfo& info = context.processes[process];
    if (process != first_) {
      info.world_size = first.world_size;
      if (first.groups.size() * labels_.size() <= kMostGroups) info.groups = first.groups;
    }
    if (const std::optional<int32_t> rank = RankOfLabel(label)) info.claims.push_back({*rank, RankSource::kMetadata});
  }
}

}  // namespace lockstep::kineto
