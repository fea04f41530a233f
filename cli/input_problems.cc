#include "cli/input_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kMostLines = 10;
constexpr size_t kMostPaths = 3;  // in a sentence

bool LooksLikeATrace(const std::string& path) {
  return path.ends_with(".json") || path.ends_with(".json.gz") || path.ends_with(".sqlite") ||
         path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
}

// The folders of simulated runs: lockstep-simulate writes both files into each.
std::set<std::string> SimulatedFolders(const std::vector<FileReport>& files) {
  std::map<std::string, int> found;
  for (const FileReport& file : files) {
    const std::filesystem::path path(file.path);
    const std::string name = path.filename().string();
    if (name == "truth.json" || name == "instances.csv.gz") ++found[path.parent_path().string()];
  }
  std::set<std::string> folders;
  for (const auto& [folder, count] : found) {
    if (count == 2) folders.insert(folder);
  }
  return folders;
}

bool IsTruth(const FileReport& file, const std::set<std::string>& simulated) {
  const std::filesystem::path path(file.path);
  const std::string name = path.filename().string();
  return (name == "truth.json" || name == "instances.csv.gz") && simulated.contains(path.parent_path().string());
}

// Without the path that the line names anyhow.
std::string ReasonOf(const FileReport& file) {
  const std::string begin = file.path + ": ";
  return file.reason.starts_with(begin) ? file.reason.substr(begin.size()) : file.reason;
}

std::string PathsOf(const std::vector<std::string>& paths) {
  const size_t shown = std::min(paths.size(), kMostPaths);
  std::string text =
      fmt::format("{}", fmt::join(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown < paths.size() ? fmt::format("{} and {} more", text, paths.size() - shown) : text;
}

}  // namespace

std::vector<std::string> ProblemsOf(const std::vector<FileReport>& files, const std::vector<std::string>& named) {
  const std::set<std::string> simulated = SimulatedFolders(files);
  std::vector<std::pair<std::string, std::vector<std::string>>> problems;  // what, and of which files
  size_t others = 0;
  for (const FileReport& file : files) {
    const bool is_named = std::find(named.begin(), named.end(), file.path) != named.end();
    if (file.status == "used" || (!is_named && IsTruth(file, simulated))) continue;
    if (file.status == "skipped" && !is_named && !LooksLikeATrace(file.path)) {
      ++others;
      continue;
    }
    const std::string what = fmt::format("{}: {}", file.status, ReasonOf(file));
    auto found = std::find_if(problems.begin(), problems.end(), [&](const auto& p) { return p.first == what; });
    if (found == problems.end()) found = problems.insert(problems.end(), {what, {}});
    found->second.push_back(file.path);
  }
  std::vector<std::string> lines;
  for (const auto& [what, paths] : problems) {
    if (lines.size() < kMostLines) {
      lines.push_back(fmt::format("{}: {}", PathsOf(paths), what));
    } else {
      others += paths.size();
    }
  }
  if (others > 0) {
    lines.push_back(fmt::format("{} {}file{} not used (--view quality lists all files)", others,
                                lines.empty() ? "" : "other ", others == 1 ? " was" : "s were"));
  }
  return lines;
}

void TellProblems(const IngestOutcome& outcome, const std::vector<std::string>& named) {
  for (const std::string& line : ProblemsOf(outcome.files, named)) {
    fmt::print(stderr, "lockstep: {}\n", line);
  }
  if (!outcome.differ.empty()) {
    fmt::print(stderr,
               "lockstep: {}: the content differs from what is stored for this run (the file has changed, or another "
               "release stored it); the run keeps what it has, and --replace reads all files again\n",
               PathsOf(outcome.differ));
  }
  for (const RefusedUplinkSource& refused : outcome.refused) {
    fmt::print(stderr, "lockstep: {}: refused ({}): {}\n", refused.path, refused.reason, refused.detail);
  }
}

absl::Status NoTraceIn(const std::vector<std::string>& named, const InputFiles& inputs) {
  constexpr const char* kRead =
      "lockstep reads Nsight Systems exports (*.sqlite, made by `nsys export --type sqlite`) and PyTorch traces "
      "(*.json, *.json.gz)";
  if (inputs.files.empty() && !inputs.problems.empty()) {
    return absl::NotFoundError(fmt::format("none of the inputs can be read; {}", kRead));
  }
  return absl::NotFoundError(fmt::format("{} {} no trace: {}{}", PathsOf(named), named.size() == 1 ? "holds" : "hold",
                                         inputs.files.empty() ? "there is no file in it; " : "", kRead));
}

}  // namespace lockstep
