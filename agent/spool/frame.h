// One record in a file of the spool: a frame with a checksum that also knows where it stands, so that a reader finds
// the good ones again behind damage and never mistakes a piece of a record, or of another file, for one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Wire values: append only.
enum class FrameKind : uint8_t {
  kContext = 1,  // of a spool segment: a source's context
  kBatch = 2,
  kNote = 3,
  kLedger = 4,  // of the ledger: one change
  kRewind = 5,  // of a segment: what stands of a source before a place is void
};

inline constexpr int64_t kFrameHeaderBytes = 36;
inline constexpr int64_t kMaxFramePayloadBytes = int64_t{64} << 20;

struct Frame {
  FrameKind kind = FrameKind::kBatch;
  int64_t offset = 0;        // of the frame in its file
  std::string_view payload;  // inside the bytes that were scanned
  [[nodiscard]] int64_t bytes() const { return kFrameHeaderBytes + static_cast<int64_t>(payload.size()); }
};

// `file` is the number of the file, `offset` where the frame will stand in it. At most kMaxFramePayloadBytes.
[[nodiscard]] std::string EncodeFrame(FrameKind kind, uint64_t file, int64_t offset, std::string_view payload);

// The frame that begins `bytes`, which stand at `offset` of the file; null when there is no good one.
[[nodiscard]] std::optional<Frame> DecodeFrame(std::string_view bytes, uint64_t file, int64_t offset);

// Bytes between two good frames (or before the first, or behind the last) that are no frame.
struct FrameDamage {
  int64_t offset = 0;
  int64_t bytes = 0;
  friend bool operator==(const FrameDamage&, const FrameDamage&) = default;
};

struct FrameScan {
  std::vector<Frame> frames;
  std::vector<FrameDamage> damage;
};

// All good frames of a whole file, in order. Time is bounded by a small multiple of the size, whatever the bytes are.
[[nodiscard]] FrameScan ScanFrames(std::string_view file_bytes, uint64_t file);

}  // namespace lockstep
