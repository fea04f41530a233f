// What the table readers of one file share: database, names, sink, processes, the checks on times, and the facts
// gathered on the way. One file, one thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "agent/readers/nsys/recent_values.h"
#include "agent/readers/nsys/string_table.h"
#include "agent/readers/nsys/table_catalog.h"
#include "agent/readers/nsys/table_scan.h"
#include "agent/readers/trace_reader.h"
#include "platform/sqlite.h"

namespace lockstep::nsys {

// 64 bits: hardware 8, virtual machine 8, process 24, thread 24.
[[nodiscard]] int64_t PidOf(int64_t global_id);
[[nodiscard]] int64_t TidOf(int64_t global_id);

// More bytes than any one operation moves (1 PiB): larger values are damage, and sums of a few of these do not
// overflow.
inline constexpr int64_t kMaxBytes = int64_t{1} << 50;

struct TimeSpan {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  [[nodiscard]] int64_t end_ns() const { return start_ns + duration_ns; }
};

// What one reader finds and a later one needs.
struct ReadFacts {
  int64_t device_rows = 0;
  int64_t first_device_ns = std::numeric_limits<int64_t>::max();
  int64_t last_device_ns = std::numeric_limits<int64_t>::min();
  int64_t last_ns = std::numeric_limits<int64_t>::min();  // last end of anything
  std::set<std::pair<int64_t, int32_t>> devices;          // (pid, ordinal) that ran something
  std::map<std::string, std::string> environment;  // the few keys that ranks and device order need, values unquoted
  bool environment_conflicts = false;              // two values for one of them
};

class ReadSession {
 public:
  ReadSession(Database& db, TableCatalog catalog, StringTable strings, const ReadOptions& options, RecordSink& sink);

  // ScanTable with progress, salvage and counting: damage is noted in the result and is no error.
  absl::Status Scan(const Table& table, RowVisitor visit) { return Scan(table, {}, visit); }
  absl::Status Scan(const Table& table, const ScanOptions& scan, RowVisitor visit);

  // The first rows of a table, uncounted and with damage left to the reader of that table.
  absl::Status Sample(const Table& table, int64_t rows, RowVisitor visit);

  // Start and end of a row as a span; false, and counted, when they are no sane times.
  [[nodiscard]] bool ReadSpan(const Row& row, int start_field, int end_field, TimeSpan& span);
  [[nodiscard]] bool MakeSpan(int64_t row_id, int64_t start_ns, int64_t end_ns, TimeSpan& span);
  // A row of a device table: as ReadSpan, and 0/0 (CUPTI's "no timing") is counted as zero_time, more than an hour as
  // absurd_duration (other rows: more than a day).
  [[nodiscard]] bool ReadDeviceSpan(const Row& row, int start_field, int end_field, TimeSpan& span);
  // Index of the process that a globalPid or globalTid names; false, and counted, beyond the limit of processes. In a
  // file whose device tables have no globalPid everything is one process, -1.
  [[nodiscard]] bool ReadProcess(const Row& row, int global_id_field, uint32_t& process);
  // Device ordinal; false, and counted, when it is none (INT_MAX: the host).
  [[nodiscard]] bool ReadDevice(const Row& row, int device_field, int32_t& device);
  // The name of a StringIds column; kNoId when it is NULL.
  [[nodiscard]] NameId NameOf(const Row& row, int field);

  void NoteDeviceActivity(const DeviceRecord& record);
  void NoteDamage(std::string_view table, const ScanDamage& damage);
  // Marks the file as read in part: a table of a newer version without the columns that are needed.
  void AddUnknownTable(std::string_view table);
  void AddDiagnostic(std::string_view text);  // one line for people, cut, bounded in number

  [[nodiscard]] const TableCatalog& catalog() const { return catalog_; }
  [[nodiscard]] StringTable& strings() { return strings_; }
  [[nodiscard]] RecordSink& sink() { return sink_; }
  [[nodiscard]] FileContext& context() { return sink_.context(); }
  [[nodiscard]] const ReadOptions& options() const { return options_; }
  [[nodiscard]] ReadFacts& facts() { return facts_; }
  [[nodiscard]] ReadResult& result() { return result_; }

 private:
  absl::Status CountRow();

  Database& db_;
  const TableCatalog catalog_;
  StringTable strings_;
  const ReadOptions& options_;
  RecordSink& sink_;
  ReadFacts facts_;
  ReadResult result_;
  bool one_process_ = false;
  int64_t rows_ = 0;
  std::unordered_map<int64_t, uint32_t> processes_;  // by pid
  RecentValues<uint32_t, 16> recent_processes_;      // by pid
};

}  // namespace lockstep::nsys
