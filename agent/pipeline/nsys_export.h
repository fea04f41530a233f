// Nsight Systems reports (*.nsys-rep, *.qdrep) are a format of NVIDIA's own: the installed nsys turns them into SQLite.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>

namespace lockstep {

[[nodiscard]] bool IsNsysReport(std::string_view path);

// An export in a temporary folder, removed with this object.
class NsysExport {
 public:
  // Runs `nsys export` with blobs and JSON included. kNotFound: there is no nsys on the PATH; kInvalidArgument: it
  // failed. Both messages say how to export by hand.
  static absl::StatusOr<NsysExport> Make(const std::string& report, const std::string& tmp_dir);
  ~NsysExport();
  NsysExport(NsysExport&& other) noexcept;
  NsysExport(const NsysExport&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit NsysExport(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace lockstep
