#include "agent/spool/frame.h"

#include <algorithm>

#include "agent/spool/fields.h"
#include "analysis/base/check.h"
#include "analysis/base/hash128.h"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "LSsp";
constexpr uint8_t kVersion = 1;
constexpr size_t kHashedFrom = 12;  // behind the magic and the hash
// How often, on average, a byte may be hashed while looking for a good frame.
constexpr int64_t kHashesOfAByte = 16;

// What a header says, before the hash is looked at.
struct Header {
  uint64_t hash = 0;
  uint8_t kind = 0;
  int64_t payload_bytes = 0;
};

std::optional<Header> HeaderOf(std::string_view bytes, uint64_t file, int64_t offset) {
  FieldReader fields(bytes);
  const bool is_frame = fields.Raw(kMagic.size()) == kMagic;
  Header header;
  header.hash = fields.Number();
  const bool known = fields.Number(1) == kVersion;
  header.kind = static_cast<uint8_t>(fields.Number(1));
  fields.Number(2);
  header.payload_bytes = static_cast<int64_t>(fields.Number(4));
  const bool here = fields.Number() == file && fields.Signed() == offset;
  const auto rest = static_cast<int64_t>(fields.rest().size());
  const bool whole = header.payload_bytes <= std::min(rest, kMaxFramePayloadBytes);
  return fields.ok() && is_frame && known && here && whole ? std::optional(header) : std::nullopt;
}

std::string_view HashedPart(std::string_view bytes, const Header& header) {
  const auto whole = static_cast<size_t>(kFrameHeaderBytes + header.payload_bytes);
  return bytes.substr(kHashedFrom, whole - kHashedFrom);
}

}  // namespace

std::string EncodeFrame(FrameKind kind, uint64_t file, int64_t offset, std::string_view payload) {
  LOCKSTEP_CHECK(static_cast<int64_t>(payload.size()) <= kMaxFramePayloadBytes);
  FieldWriter fields;
  fields.Number(kVersion, 1).Number(static_cast<uint8_t>(kind), 1).Number(0, 2).Number(payload.size(), 4);
  fields.Number(file).Signed(offset).Raw(payload);
  const std::string hashed = fields.Finish();
  FieldWriter frame;
  return frame.Raw(kMagic).Number(HashOf(hashed).low).Raw(hashed).Finish();
}

std::optional<Frame> DecodeFrame(std::string_view bytes, uint64_t file, int64_t offset) {
  const std::optional<Header> header = HeaderOf(bytes, file, offset);
  if (!header || HashOf(HashedPart(bytes, *header)).low != header->hash) {
    return std::nullopt;
  }
  return Frame{.kind = static_cast<FrameKind>(header->kind),
               .offset = offset,
               .payload = bytes.substr(kFrameHeaderBytes, static_cast<size_t>(header->payload_bytes))};
}

FrameScan ScanFrames(std::string_view file_bytes, uint64_t file) {
  FrameScan scan;
  size_t good_until = 0;
  int64_t may_hash = kHashesOfAByte * static_cast<int64_t>(file_bytes.size());
  const auto damaged_until = [&](size_t end) {
    if (end > good_until) {
      scan.damage.push_back({static_cast<int64_t>(good_until), static_cast<int64_t>(end - good_until)});
    }
  };
  for (size_t at = 0; (at = file_bytes.find(kMagic, at)) != std::string_view::npos;) {
    const std::string_view rest = file_bytes.substr(at);
    if (const auto header = HeaderOf(rest, file, static_cast<int64_t>(at))) {
      may_hash -= header->payload_bytes;
      if (may_hash < 0) {
        break;
      }
    }
    if (const auto frame = DecodeFrame(rest, file, static_cast<int64_t>(at))) {
      damaged_until(at);
      scan.frames.push_back(*frame);
      at += static_cast<size_t>(frame->bytes());
      good_until = at;
    } else {
      ++at;
    }
  }
  damaged_until(file_bytes.size());
  return scan;
}

}  // namespace lockstep
