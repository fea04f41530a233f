// A file that is there whole or not at all: it is written beside its place under another name, which it gets at the
// end. Errors: kResourceExhausted when the disk is full, otherwise what the system said, with the path. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

class WholeFile {
 public:
  // Compressed with gzip where that is asked for. A path that leads to a pipe or a device is written to as it is.
  static absl::StatusOr<WholeFile> Create(const std::string& path, bool gzip);
  ~WholeFile();  // without Commit nothing is left
  WholeFile(WholeFile&&) noexcept;
  WholeFile& operator=(WholeFile&&) noexcept;

  absl::Status Write(std::string_view bytes);
  // Bytes that were written before, of a file that is not compressed.
  absl::Status Patch(int64_t offset, std::string_view bytes);
  absl::Status Commit();
  // Of the file so far, compressed or not; a compressed one is behind by what the compressor holds.
  [[nodiscard]] int64_t size() const;

 private:
  class Impl;
  explicit WholeFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The checksum of gzip and ZIP over bytes that follow those with this one; 0 = over none.
[[nodiscard]] uint32_t Crc32(uint32_t before, std::string_view bytes);

}  // namespace lockstep
