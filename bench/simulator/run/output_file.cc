#include "bench/simulator/run/output_file.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kBlock = size_t{1} << 20;
constexpr const char* kPartSuffix = ".tmp";

}  // namespace

absl::Status FileError(std::string_view what, const std::string& path, int error) {
  const std::string text = fmt::format("{} {}: {}", what, path, std::generic_category().message(error));
  if (error == EACCES || error == EPERM || error == EROFS) {
    return absl::PermissionDeniedError(text + "; choose a folder that you may write to");
  }
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text + "; make room or write elsewhere");
  return absl::InternalError(text);
}

struct OutputFile::Deflater {
  isal_zstream stream{};
  std::vector<uint8_t> level_buffer = std::vector<uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<uint8_t> out = std::vector<uint8_t>(kBlock);

  Deflater() {
    isal_deflate_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.level = 1;
    stream.level_buf = level_buffer.data();
    stream.level_buf_size = static_cast<uint32_t>(level_buffer.size());
  }
};

OutputFile::OutputFile(std::string path, std::FILE* file, bool gzip) : path_(std::move(path)), file_(file) {
  if (gzip) deflater_ = std::make_unique<Deflater>();
  buffer_.reserve(kBlock + kBlock / 4);
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove((path_ + kPartSuffix).c_str());
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path, bool gzip) {
  std::FILE* file = std::fopen((path + kPartSuffix).c_str(), "wb");
  if (file == nullptr) return FileError("cannot write", path, errno);
  return std::unique_ptr<OutputFile>(new OutputFile(path, file, gzip));
}

void OutputFile::Append(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= kBlock) Flush(false);
}

void OutputFile::Write(const void* bytes, size_t size) {
  if (error_ == 0 && std::fwrite(bytes, 1, size, file_) != size) error_ = errno != 0 ? errno : EIO;
}

void OutputFile::Flush(bool last) {
  if (deflater_ == nullptr) {
    Write(buffer_.data(), buffer_.size());
    buffer_.clear();
    return;
  }
  isal_zstream& stream = deflater_->stream;
  stream.next_in = reinterpret_cast<uint8_t*>(buffer_.data());
  stream.avail_in = static_cast<uint32_t>(buffer_.size());
  stream.end_of_stream = last ? 1 : 0;
  do {
    stream.next_out = deflater_->out.data();
    stream.avail_out = static_cast<uint32_t>(deflater_->out.size());
    if (isal_deflate(&stream) != COMP_OK) {
      error_ = error_ == 0 ? EIO : error_;
      break;
    }
    Write(deflater_->out.data(), deflater_->out.size() - stream.avail_out);
  } while (stream.avail_out == 0);
  buffer_.clear();
}

absl::Status OutputFile::Close() {
  Flush(true);
  std::FILE* file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0 && error_ == 0) error_ = errno;
  const std::string part = path_ + kPartSuffix;
  if (error_ == 0 && std::rename(part.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ == 0) return absl::OkStatus();
  std::remove(part.c_str());
  return FileError("cannot write", path_, error_);
}

}  // namespace lockstep
