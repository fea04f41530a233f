#include "analysis/export/perfetto/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/base/unit_text.h"
#include "analysis/export/perfetto/chrome_format.h"

namespace lockstep::perfetto {
namespace {

// Stops at the ends of the range: times may be a stranger's.
int64_t Difference(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? INT64_MIN : INT64_MAX;
}

int64_t OriginOf(const ManifestFile& file) { return Difference(file.base_unix_ns, file.correction_ns()); }

void AppendFile(const ManifestFile& file, const ManifestFile& reference, std::string& json) {
  json += "  {\"path\": ";
  AppendJsonText(file.name, json);
  if (!file.machine.empty()) {
    json += ", \"machine\": {\"name\": ";
    AppendJsonText(file.machine, json);
    json += '}';
  }
  if (&file != &reference) {
    json += ",\n   \"clocks\": {\"sync_to\": {\"file\": ";
    AppendJsonText(reference.name, json);
    fmt::format_to(std::back_inserter(json), "}}, \"offset_ns\": {}}}",
                   Difference(OriginOf(file), OriginOf(reference)));
  }
  json += '}';
}

}  // namespace

int64_t ManifestFile::residual_ns() const {
  const int64_t width = Difference(most_correction_ns, least_correction_ns);
  return width / 2 + width % 2;
}

int64_t ManifestFile::correction_ns() const {
  return least_correction_ns + Difference(most_correction_ns, least_correction_ns) / 2;
}

absl::StatusOr<Manifest> MakeManifest(const std::vector<ManifestFile>& files, int64_t most_residual_ns,
                                      const std::vector<std::pair<std::string, std::string>>& about) {
  if (files.empty()) return absl::InvalidArgumentError("there is no file to put into the archive");
  const auto worst = std::max_element(files.begin(), files.end(), [](const ManifestFile& a, const ManifestFile& b) {
    return a.residual_ns() < b.residual_ns();
  });
  if (worst->residual_ns() > most_residual_ns) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: its clock drifts: one constant offset would be wrong by up to {} within this file, and at most {} is "
        "allowed (--max-residual); use --to perfetto, which moves every event by itself",
        worst->name, TimeText(worst->residual_ns()), TimeText(most_residual_ns)));
  }
  const auto reference = std::min_element(files.begin(), files.end(), [](const ManifestFile& a, const ManifestFile& b) {
    return OriginOf(a) < OriginOf(b);
  });
  Manifest manifest{.residual_ns = worst->residual_ns()};
  std::string& json = manifest.json;
  json = "{\"perfetto_manifest\": {\n \"version\": 1,\n \"files\": [\n";
  for (const ManifestFile& file : files) {
    AppendFile(file, *reference, json);
    json += &file == &files.back() ? "\n" : ",\n";
  }
  json += " ],\n \"attributes\": {";
  for (const auto& [key, value] : about) {
    json += &key == &about.front().first ? "\n  " : ",\n  ";
    AppendJsonText("lockstep." + key, json);
    json += ": ";
    AppendJsonText(value, json);
  }
  json += "\n }\n}}\n";
  return manifest;
}

}  // namespace lockstep::perfetto
