// A run that a person names on the command line, wherever it is: traces on disk, which are read into a cluster inside
// this process, or a run that a store or an aggregator holds.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "cli/run_source.h"

namespace lockstep {

struct AnyRunOptions {
  RunSourceFlags source;   // where runs that are named are
  std::string step_range;  // of traces that are read
  int64_t jobs = 0;        // files at a time; 0 = as many as the machine has cores
};

// What is read of a file or folder. kInvalidArgument: a malformed context file.
[[nodiscard]] absl::StatusOr<EmbeddedIngest> IngestOf(const std::string& path, const AnyRunOptions& options);
// Reads it, and says on stderr what could not be used. kNotFound: there is no usable trace; errors of Ingest.
[[nodiscard]] absl::Status ReadInto(EmbeddedCluster& cluster, const EmbeddedIngest& ingest, const std::string& path,
                                    const std::stop_token& stop);

class AnyRun {
 public:
  // `name` is a file or folder, NAME@STORE, or with a source the name of a run; there a file or folder is written with
  // a slash at its begin or end (/runs/new, ./new, new/). Errors say what `name` was taken for: kNotFound where it is
  // none of these, kCancelled after a stop, and those of the source.
  static absl::StatusOr<AnyRun> Open(const std::string& name, const AnyRunOptions& options,
                                     const std::stop_token& stop);

  [[nodiscard]] const std::string& name() const { return name_; }
  // What the run is held in; null: another process holds it.
  [[nodiscard]] JobStore* store() const { return cluster_ ? &cluster_->store() : source_->store(); }
  // The run was read from files that are here.
  [[nodiscard]] bool has_traces() const { return cluster_ != nullptr; }
  [[nodiscard]] const QueryClient& query() const { return cluster_ ? cluster_->query() : source_->query(); }

 private:
  std::string name_;
  std::unique_ptr<EmbeddedCluster> cluster_;  // one of these
  std::unique_ptr<RunSource> source_;
};

}  // namespace lockstep
