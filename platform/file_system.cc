#include "platform/file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "analysis/base/natural_order.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class Lister {
 public:
  void Add(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
      Problem(path, "no such file or folder");
    } else if (status.type() == fs::file_type::none) {
      Problem(path, error.message());
    } else if (fs::is_directory(status)) {
      AddFolder(path);
    } else if (fs::is_regular_file(status)) {
      AddFile(path);
    } else {
      Problem(path, "neither a file nor a folder");
    }
  }

  InputFiles Finish() {
    std::sort(found_.files.begin(), found_.files.end(), NaturalPathLess);
    std::sort(found_.problems.begin(), found_.problems.end(),
              [](const PathProblem& a, const PathProblem& b) { return NaturalPathLess(a.path, b.path); });
    return std::move(found_);
  }

 private:
  void Problem(const std::string& path, std::string reason) { found_.problems.push_back({path, std::move(reason)}); }

  void AddFile(const fs::path& path) {
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    if (seen_.insert(error ? path.string() : whole.string()).second) {
      found_.files.push_back(path.lexically_normal().string());
    }
  }

  void AddFolder(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    if (error) {
      return Problem(folder.string(), error.message());
    }
    while (entry != fs::directory_iterator()) {
      AddEntry(*entry);
      entry.increment(error);
      if (error) {
        return Problem(folder.string(), error.message());
      }
    }
  }

  void AddEntry(const fs::directory_entry& entry) {
    if (entry.path().filename().string().starts_with('.')) {
      return;
    }
    std::error_code error;
    const bool link = entry.is_symlink(error);
    const fs::file_status status = fs::status(entry.path(), error);
    if (fs::is_directory(status) && !link) {
      AddFolder(entry.path());
    } else if (fs::is_regular_file(status)) {
      AddFile(entry.path());
    } else if (!fs::exists(status)) {
      Problem(entry.path().string(), error ? error.message() : "a link to nothing");
    }
  }

  InputFiles found_;
  std::set<std::string> seen_;  // canonical paths
};

absl::Status FileError(const std::error_code& error, std::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(error.value(), fmt::format("{} {}", what, path));
}

// Absolute, without links, dots and a slash at the end; of what is not there yet, as far as can be told.
fs::path TruePath(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path whole = fs::weakly_canonical(absolute, error);
  const fs::path normal = (error ? absolute : whole).lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

}  // namespace

InputFiles ListInputs(const std::vector<std::string>& paths) {
  Lister lister;
  for (const std::string& path : paths) {
    lister.Add(path);
  }
  return lister.Finish();
}

bool IsInside(const std::string& path, const std::string& folder) {
  const fs::path inner = TruePath(path);
  const fs::path outer = TruePath(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

std::vector<std::string> OutermostFolders(const std::vector<std::string>& folders) {
  std::set<std::string> paths;
  for (const std::string& folder : folders) {
    paths.insert(TruePath(folder).string());
  }
  std::vector<std::string> outermost;
  for (const std::string& path : paths) {  // one that lies in another sorts behind it, though not always next to it
    const bool inside = std::any_of(outermost.begin(), outermost.end(),
                                    [&path](const std::string& other) { return IsInside(path, other); });
    if (!inside) {
      outermost.push_back(path);
    }
  }
  return outermost;
}

absl::StatusOr<int64_t> FreeBytes(const std::string& path) {
  std::error_code error;
  const fs::space_info space = fs::space(path, error);
  if (error) {
    return FileError(error, "cannot tell the free space of", path);
  }
  return static_cast<int64_t>(std::min<uintmax_t>(space.available, INT64_MAX));
}

absl::StatusOr<int64_t> FileSize(const std::string& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) {
    return FileError(error, "cannot tell the size of", path);
  }
  return static_cast<int64_t>(size);
}

absl::StatusOr<int64_t> FileChangeNs(const std::string& path) {
  std::error_code error;
  const fs::file_time_type changed = fs::last_write_time(path, error);
  if (error) {
    return FileError(error, "cannot tell the time of change of", path);
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(changed.time_since_epoch()).count();
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, int64_t limit_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return absl::InvalidArgumentError(fmt::format("cannot read {}: it is no regular file", path));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::ErrnoToStatus(errno == 0 ? ENOENT : errno, fmt::format("cannot read {}", path));
  }
  const uintmax_t size = fs::file_size(path, error);
  const auto most = static_cast<uintmax_t>(limit_bytes) + 1;
  std::string text(static_cast<size_t>(error ? most : std::min(size + 1, most)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return absl::UnavailableError(fmt::format("cannot read {}: input/output error", path));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (static_cast<int64_t>(text.size()) > limit_bytes) {
    return absl::InvalidArgumentError(fmt::format("{} is larger than {} bytes", path, limit_bytes));
  }
  return text;
}

}  // namespace lockstep
