#include "platform/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "platform/unique_fd.h"

namespace lockstep {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;
constexpr unsigned char kGzipMagic0 = 0x1f;
constexpr unsigned char kGzipMagic1 = 0x8b;

bool IsGzip(std::string_view head) {
  return head.size() >= 2 && static_cast<unsigned char>(head[0]) == kGzipMagic0 &&
         static_cast<unsigned char>(head[1]) == kGzipMagic1;
}

class FileSource : public ByteSource {
 public:
  FileSource(UniqueFd fd, int64_t size) : fd_(std::move(fd)), size_(size) {}

  size_t Read(std::span<char> buffer) override {
    if (damage_.has_value() || buffer.empty()) return 0;
    ssize_t n = 0;
    do {
      n = ::read(fd_.get(), buffer.data(), buffer.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
      damage_ = ByteDamage{fmt::format("read error at byte {}: {}", consumed_, std::strerror(errno)), consumed_, false};
      return 0;
    }
    consumed_ += n;
    return static_cast<size_t>(n);
  }
  int64_t consumed() const override { return consumed_; }
  int64_t total() const override { return size_; }
  bool compressed() const override { return false; }
  const std::optional<ByteDamage>& damage() const override { return damage_; }

 private:
  const UniqueFd fd_;
  const int64_t size_;
  int64_t consumed_ = 0;
  std::optional<ByteDamage> damage_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string_view bytes, size_t chunk) : bytes_(bytes), chunk_(std::max<size_t>(chunk, 1)) {}

  size_t Read(std::span<char> buffer) override {
    const size_t n = std::min({buffer.size(), chunk_, bytes_.size() - position_});
    if (n != 0) std::memcpy(buffer.data(), bytes_.data() + position_, n);
    position_ += n;
    return n;
  }
  int64_t consumed() const override { return static_cast<int64_t>(position_); }
  int64_t total() const override { return static_cast<int64_t>(bytes_.size()); }
  bool compressed() const override { return false; }
  const std::optional<ByteDamage>& damage() const override { return damage_; }

 private:
  const std::string_view bytes_;
  const size_t chunk_;
  size_t position_ = 0;
  const std::optional<ByteDamage> damage_;
};

std::string_view InflateErrorText(int code) {
  switch (code) {
    case ISAL_INVALID_WRAPPER:
      return "its header is not valid";
    case ISAL_UNSUPPORTED_METHOD:
      return "its compression method is unknown";
    case ISAL_INCORRECT_CHECKSUM:
      return "its checksum does not fit its content";
    default:
      return "its compressed data is not valid";
  }
}

// Inflates the gzip members of another source.
class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> raw, size_t input_bytes)
      : raw_(std::move(raw)), input_(input_bytes), state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    state_->next_in = reinterpret_cast<uint8_t*>(input_.data());
  }

  size_t Read(std::span<char> buffer) override {
    buffer = buffer.first(std::min(buffer.size(), kMaxOutput));
    size_t produced = 0;
    while (!ended_ && produced == 0 && !buffer.empty()) produced = Step(buffer);
    return produced;
  }
  int64_t consumed() const override { return raw_->consumed() - state_->avail_in; }
  int64_t total() const override { return raw_->total(); }
  bool compressed() const override { return true; }
  const std::optional<ByteDamage>& damage() const override { return damage_; }

 private:
  static constexpr size_t kMaxOutput = size_t{1} << 30;  // avail_out is 32 bits wide

  // One call of the inflater. 0 without ended_: more input is needed.
  size_t Step(std::span<char> buffer) {
    if (state_->block_state == ISAL_BLOCK_FINISH && !NextMember()) {
      ended_ = true;
      return 0;
    }
    const bool input_ended = state_->avail_in == 0 && !Refill();
    state_->next_out = reinterpret_cast<uint8_t*>(buffer.data());
    state_->avail_out = static_cast<uint32_t>(buffer.size());
    const int code = isal_inflate(state_.get());
    const size_t produced = buffer.size() - state_->avail_out;
    if (code < ISAL_DECOMP_OK || code == ISAL_NEED_DICT) {
      End(fmt::format("a gzip member is damaged at byte {}: {}", consumed(), InflateErrorText(code)), false);
    } else if (input_ended && produced == 0 && state_->block_state != ISAL_BLOCK_FINISH) {
      End(fmt::format("the gzip stream is cut at byte {}, before the end of its member", consumed()), true);
    }
    return produced;
  }

  void End(std::string reason, bool truncated) {
    ended_ = true;
    damage_ = raw_->damage();
    if (!damage_.has_value()) damage_ = ByteDamage{std::move(reason), consumed(), truncated};
  }

  // Appends input behind what is left. False at the end of the file.
  bool Refill() {
    if (state_->avail_in != 0) std::memmove(input_.data(), state_->next_in, state_->avail_in);
    state_->next_in = reinterpret_cast<uint8_t*>(input_.data());
    const size_t n = raw_->Read(std::span(input_).subspan(state_->avail_in));
    state_->avail_in += static_cast<uint32_t>(n);
    return n != 0;
  }

  // After a whole member: is there another? Anything else behind it is padding or garbage, as gzip treats it.
  bool NextMember() {
    while (state_->avail_in < 2 && Refill()) {
    }
    const auto* next = reinterpret_cast<const char*>(state_->next_in);
    if (!IsGzip(std::string_view(next, state_->avail_in))) return false;
    isal_inflate_reset(state_.get());
    state_->crc_flag = ISAL_GZIP;
    return true;
  }

  const std::unique_ptr<ByteSource> raw_;
  std::vector<char> input_;
  const std::unique_ptr<inflate_state> state_;
  bool ended_ = false;
  std::optional<ByteDamage> damage_;
};

absl::Status OpenError(const std::string& path, int error) {
  const std::string message = fmt::format("cannot open '{}': {}", path, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  // Of this machine at this time, not of the file.
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO || error == ESTALE) {
    return absl::ResourceExhaustedError(message);
  }
  return absl::InvalidArgumentError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path) {
  // O_NONBLOCK: opening a pipe nobody writes to must not hang; it is refused below.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return OpenError(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is not a regular file", path));
  }
  char head[2];
  const ssize_t n = ::pread(fd.get(), head, sizeof head, 0);
  auto file = std::make_unique<FileSource>(std::move(fd), info.st_size);
  if (n != 2 || !IsGzip(std::string_view(head, 2))) return file;
  return std::make_unique<GzipSource>(std::move(file), kInputBytes);
}

std::unique_ptr<ByteSource> MemoryByteSource(std::string_view bytes, size_t chunk) {
  auto memory = std::make_unique<MemorySource>(bytes, chunk);
  if (!IsGzip(bytes)) return memory;
  return std::make_unique<GzipSource>(std::move(memory), std::clamp<size_t>(chunk, 2, kInputBytes));
}

size_t ReadFully(ByteSource& source, std::span<char> buffer) {
  size_t filled = 0;
  while (filled < buffer.size()) {
    const size_t n = source.Read(buffer.subspan(filled));
    if (n == 0) break;
    filled += n;
  }
  return filled;
}

}  // namespace lockstep
