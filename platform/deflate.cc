#include "platform/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

// `window` chooses the header as well (deflateInit2).
std::string Deflate(std::string_view bytes, int level, int window) {
  constexpr int kMemoryLevel = 9;
  z_stream stream{};
  LOCKSTEP_CHECK(deflateInit2(&stream, level, Z_DEFLATED, window, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  std::string_view rest = bytes;
  int status = Z_OK;
  char block[1 << 16];
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const size_t count = std::min<size_t>(rest.size(), INT_MAX);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
      stream.avail_in = static_cast<uInt>(count);
      rest.remove_prefix(count);
    }
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    status = deflate(&stream, rest.empty() ? Z_FINISH : Z_NO_FLUSH);
    LOCKSTEP_CHECK(status != Z_STREAM_ERROR);
    out.append(block, sizeof block - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

constexpr int kRaw = -15;        // the largest window, and no header
constexpr int kWithGzip = 31;    // the largest window, and the header of gzip
constexpr int kSpeedyLevel = 2;  // answers are compressed while somebody waits

}  // namespace

std::string DeflateRaw(std::string_view bytes) { return Deflate(bytes, Z_DEFAULT_COMPRESSION, kRaw); }

std::string Gzip(std::string_view bytes) { return Deflate(bytes, kSpeedyLevel, kWithGzip); }

}  // namespace lockstep
