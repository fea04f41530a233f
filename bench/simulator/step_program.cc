#include "bench/simulator/step_program.h"

namespace lockstep {

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
  }
  return Stream::kCompute;
}

bool OldNcclNames(const SimulatorOptions& options) {
  const bool old_kineto = options.form != TraceForm::kNsys && options.kineto_version <= 2023;
  const bool old_nsys = options.form != TraceForm::kKineto && options.nsys_schema_minor <= 7;
  return old_kineto || old_nsys;
}

std::unique_ptr<StepProgram> MakeProgram(const SimulatorOptions& options) {
  return options.program == ProgramKind::kTrain ? MakeTrainProgram(options) : MakeDecodeProgram(options);
}

}  // namespace lockstep
