// The manifest with which Perfetto (58 or newer) lays several trace files on one time axis
// (https://perfetto.dev/docs/reference/perfetto-manifest): one constant offset a file.
//
// Kineto files have no clock of their own: they are placed on the timeline of one of them, the reference. Times in them
// count from a base of their own. An event of file f at T is, aligned, at base_f + T - correction_f; so it is at
// T + offset_f of the reference with offset_f = (base_f - correction_f) - (base_r - correction_r). The reference is the
// file with the least base_f - correction_f: then no offset is negative, and nothing moves before the begin. Pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::perfetto {

struct ManifestFile {
  std::string name;     // in the archive, at most kMostNameBytes
  std::string machine;  // files of one machine have no two processes of one number
  int64_t base_unix_ns = 0;
  // local - aligned over the time of the file: what one constant cannot tell is half of the difference.
  int64_t least_correction_ns = 0;
  int64_t most_correction_ns = 0;

  [[nodiscard]] int64_t residual_ns() const;
  [[nodiscard]] int64_t correction_ns() const;  // the middle
};

inline constexpr size_t kMostNameBytes = 99;  // of the viewer

struct Manifest {
  std::string json;
  int64_t residual_ns = 0;  // the largest
};

// kFailedPrecondition: clocks drift by more than this residual within a file; kInvalidArgument: no file.
[[nodiscard]] absl::StatusOr<Manifest> MakeManifest(const std::vector<ManifestFile>& files, int64_t most_residual_ns,
                                                    const std::vector<std::pair<std::string, std::string>>& about);

}  // namespace lockstep::perfetto
