// Any bytes as a segment of the spool and as a ledger: no crash, no hang; every frame that is accepted is one that
// would be written just so, frames and damage tile the file, and the index built from them keeps its promises.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/spool/fields.h"
#include "agent/spool/frame.h"
#include "agent/spool/spool_index.h"
#include "analysis/base/check.h"
#include "analysis/model/batch.h"

namespace lockstep {
namespace {

constexpr uint64_t kFile = 1;

// A few of the bytes are told to be a frame, so that what is behind the checksum is reached too.
std::string Framed(std::string_view bytes) {
  std::string file;
  FieldReader fields(bytes);
  while (fields.ok() && !fields.rest().empty()) {
    const auto kind = static_cast<FrameKind>(fields.Number(1) % 7);
    const std::string payload(fields.Raw(fields.Number(1) % 48));
    const std::string frame = EncodeFrame(kind, kFile, static_cast<int64_t>(file.size()), payload);
    file += fields.Number(1) % 8 == 0 ? frame.substr(0, frame.size() / 2) : frame;
  }
  return file;
}

FrameScan CheckScan(std::string_view bytes) {
  const FrameScan scan = ScanFrames(bytes, kFile);
  int64_t covered = 0;
  for (const Frame& frame : scan.frames) {
    covered += frame.bytes();
    LOCKSTEP_CHECK(EncodeFrame(frame.kind, kFile, frame.offset, frame.payload).size() ==
                   static_cast<size_t>(frame.bytes()));
  }
  for (const FrameDamage& damage : scan.damage) {
    LOCKSTEP_CHECK(damage.bytes > 0);
    covered += damage.bytes;
  }
  LOCKSTEP_CHECK(covered == static_cast<int64_t>(bytes.size()));
  return scan;
}

void CheckIndex(const FrameScan& scan) {
  std::vector<SpoolRecord> records;
  Acknowledged acknowledged;
  for (const Frame& frame : scan.frames) {
    FieldReader fields(frame.payload);
    SpoolRecord record{.kind = frame.kind, .id = fields.Id(), .sequence = fields.Signed(), .place = {}};
    record.place = {static_cast<uint32_t>(kFile), static_cast<uint32_t>(frame.offset),
                    static_cast<uint32_t>(frame.bytes())};
    if (frame.kind == FrameKind::kRewind) {
      record.before = {static_cast<uint32_t>(fields.Number(4)), static_cast<uint32_t>(fields.Number(4))};
    }
    if (frame.kind == FrameKind::kLedger) {
      acknowledged[record.id] = record.sequence;
    } else {
      records.push_back(record);
    }
  }
  std::vector<LostBatches> lost;
  SpoolIndex index(records, acknowledged, lost);
  index.AddBytes(static_cast<uint32_t>(kFile), 1);
  index.DropIdleRewinds();
  for (const Hash128& id : index.Sendable(1000)) {
    const auto [first, next] = index.Range(id);
    LOCKSTEP_CHECK(first < next && index.Context(id) && index.Batch(id, first) && index.Batch(id, next - 1));
    index.Acknowledge(id, first);
    index.Release(id);
  }
  for (const auto& [order, id] : index.NotesAfter(0, 1000)) {
    index.Release(id);
  }
  LOCKSTEP_CHECK(index.unsent() == 0);
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  lockstep::CheckIndex(lockstep::CheckScan(bytes));
  const std::string framed = lockstep::Framed(bytes);
  lockstep::CheckIndex(lockstep::CheckScan(framed));
  return 0;
}
