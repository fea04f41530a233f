#include "cli/bundle.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "analysis/base/status_macros.h"
#include "analysis/compare/render/render.h"
#include "analysis/export/kernel_profile.h"
#include "analysis/report/json.h"
#include "cli/report_output.h"
#include "platform/digest.h"

namespace lockstep {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr int kTextWidth = 100;

std::string HexOf(const Digest& digest) {
  std::string hex;
  for (const uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

// One view of the report, as CSV in the columns of nsys.
absl::StatusOr<std::string> NsysTable(const Json& report, const std::string& view) {
  Json alone;
  for (const char* key : {"schema", "notices", "run"}) alone[key] = report.at(key);
  if (report.contains(view)) alone[view] = report.at(view);
  return RenderCsv(alone, view, "nsys");
}

std::string ManifestOf(const BundleFiles& files, const std::string& version) {
  Json manifest;
  manifest["schema"] = "lockstep.bundle/1";
  manifest["lockstep_version"] = version;
  Json list = Json::array();
  for (const auto& [name, content] : files) {
    list.push_back({{"name", name}, {"bytes", content.size()}, {"sha256", HexOf(Sha256(content))}});
  }
  manifest["files"] = std::move(list);
  return RenderJson(manifest);
}

// A folder that has nothing but files of a bundle may be written again.
absl::Status CheckFolder(const BundleFiles& files, const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (files.contains(name) || name == "comparison.json" || name == "comparison.md") continue;
    return absl::AlreadyExistsError(fmt::format(
        "{}: the folder has '{}', which is no file of a bundle: choose an empty or a new one", folder, name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BundleFiles> MakeBundle(const Json& report,
                                       const std::optional<report::ComparisonDocument>& comparison) {
  const report::Document document = report::FromJson<report::Document>(report);
  BundleFiles files;
  files["report.json"] = RenderJson(report);
  TextOptions options;
  options.width = kTextWidth;
  files["summary.txt"] = RenderText(report, options);
  files["kernel_profile.json"] = RenderJson(report::ToJson(KernelProfileOf(document)));
  LOCKSTEP_ASSIGN_OR_RETURN(files["gpu_kern_sum.csv"], NsysTable(report, "kernels"));
  LOCKSTEP_ASSIGN_OR_RETURN(files["cuda_api_sum.csv"], NsysTable(report, "host"));
  if (comparison) {
    files["comparison.json"] = compare::RenderJson(*comparison);
    files["comparison.md"] = compare::RenderMarkdown(*comparison);
  }
  files[kManifest] = ManifestOf(files, document.run.lockstep_version);
  return files;
}

absl::Status WriteBundle(const BundleFiles& files, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::PermissionDeniedError(fmt::format("{}: cannot make the folder: {}", folder, error.message()));
  LOCKSTEP_RETURN_IF_ERROR(CheckFolder(files, folder));
  // What an earlier bundle had beyond these would contradict the manifest.
  for (const char* name : {"comparison.json", "comparison.md"}) {
    if (!files.contains(name)) std::filesystem::remove(std::filesystem::path(folder) / name, error);
  }
  for (const auto& [name, content] : files) {
    LOCKSTEP_RETURN_IF_ERROR(WriteText(content, (std::filesystem::path(folder) / name).string()));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
