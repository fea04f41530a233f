// How the ranks of a job divide among the kinds of parallelism, as --layout says it.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

enum class ParallelAxis : uint8_t { kTensor = 0, kPipeline = 1, kData = 2, kExpert = 3, kContext = 4 };

// Where the stages of a pipeline are: the stage of a rank is rank / stride % stages.
struct PipelineAxis {
  int64_t stride = 1;
  int64_t stages = 1;
};

struct ParallelLayout {
  std::vector<std::pair<ParallelAxis, int32_t>> sizes;  // as given, each axis at most once; sizes of at least 1
  std::vector<ParallelAxis> order;  // the axis that varies fastest first; empty = not given: tp-cp-ep-dp-pp

  // "tp=8,pp=2,dp=4[,order=tp-dp-pp]". kInvalidArgument: says what is wrong with it.
  [[nodiscard]] static absl::StatusOr<ParallelLayout> Parse(std::string_view text);

  // What Parse reads.
  [[nodiscard]] std::string Text() const;
  // The axes of `order` joined by '-'; nothing if no order is given.
  [[nodiscard]] std::optional<std::string> OrderText() const;
  // Nothing if it is not given.
  [[nodiscard]] std::optional<int32_t> SizeOf(ParallelAxis axis) const;
  // How many ranks the axes make that divide them: those that `order` names, else all. More than there can be is told
  // as kMaxWorldSize + 1.
  [[nodiscard]] int64_t Ranks() const;
  // Nothing where the layout has no pipeline, or more ranks than there can be.
  [[nodiscard]] std::optional<PipelineAxis> Pipeline() const;

  friend bool operator==(const ParallelLayout&, const ParallelLayout&) = default;
};

}  // namespace lockstep
