#include "cli/trace_ingest.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "agent/progress_line.h"

namespace lockstep {
namespace {

// "rank3.v0.5.pt.trace.json.gz" -> "rank3.v0.5"
std::string StemOf(std::string name) {
  constexpr std::array<std::string_view, 6> kEndings = {".gz", ".json", ".pt.trace", ".sqlite", ".nsys-rep", ".qdrep"};
  for (const std::string_view ending : kEndings) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

}  // namespace

std::string RunNameOf(const std::vector<std::string>& files) {
  if (files.empty()) {
    return "run";
  }
  const std::filesystem::path first = std::filesystem::absolute(files.front()).lexically_normal();
  if (files.size() == 1) {
    return StemOf(first.filename().string());
  }
  std::filesystem::path common = first.parent_path();
  for (const std::string& file : files) {
    const std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
    const auto [end, rest] = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
    std::filesystem::path shared;
    for (auto part = common.begin(); part != end; ++part) {
      shared /= *part;
    }
    common = shared;
  }
  const std::string name = common.filename().string();
  return name.empty() ? "run" : name;
}

absl::StatusOr<IngestOutcome> IngestWithProgress(EmbeddedCluster& cluster, EmbeddedIngest ingest,
                                                 const std::stop_token& stop) {
  ProgressLine line;
  ingest.send.progress = [&line](const SendProgress& progress) { line.Show(progress); };
  return cluster.Ingest(ingest, stop);
}

}  // namespace lockstep
