#include "analysis/export/perfetto/zip_records.h"

#include <algorithm>
#include <cstddef>

namespace lockstep::perfetto {
namespace {

constexpr int64_t kFull32 = 0xffffffff;  // "see the ZIP64 record"
constexpr int64_t kFull16 = 0xffff;
constexpr uint64_t kVersion = 20;
constexpr uint64_t kVersion64 = 45;
constexpr uint64_t kUtf8Names = 1 << 11;
constexpr uint64_t kFirstDate = 0x21;  // 1980-01-01: equal input gives equal bytes
constexpr uint64_t kZip64Tag = 1;

void Put(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t Clipped(int64_t value, int64_t full) { return static_cast<uint64_t>(std::min(value, full)); }

// From the version on to the lengths of name and extra, which both kinds of header have.
void PutCommon(const ZipMember& member, bool wide, size_t extra_bytes, std::string& out) {
  Put(wide ? kVersion64 : kVersion, 2, out);
  Put(kUtf8Names, 2, out);
  Put(0, 2, out);  // stored
  Put(0, 2, out);
  Put(kFirstDate, 2, out);
  Put(member.crc, 4, out);
  Put(Clipped(member.size, kFull32), 4, out);
  Put(Clipped(member.size, kFull32), 4, out);
  Put(member.name.size(), 2, out);
  Put(extra_bytes, 2, out);
}

std::string WideExtra(const std::vector<int64_t>& values) {
  std::string extra;
  if (values.empty()) return extra;
  Put(kZip64Tag, 2, extra);
  Put(8 * values.size(), 2, extra);
  for (const int64_t value : values) Put(static_cast<uint64_t>(value), 8, extra);
  return extra;
}

void PutEntry(const ZipMember& member, std::string& out) {
  std::vector<int64_t> wide;
  if (member.size >= kFull32) wide = {member.size, member.size};
  if (member.offset >= kFull32) wide.push_back(member.offset);
  const std::string extra = WideExtra(wide);
  Put(0x02014b50, 4, out);
  Put(kVersion64, 2, out);  // made by
  PutCommon(member, !wide.empty(), extra.size(), out);
  Put(0, 2, out);  // comment
  Put(0, 2, out);  // disk
  Put(0, 2, out);
  Put(0, 4, out);
  Put(Clipped(member.offset, kFull32), 4, out);
  out += member.name;
  out += extra;
}

void PutWideEnd(int64_t count, int64_t size, int64_t offset, std::string& out) {
  const int64_t at = offset + size;
  Put(0x06064b50, 4, out);
  Put(44, 8, out);  // of the rest of this record
  Put(kVersion64, 2, out);
  Put(kVersion64, 2, out);
  Put(0, 4, out);
  Put(0, 4, out);
  Put(static_cast<uint64_t>(count), 8, out);
  Put(static_cast<uint64_t>(count), 8, out);
  Put(static_cast<uint64_t>(size), 8, out);
  Put(static_cast<uint64_t>(offset), 8, out);
  Put(0x07064b50, 4, out);
  Put(0, 4, out);
  Put(static_cast<uint64_t>(at), 8, out);
  Put(1, 4, out);
}

}  // namespace

std::string ZipCrc(uint32_t crc) {
  std::string out;
  Put(crc, 4, out);
  return out;
}

std::string ZipHeader(const ZipMember& member) {
  const bool wide = member.size >= kFull32;
  const std::string extra = wide ? WideExtra({member.size, member.size}) : "";
  std::string out;
  Put(0x04034b50, 4, out);
  PutCommon(member, wide, extra.size(), out);
  out += member.name;
  out += extra;
  return out;
}

std::string ZipDirectory(const std::vector<ZipMember>& members, int64_t offset) {
  std::string out;
  for (const ZipMember& member : members) PutEntry(member, out);
  const auto size = static_cast<int64_t>(out.size());
  const auto count = static_cast<int64_t>(members.size());
  if (count >= kFull16 || size >= kFull32 || offset >= kFull32) PutWideEnd(count, size, offset, out);
  Put(0x06054b50, 4, out);
  Put(0, 2, out);
  Put(0, 2, out);
  Put(Clipped(count, kFull16), 2, out);
  Put(Clipped(count, kFull16), 2, out);
  Put(Clipped(size, kFull32), 4, out);
  Put(Clipped(offset, kFull32), 4, out);
  Put(0, 2, out);
  return out;
}

}  // namespace lockstep::perfetto
