// Trace files to an aggregator: condenses several at a time and pushes the batches through one outlet. The same code
// runs in lockstep-agent and, over an in-process channel, in `lockstep analyze`.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/pipeline/condense_file.h"
#include "agent/spool/ledger.h"
#include "agent/uplink/outlet.h"
#include "analysis/base/hash128.h"
#include "analysis/model/source.h"
#include "platform/file_system.h"

namespace lockstep {

struct SendProgress {
  size_t files_done = 0;
  size_t files = 0;
  std::string path;    // of the file that moved on
  int64_t done = 0;    // bytes or rows of it
  int64_t total = -1;  // -1 = unknown
  double part = -1;    // 0 to 1, of the bytes of all files; -1 = unknown
};

struct CondenseAndSendOptions {
  CondenseFileOptions condense;  // `read.progress` is set here
  size_t jobs = 0;               // files at a time; 0 = as many as the machine has threads
  // Room for sorting of all files that are worked on together; each gets its share, at least 8 MiB.
  int64_t sort_memory_bytes = int64_t{96} << 20;
  std::function<void(const SendProgress&)> progress;  // called from several threads
};

// How a source was announced, and what all of its batches are, sent or there before.
struct AnnouncedSource {
  std::string path;
  std::string host;
  std::vector<RankClaim> claims;
  Hash128 content;  // ContentHash
  friend bool operator==(const AnnouncedSource&, const AnnouncedSource&) = default;
};

// One file, with its note.
struct SentFile {
  FileReport report;
  FileNote note;
  std::vector<SpooledSource> sources;      // without the note
  std::vector<AnnouncedSource> announced;  // an entry a source
  bool lacked_room = false;                // refused for want of room to sort: worth another try
};

// Pushes every source of the files and a note on each file and problem; does not drain. Returns an entry a file, in the
// order given, problems last. A file that cannot be used is a report; a Status is what stops the whole work: no room to
// sort, kCancelled after a stop, or what the uplink said.
absl::StatusOr<std::vector<SentFile>> CondenseAndSend(const InputFiles& inputs, const CondenseAndSendOptions& options,
                                                      Outlet& outlet, const std::stop_token& stop);

// One file. `read.progress` of the options is the caller's: a false from it gives kCancelled.
absl::StatusOr<SentFile> CondenseAndSendFile(const std::string& path, const CondenseFileOptions& options,
                                             Outlet& outlet);
// How many files at a time find at least 8 MiB each; 1 to `cores`.
[[nodiscard]] size_t JobsWithin(int64_t memory_bytes, size_t cores);
// What each of `jobs` files at a time may use of `memory_bytes` for sorting; at least 8 MiB.
[[nodiscard]] int64_t SortShare(int64_t memory_bytes, size_t jobs, int64_t most_bytes);
[[nodiscard]] FileNote NoteOf(const FileReport& report, const std::string& host);

// "used" or "partial": something of the file reached the analysis.
[[nodiscard]] bool IsUsable(const FileReport& report);

}  // namespace lockstep
