// Writes single rows of a Chrome trace as Kineto prints them, and its times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/simulator/kineto/kineto_style.h"
#include "bench/simulator/run/output_file.h"

namespace lockstep {

// Kineto counts from the begin of a three-month interval of this many seconds.
inline constexpr int64_t kKinetoIntervalS = 7'889'238;
[[nodiscard]] int64_t KinetoBaseNs(int64_t unix_ns);

// Place of a row: who did it. `tid` is a stream number for rows of a device.
struct RowPlace {
  int64_t pid = 0;
  int64_t tid = 0;
  bool device = false;
};

class KinetoRows {
 public:
  KinetoRows(const KinetoStyle& style, OutputFile* file, int64_t base_ns)
      : style_(style), file_(*file), base_ns_(base_ns) {}

  // A complete event; `args` is the inside of its args object. Names need no escaping here.
  void Complete(std::string_view category, std::string_view name, const RowPlace& place, int64_t start_ns,
                int64_t end_ns, std::string_view args);
  // One end of an arrow from a launch to its device activity.
  void Flow(bool start, uint64_t id, const RowPlace& place, int64_t at_ns);
  // A metadata row; `args` as above.
  void Metadata(std::string_view name, std::string_view pid, int64_t tid, int64_t at_ns, std::string_view args);
  void Text(std::string_view text) { file_.Append(text); }
  [[nodiscard]] std::string Time(int64_t unix_ns) const;

 private:
  [[nodiscard]] std::string Place(const RowPlace& place) const;
  [[nodiscard]] std::string Length(int64_t start_ns, int64_t end_ns) const;
  const KinetoStyle& style_;
  OutputFile& file_;
  int64_t base_ns_;
};

}  // namespace lockstep
