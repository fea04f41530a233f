// A stream of bytes read front to back in bounded memory: a plain file, a gzip file inflated while reading (told by its
// content, never by its name), or bytes in memory. Damage is no error: what stands before it is delivered, then the
// stream ends and damage() says why. Thread rule: one thread per source.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

struct ByteDamage {
  std::string reason;
  int64_t file_offset = 0;      // byte of the file (compressed, if it is) up to which it could be read
  bool gzip_truncated = false;  // a gzip member ends before its trailer
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Puts bytes at the front of the buffer and returns how many; it may be fewer than asked for. 0 = the end (or the
  // buffer is empty).
  virtual size_t Read(std::span<char> buffer) = 0;
  // Bytes of the file taken so far, and its size (-1 = unknown). Compressed bytes if it is compressed.
  [[nodiscard]] virtual int64_t consumed() const = 0;
  [[nodiscard]] virtual int64_t total() const = 0;
  [[nodiscard]] virtual bool compressed() const = 0;
  // Why the stream ended early; empty while it is sound.
  [[nodiscard]] virtual const std::optional<ByteDamage>& damage() const = 0;
};

// Opens a regular file; one that starts with the gzip magic is inflated (all members; what follows the last member and
// is no further member is ignored). Errors: kNotFound, kPermissionDenied, kInvalidArgument (a directory, a pipe, a
// device).
absl::StatusOr<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path);

// Bytes that the caller owns and keeps alive; inflated if they start with the gzip magic. At most `chunk` bytes are
// handed out (and, for gzip, taken in) at a time.
std::unique_ptr<ByteSource> MemoryByteSource(std::string_view bytes, size_t chunk = SIZE_MAX);

// Reads until the buffer is full or the source ends; returns the number of bytes.
size_t ReadFully(ByteSource& source, std::span<char> buffer);

}  // namespace lockstep
