#include "aggregator/store/sqlite/held_files.h"

#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/status_macros.h"

namespace lockstep {

absl::StatusOr<std::vector<HeldFile>> ReadHeldFiles(Database& db, const std::string& run) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement found, db.Prepare("SELECT path, key, gave FROM held_file JOIN run ON run.id = "
                                                        "held_file.run WHERE run.name = ? ORDER BY path"));
  Binder(found).Text(run);
  std::vector<HeldFile> files;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, found.Step());
    if (!more) return files;
    // One that was changed by hand recognises nothing.
    const std::string_view key = found.Blob(1);
    if (key.size() != Hash128().Bytes().size()) continue;
    files.push_back({std::string(found.Text(0)), Hash128::FromBytes(key), std::string(found.Blob(2))});
  }
}

absl::Status WriteHeldFiles(Database& db, int64_t run_id, const std::vector<HeldFile>& files) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement put,
                            db.Prepare("INSERT OR REPLACE INTO held_file (run, path, key, gave) VALUES (?, ?, ?, ?)"));
  for (const HeldFile& file : files) {
    Binder(put).Int(run_id).Text(file.path).Blob(file.key.Bytes()).Blob(file.gave);
    LOCKSTEP_RETURN_IF_ERROR(put.Run());
  }
  return absl::OkStatus();
}

}  // namespace lockstep
