#include "platform/temp_dir.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace lockstep {

std::string DefaultTempParent() {
  const char* from_environment = std::getenv("TMPDIR");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment : "/tmp";
}

absl::StatusOr<TempDir> TempDir::Create(const std::string& parent, std::string_view prefix) {
  std::string path = fmt::format("{}/{}XXXXXX", parent.empty() ? DefaultTempParent() : parent, prefix);
  if (mkdtemp(path.data()) == nullptr) {
    const int error = errno;
    return absl::ErrnoToStatus(error,
                               fmt::format("cannot make a temporary folder {} (give another place with --tmp)", path));
  }
  return TempDir(std::move(path));
}

TempDir::~TempDir() { Remove(); }

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

void TempDir::Remove() {
  if (!path_.empty()) {
    std::error_code ignored;  // nothing can be done about it here
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace lockstep
