#include "bench/simulator/program/step_program.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/base/check.h"

namespace lockstep {

bool MovesMemory(const KernelShape& kernel) {
  static constexpr std::array<std::string_view, 5> kParts = {"norm_kernel", "layer_norm", "rotary_embedding",
                                                             "act_and_mul", "vectorized_elementwise"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return kernel.short_name.find(part) != std::string::npos; });
}

int32_t StreamNumber(Stream stream) {
  switch (stream) {
    case Stream::kCompute:
      return 7;
    case Stream::kTp:
      return 20;
    case Stream::kDp:
      return 24;
    case Stream::kWorld:
      return 28;
    case Stream::kPp:
      return 32;
    case Stream::kEp:
      return 36;
  }
  return -1;
}

Stream StreamOf(GroupKind group) {
  switch (group) {
    case GroupKind::kWorld:
      return Stream::kWorld;
    case GroupKind::kTp:
      return Stream::kTp;
    case GroupKind::kDp:
      return Stream::kDp;
    case GroupKind::kPp:
      return Stream::kPp;
    case GroupKind::kEp:
      return Stream::kEp;
  }
  return Stream::kCompute;
}

bool OldNcclNames(const SimulatorOptions& options) {
  const bool old_kineto = options.form != TraceForm::kNsys && options.kineto_version <= 2023;
  const bool old_nsys = options.form != TraceForm::kKineto && options.nsys_schema_minor <= 7;
  return old_kineto || old_nsys;
}

uint32_t MeetingOf(const Cluster& cluster, const Op& op, int32_t rank) {
  const int32_t index = cluster.CommunicatorOf(rank, op.group);
  LOCKSTEP_CHECK(index >= 0);
  if (!IsPairwise(op)) return cluster.MeetingOf(index);
  const int32_t own = cluster.PositionIn(cluster.communicators[static_cast<size_t>(index)], rank);
  const int32_t peer = op.send_to >= 0 ? op.send_to : op.receive_from;
  if (own - peer == 1 || peer - own == 1) return cluster.PairMeetingOf(index, std::min(own, peer));
  const auto size = static_cast<int32_t>(cluster.communicators[static_cast<size_t>(index)].members.size());
  LOCKSTEP_CHECK(own - peer == size - 1 || peer - own == size - 1);
  return cluster.PairMeetingOf(index, size - 1);
}

std::unique_ptr<StepProgram> MakeProgram(const SimulatorOptions& options) {
  switch (options.program) {
    case ProgramKind::kTrain:
    case ProgramKind::kPipeline:
    case ProgramKind::kMoe:
      return MakeTrainProgram(options);
    default:
      return MakeServingProgram(options);
  }
}

}  // namespace lockstep
