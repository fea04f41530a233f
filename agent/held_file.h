// A trace file that a store holds already need not be read again: by what it is recognised, and what is kept of what it
// gave. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/condense_and_send.h"
#include "agent/pipeline/condense_file.h"
#include "analysis/base/hash128.h"
#include "analysis/model/source_extent.h"

namespace lockstep {

// Equal only for the same file, unchanged, condensed with options that give the same by a program of the same sources.
// Of the file: path, device, inode, size, times of change, and its fingerprint. nullopt for what cannot be recognised
// by these: a file changed less than two seconds ago (it might change again within its clock's tick), one that SQLite
// keeps a journal beside, a report that NVIDIA's nsys turns into a trace, and what is condensed for one selection or
// without names.
[[nodiscard]] std::optional<Hash128> HeldFileKey(const std::string& path, const CondenseFileOptions& options,
                                                 int64_t now_unix_ns);

struct GivenByFile {
  FileReport report;
  std::vector<SourceExtent> extents;       // of its note first, and of its sources
  std::vector<AnnouncedSource> announced;  // an entry a source, without the content
};

// "" for a file of which not all was used: that is read again.
[[nodiscard]] std::string PackGiven(const SentFile& sent);
// nullopt for what PackGiven did not write.
[[nodiscard]] std::optional<GivenByFile> UnpackGiven(const std::string& path, std::string_view packed);

}  // namespace lockstep
