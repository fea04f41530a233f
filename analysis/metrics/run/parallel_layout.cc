#include "analysis/metrics/run/parallel_layout.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {
namespace {

// By ParallelAxis.
constexpr std::array<std::string_view, 5> kAxisNames = {"tp", "pp", "dp", "ep", "cp"};

constexpr std::array<ParallelAxis, 5> kUsualOrder = {
    ParallelAxis::kTensor, ParallelAxis::kContext, ParallelAxis::kExpert, ParallelAxis::kData, ParallelAxis::kPipeline};

std::string_view NameOf(ParallelAxis axis) { return kAxisNames[static_cast<size_t>(axis)]; }

std::optional<ParallelAxis> AxisNamed(std::string_view name) {
  const auto at = std::find(kAxisNames.begin(), kAxisNames.end(), name);
  if (at == kAxisNames.end()) return std::nullopt;
  return static_cast<ParallelAxis>(at - kAxisNames.begin());
}

std::vector<std::string> Split(std::string_view text, char separator) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), separator);
}

absl::Status ReadOrder(const std::string& text, ParallelLayout& layout) {
  for (const std::string& name : Split(text, '-')) {
    const std::optional<ParallelAxis> axis = AxisNamed(name);
    if (!axis) return absl::InvalidArgumentError(fmt::format("'{}' is no axis", name));
    if (std::find(layout.order.begin(), layout.order.end(), *axis) != layout.order.end()) {
      return absl::InvalidArgumentError(fmt::format("order names '{}' twice", name));
    }
    layout.order.push_back(*axis);
  }
  return absl::OkStatus();
}

absl::Status ReadSize(std::string_view name, const std::string& text, ParallelLayout& layout) {
  const std::optional<ParallelAxis> axis = AxisNamed(name);
  if (!axis) return absl::InvalidArgumentError(fmt::format("'{}' is no axis (tp, pp, dp, ep, cp, order)", name));
  if (layout.SizeOf(*axis)) return absl::InvalidArgumentError(fmt::format("'{}' is given twice", name));
  int32_t size = 0;
  const bool is_number = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number || !absl::SimpleAtoi(text, &size) || size < 1) {
    return absl::InvalidArgumentError(fmt::format("'{}' is no positive size", text));
  }
  layout.sizes.emplace_back(*axis, size);
  return absl::OkStatus();
}

absl::Status ReadPart(const std::string& part, ParallelLayout& layout) {
  const size_t equals = part.find('=');
  if (equals == std::string::npos) return absl::InvalidArgumentError(fmt::format("'{}' has no '='", part));
  const std::string key = part.substr(0, equals);
  const std::string value = part.substr(equals + 1);
  if (key != "order") return ReadSize(key, value, layout);
  if (!layout.order.empty()) return absl::InvalidArgumentError("'order' is given twice");
  return ReadOrder(value, layout);
}

}  // namespace

absl::StatusOr<ParallelLayout> ParallelLayout::Parse(std::string_view text) {
  ParallelLayout layout;
  for (const std::string& part : Split(text, ',')) {
    const absl::Status read = ReadPart(part, layout);
    if (read.ok()) continue;
    return absl::InvalidArgumentError(fmt::format("--layout '{}': {}; write for instance tp=8,pp=2,dp=4,order=tp-dp-pp",
                                                  text, std::string(read.message())));
  }
  return layout;
}

std::string ParallelLayout::Text() const {
  std::vector<std::string> parts;
  for (const auto& [axis, size] : sizes) parts.push_back(fmt::format("{}={}", NameOf(axis), size));
  if (!order.empty()) parts.push_back("order=" + *OrderText());
  return absl::StrJoin(parts, ",");
}

std::optional<std::string> ParallelLayout::OrderText() const {
  if (order.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const ParallelAxis axis : order) names.emplace_back(NameOf(axis));
  return absl::StrJoin(names, "-");
}

std::optional<int32_t> ParallelLayout::SizeOf(ParallelAxis axis) const {
  const auto at = std::find_if(sizes.begin(), sizes.end(), [&](const auto& size) { return size.first == axis; });
  return at == sizes.end() ? std::nullopt : std::optional<int32_t>(at->second);
}

int64_t ParallelLayout::Ranks() const {
  int64_t ranks = 1;
  for (const auto& [axis, size] : sizes) {
    if (!order.empty() && std::find(order.begin(), order.end(), axis) == order.end()) continue;
    ranks = std::min<int64_t>(ranks * size, int64_t{kMaxWorldSize} + 1);
  }
  return ranks;
}

std::optional<PipelineAxis> ParallelLayout::Pipeline() const {
  const int32_t stages = SizeOf(ParallelAxis::kPipeline).value_or(1);
  const auto first = order.empty() ? kUsualOrder.data() : order.data();
  const auto last = order.empty() ? kUsualOrder.data() + kUsualOrder.size() : order.data() + order.size();
  if (stages < 2 || std::find(first, last, ParallelAxis::kPipeline) == last) return std::nullopt;
  PipelineAxis pipeline{.stride = 1, .stages = stages};
  for (const auto* axis = first; *axis != ParallelAxis::kPipeline; ++axis) {
    pipeline.stride *= SizeOf(*axis).value_or(1);
    if (pipeline.stride > kMaxWorldSize) return std::nullopt;
  }
  return pipeline;
}

}  // namespace lockstep
