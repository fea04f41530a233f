// The records of a ZIP archive whose members are stored as they are (APPNOTE.TXT of PKWARE, 4.3): the header before
// each member, and the directory at the end. ZIP64 records are there where sizes, places or the count need them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::perfetto {

struct ZipMember {
  std::string name;  // UTF-8
  int64_t size = 0;
  uint32_t crc = 0;
  int64_t offset = 0;  // of its header
};

// Where the checksum is in the header: it may be written when the member has been read.
inline constexpr int64_t kZipCrcOffset = 14;

[[nodiscard]] std::string ZipHeader(const ZipMember& member);
[[nodiscard]] std::string ZipDirectory(const std::vector<ZipMember>& members, int64_t offset);
// Little endian, as it stands in the header.
[[nodiscard]] std::string ZipCrc(uint32_t crc);

}  // namespace lockstep::perfetto
