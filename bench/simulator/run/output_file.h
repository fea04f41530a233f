// A file written front to back, plain or gzip (ISA-L). It appears under its name only when Close succeeds: until then
// it is NAME.tmp, as Kineto itself does it. Errors: kPermissionDenied, kResourceExhausted (no room) or kInternal,
// naming the file.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

class OutputFile {
 public:
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path, bool gzip);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Errors are kept and told by Close.
  void Append(std::string_view bytes);
  absl::Status Close();

 private:
  struct Deflater;
  OutputFile(std::string path, std::FILE* file, bool gzip);
  void Flush(bool last);
  void Write(const void* bytes, size_t size);

  std::string path_;
  std::FILE* file_;
  std::unique_ptr<Deflater> deflater_;
  std::string buffer_;
  int error_ = 0;  // errno of the first failed write
};

// A Status for a failed operation on `path`, by errno.
[[nodiscard]] absl::Status FileError(std::string_view what, const std::string& path, int error);

}  // namespace lockstep
