#include "agent/readers/nsys/device_reader.h"

namespace lockstep::nsys {
namespace {

constexpr DeviceColumns kKernelColumns = {kernel::kStart,       kernel::kEnd,       kernel::kDevice,   kernel::kStream,
                                          kernel::kCorrelation, kernel::kGlobalPid, kernel::kGraphNode};

// kNoId unless all six numbers are there and fit.
ShapeId ShapeOf(ReadSession& session, const Row& row) {
  LaunchShape shape;
  for (int axis = 0; axis < 3; ++axis) {
    shape.grid[axis] = row.Int32Or(kernel::kGridX + axis, -1);
    shape.block[axis] = row.Int32Or(kernel::kBlockX + axis, -1);
    if (shape.grid[axis] < 0 || shape.block[axis] < 0) return kNoId;
  }
  return session.sink().InternShape(shape);
}

// The demangled name; the short one loses the namespace that tells the library.
NameId NameOfKernel(ReadSession& session, const Row& row) {
  for (const int field : {kernel::kDemangled, kernel::kMangled, kernel::kShort}) {
    if (const NameId name = session.NameOf(row, field); name != kNoId) return name;
  }
  return session.strings().UnknownName(row.id());
}

absl::Status ReadKernel(ReadSession& session, GraphLaunches& graphs, const Row& row) {
  DeviceRecord record;
  if (!ReadDeviceRecord(session, row, kKernelColumns, DeviceKind::kKernel, record)) return absl::OkStatus();
  record.name = NameOfKernel(session, row);
  record.mangled = session.NameOf(row, kernel::kMangled);
  record.shape = ShapeOf(session, row);
  if (record.has_correlation) graphs.SawNode(record.process, record.correlation);
  session.NoteDeviceActivity(record);
  return session.sink().Device(record);
}

}  // namespace

absl::Status ReadKernels(ReadSession& session, GraphLaunches& graphs) {
  return session.Scan(kernel::kTable, [&](const Row& row) { return ReadKernel(session, graphs, row); });
}

}  // namespace lockstep::nsys
