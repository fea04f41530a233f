// What stands before and after the rows of a Kineto file: properties of devices and versions, groups, names of
// processes and streams, the marks that end every file.
#pragma once

#include <string>

#include "bench/simulator/kineto/kineto_rows.h"
#include "bench/simulator/run/trace_writer.h"

namespace lockstep {

class KinetoEnvelope {
 public:
  // `capture`: host times of the rank's rows. The referents outlive the envelope.
  KinetoEnvelope(const RunDescription& run, int32_t rank, const KinetoStyle& style, const HostInterval& capture,
                 std::string name, KinetoRows* rows);
  void Head();
  void Tail();

 private:
  void Devices();
  void Versions();
  void DistributedInfo();
  void Base(std::string_view indent, std::string_view end);
  void ProcessNames();
  void Marks();
  [[nodiscard]] size_t WorldSize() const;

  const RunDescription& run_;
  const SimulatorOptions& options_;
  int32_t rank_;
  const RankPlace& place_;
  const KinetoStyle& style_;
  HostInterval capture_;
  std::string name_;
  KinetoRows& rows_;
};

}  // namespace lockstep
