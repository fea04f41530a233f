#include "platform/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "platform/unique_fd.h"

namespace lockstep {
namespace {

constexpr size_t kDeflatedBytes = size_t{256} << 10;
constexpr int kDeflateLevel = 1;

absl::Status CannotWrite(const std::string& path) {
  const int error = errno;
  std::string message = fmt::format("{}: cannot write: {}", path, std::strerror(error));
  if (error == ENOENT) message = fmt::format("{}: cannot write, because its folder does not exist", path);
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? absl::ResourceExhaustedError(message)
                                                              : absl::PermissionDeniedError(message);
}

bool IsOtherThanAFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

class WholeFile::Impl {
 public:
  Impl(std::string path, std::string partial, UniqueFd fd, bool gzip)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(std::move(fd)), gzip_(gzip) {
    if (!gzip_) return;
    level_buffer_.resize(ISAL_DEF_LVL1_DEFAULT);
    deflated_.resize(kDeflatedBytes);
    isal_deflate_init(&stream_);
    stream_.level = kDeflateLevel;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }
  ~Impl() {
    if (!partial_.empty()) ::unlink(partial_.c_str());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  absl::Status Write(std::string_view bytes) { return gzip_ ? Deflate(bytes, false) : WriteAll(bytes); }

  absl::Status Patch(int64_t offset, std::string_view bytes) {
    if (gzip_ || offset < 0 || offset + static_cast<int64_t>(bytes.size()) > size_) {
      return absl::InternalError(fmt::format("{}: only what was written can be changed", path_));
    }
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), offset);
    return n == static_cast<ssize_t>(bytes.size()) ? absl::OkStatus() : CannotWrite(path_);
  }

  absl::Status Commit() {
    if (gzip_) LOCKSTEP_RETURN_IF_ERROR(Deflate({}, true));
    if (partial_.empty()) return absl::OkStatus();
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) return CannotWrite(path_);
    partial_.clear();
    return absl::OkStatus();
  }

  [[nodiscard]] int64_t size() const { return size_; }

 private:
  absl::Status Deflate(std::string_view bytes, bool end) {
    // The library takes the length of its input as 32 bits, and does not change the input.
    constexpr size_t kMostAtOnce = size_t{1} << 30;
    do {
      const std::string_view part = bytes.substr(0, kMostAtOnce);
      bytes.remove_prefix(part.size());
      stream_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(part.data()));
      stream_.avail_in = static_cast<uint32_t>(part.size());
      stream_.end_of_stream = end && bytes.empty() ? 1 : 0;
      do {
        stream_.next_out = deflated_.data();
        stream_.avail_out = static_cast<uint32_t>(deflated_.size());
        if (isal_deflate(&stream_) != COMP_OK) {
          return absl::InternalError(fmt::format("{}: cannot be compressed", path_));
        }
        const size_t made = deflated_.size() - stream_.avail_out;
        LOCKSTEP_RETURN_IF_ERROR(WriteAll({reinterpret_cast<const char*>(deflated_.data()), made}));
      } while (stream_.avail_out == 0);
    } while (!bytes.empty());
    return absl::OkStatus();
  }

  absl::Status WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return CannotWrite(path_);
      size_ += n;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  const std::string path_;
  std::string partial_;  // "": there is nothing to rename, or no longer
  const UniqueFd fd_;
  const bool gzip_;
  int64_t size_ = 0;
  isal_zstream stream_{};
  std::vector<uint8_t> level_buffer_;
  std::vector<uint8_t> deflated_;
};

WholeFile::WholeFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WholeFile::~WholeFile() = default;
WholeFile::WholeFile(WholeFile&&) noexcept = default;
WholeFile& WholeFile::operator=(WholeFile&&) noexcept = default;

absl::StatusOr<WholeFile> WholeFile::Create(const std::string& path, bool gzip) {
  const std::string partial = IsOtherThanAFile(path) ? "" : fmt::format("{}.{}.partial", path, ::getpid());
  const std::string& opened = partial.empty() ? path : partial;
  UniqueFd fd(::open(opened.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return CannotWrite(path);
  return WholeFile(std::make_unique<Impl>(path, partial, std::move(fd), gzip));
}

absl::Status WholeFile::Write(std::string_view bytes) { return impl_->Write(bytes); }
absl::Status WholeFile::Patch(int64_t offset, std::string_view bytes) { return impl_->Patch(offset, bytes); }
absl::Status WholeFile::Commit() { return impl_->Commit(); }
int64_t WholeFile::size() const { return impl_->size(); }

uint32_t Crc32(uint32_t before, std::string_view bytes) {
  return crc32_gzip_refl(before, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace lockstep
