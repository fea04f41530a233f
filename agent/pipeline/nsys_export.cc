#include "agent/pipeline/nsys_export.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "platform/run_program.h"

namespace lockstep {
namespace {

constexpr std::string_view kByHand =
    "export it yourself: nsys export --type sqlite --include-blobs=true --include-json=true FILE";

}  // namespace

bool IsNsysReport(std::string_view path) { return path.ends_with(".nsys-rep") || path.ends_with(".qdrep"); }

NsysExport::~NsysExport() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
    ::rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }
}
NsysExport::NsysExport(NsysExport&& other) noexcept : path_(std::exchange(other.path_, std::string())) {}

absl::StatusOr<NsysExport> NsysExport::Make(const std::string& report, const std::string& tmp_dir) {
  std::string folder = tmp_dir + "/lockstep-nsys-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return absl::NotFoundError(
        fmt::format("{}: no temporary folder for the export; choose another with --tmp", tmp_dir));
  }
  NsysExport made(folder + "/export.sqlite");
  const absl::StatusOr<int> code =
      RunProgram({"nsys", "export", "--type", "sqlite", "--include-blobs=true", "--include-json=true",
                  "--force-overwrite=true", "--output", made.path(), report});
  if (!code.ok()) {
    return absl::NotFoundError(fmt::format("an Nsight Systems report, and there is no nsys on the PATH: {}", kByHand));
  }
  if (*code != 0 || ::access(made.path().c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError(fmt::format("nsys export failed with exit code {}: {}", *code, kByHand));
  }
  return made;
}

}  // namespace lockstep
