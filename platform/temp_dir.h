// A folder for temporary files that is gone with everything in it when the object is.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>

namespace lockstep {

class TempDir {
 public:
  // Makes a new folder, readable by this user only, inside `parent` ("" = DefaultTempParent()).
  static absl::StatusOr<TempDir> Create(const std::string& parent, std::string_view prefix);
  ~TempDir();
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  void Remove();
  std::string path_;
};

// $TMPDIR, else /tmp.
[[nodiscard]] std::string DefaultTempParent();

}  // namespace lockstep
