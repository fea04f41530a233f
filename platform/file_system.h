// Which files the PATHs of a command mean, and how much room a disk has.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct PathProblem {
  std::string path;
  std::string reason;  // for people
};

struct InputFiles {
  std::vector<std::string> files;     // regular files by NaturalPathLess, each once
  std::vector<PathProblem> problems;  // what could not be read or is not there; the rest is listed all the same
};

// Files stand for themselves, folders for all regular files below them. Links to files are followed, links to folders
// only when they were named themselves. Files whose name begins with a dot are left out of folders.
[[nodiscard]] InputFiles ListInputs(const std::vector<std::string>& paths);

// Whether a path, there or not yet, lies in a folder or is it, whatever links and dots they are written with.
[[nodiscard]] bool IsInside(const std::string& path, const std::string& folder);
// The folders by their one true path, each once, without those that lie in another one.
[[nodiscard]] std::vector<std::string> OutermostFolders(const std::vector<std::string>& folders);

// Bytes that this user may still write to the file system of `path` (a file or folder that exists).
[[nodiscard]] absl::StatusOr<int64_t> FreeBytes(const std::string& path);
[[nodiscard]] absl::StatusOr<int64_t> FileSize(const std::string& path);
// Time of the last change, on an axis of its own: only for telling whether a file has changed.
[[nodiscard]] absl::StatusOr<int64_t> FileChangeNs(const std::string& path);
// The whole text of a small file; kInvalidArgument beyond `limit_bytes`, and of what is no regular file: a pipe or a
// device might never end.
[[nodiscard]] absl::StatusOr<std::string> ReadSmallFile(const std::string& path, int64_t limit_bytes);

}  // namespace lockstep
