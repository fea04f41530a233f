// Names by their StringIds id, looked up when used: an export may hold millions of strings of which few are needed.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/readers/nsys/recent_values.h"
#include "agent/readers/nsys/table_catalog.h"
#include "agent/readers/record_sink.h"
#include "platform/sqlite.h"

namespace lockstep::nsys {

class StringTable {
 public:
  // Neither the database nor the sink is owned. Without a primary key in the file (not as nsys writes it) ids are
  // indexed in memory, up to a limit.
  static absl::StatusOr<StringTable> Open(Database& db, const TableCatalog& catalog, RecordSink& sink);

  // Nothing when the id is unknown or its page is damaged.
  [[nodiscard]] std::optional<std::string> Text(int64_t id);
  // The interned name. An unknown id gives "(unknown name)" and is counted as bad_string at `row`.
  [[nodiscard]] NameId Name(int64_t id, int64_t row);
  [[nodiscard]] NameId UnknownName(int64_t row);

 private:
  StringTable(Statement by_id, RecordSink& sink) : by_id_(std::move(by_id)), sink_(&sink) {}
  [[nodiscard]] std::optional<int64_t> KeyOf(int64_t id) const;

  Statement by_id_;
  RecordSink* sink_;
  bool keys_are_ids_ = true;
  std::vector<std::pair<int64_t, int64_t>> keys_;  // (id, row id), sorted; only when ids are no row ids
  std::unordered_map<int64_t, NameId> names_;
  RecentValues<NameId, 1024> recent_names_;
};

}  // namespace lockstep::nsys
