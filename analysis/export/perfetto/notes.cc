#include "analysis/export/perfetto/notes.h"

namespace lockstep::perfetto {

Notes NotesOf(const SliceEvent& event) {
  Notes notes;
  notes.NumberIf(event.step != kNoStep, Key::kStep, event.step);
  notes.NumberIf(event.bytes != kUnknownBytes, Key::kBytes, event.bytes);
  return notes;
}

Notes NotesOf(const StepEvent& event) {
  Notes notes;
  notes.NumberIf(event.step != kNoStep, Key::kStep, event.step);
  notes.Number(Key::kCompute, event.compute_ns);
  notes.Number(Key::kCommunication, event.comm_ns);
  notes.Number(Key::kExposedCommunication, event.exposed_comm_ns);
  notes.Number(Key::kIdleHost, event.idle_host_ns);
  notes.Number(Key::kIdleLaunch, event.idle_launch_ns);
  notes.Number(Key::kIdleDependency, event.idle_dependency_ns);
  notes.Number(Key::kIdleOther, event.idle_other_ns);
  return notes;
}

Notes NotesOf(const CollectiveEvent& e, Detail detail) {
  Notes notes;
  notes.NumberIf(e.comparable, Key::kWait, e.wait_ns);
  notes.NumberIf(e.comparable, Key::kWaitUncertainty, e.wait_uncertainty_ns);
  notes.NumberIf(e.last_rank >= 0, Key::kLastRank, e.last_rank);
  if (e.last_rank >= 0) notes.Flag(Key::kLastCertain, e.last_certain);
  notes.NumberIf(e.transfer_ns >= 0, Key::kTransfer, e.transfer_ns);
  if (detail == Detail::kBrief) return notes;
  notes.NumberIf(e.last_rank >= 0, Key::kLastArrival, e.last_start_ns);
  notes.NumberIf(e.comparable, Key::kLateness, e.lateness_ns);
  notes.NumberIf(e.comparable, Key::kSpread, e.spread_ns);
  notes.NumberIf(e.uncertainty_ns >= 0, Key::kSpreadUncertainty, e.uncertainty_ns);
  notes.Text(Key::kGroup, e.group);
  notes.Number(Key::kMembers, e.members);
  notes.NumberIf(e.bytes != kUnknownBytes, Key::kBytes, e.bytes);
  notes.NumberIf(e.seq != kNoSeq, Key::kSequence, e.seq);
  notes.NumberIf(e.step != kNoStep, Key::kStep, e.step);
  notes.Text(Key::kKernel, e.kernel);
  return notes;
}

}  // namespace lockstep::perfetto
