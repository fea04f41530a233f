#include "agent/readers/nsys/api_reader.h"

#include <unordered_map>

#include "agent/readers/nsys/api_name.h"
#include "agent/readers/nsys/recent_values.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

constexpr size_t kMaxCachedApiNames = 65'536;

struct ApiName {
  NameId name = kNoId;
  ApiKind kind = ApiKind::kOther;
  bool is_driver = false;
};

class ApiTable {
 public:
  ApiTable(ReadSession& session, GraphLaunches& graphs) : session_(session), graphs_(graphs) {}
  absl::Status Visit(const Row& row);

 private:
  ApiName NameOf(const Row& row);
  void NoteGraphLaunch(const ApiRecord& record);

  ReadSession& session_;
  GraphLaunches& graphs_;
  std::unordered_map<int64_t, ApiName> names_;
  RecentValues<ApiName, 64> recent_names_;
};

ApiName ApiTable::NameOf(const Row& row) {
  int64_t id = 0;
  if (!row.Read(runtime::kName, id)) return {session_.strings().UnknownName(row.id())};
  if (const ApiName* recent = recent_names_.Find(id)) return *recent;
  if (const auto known = names_.find(id); known != names_.end()) {
    recent_names_.Put(id, known->second);
    return known->second;
  }
  const std::optional<std::string> text = session_.strings().Text(id);
  if (!text.has_value()) return {session_.strings().UnknownName(row.id())};
  const std::string_view display = DisplayName(*text);
  const ApiName name{session_.sink().InternName(NsysName(*text)), KindOfApi(display), IsDriverName(display)};
  if (names_.size() < kMaxCachedApiNames) names_.emplace(id, name);
  return name;
}

void ApiTable::NoteGraphLaunch(const ApiRecord& record) {
  if (record.kind != ApiKind::kGraphLaunch || !record.has_correlation) return;
  const int64_t end_ns = record.start_ns + record.duration_ns;
  if (record.is_driver) {
    graphs_.AddDriver(record.process, record.tid, record.correlation, record.start_ns, end_ns);
  } else {
    graphs_.AddRuntime(record.process, record.tid, record.correlation, record.start_ns, end_ns);
  }
}

absl::Status ApiTable::Visit(const Row& row) {
  ApiRecord record;
  TimeSpan span;
  if (!session_.ReadSpan(row, runtime::kStart, runtime::kEnd, span)) return absl::OkStatus();
  if (!session_.ReadProcess(row, runtime::kGlobalTid, record.process)) return absl::OkStatus();
  const ApiName name = NameOf(row);
  int64_t correlation = 0;
  record.has_correlation = row.Read(runtime::kCorrelation, correlation);
  record.correlation = static_cast<uint64_t>(correlation);
  record.start_ns = span.start_ns;
  record.duration_ns = span.duration_ns;
  record.tid = TidOf(row.IntOr(runtime::kGlobalTid, 0));
  record.name = name.name;
  record.kind = name.kind;
  int64_t event_class = 0;
  const bool has_class = row.Read(runtime::kEventClass, event_class);
  record.is_driver = has_class ? event_class == runtime::kDriverClass : name.is_driver;
  NoteGraphLaunch(record);
  ++session_.context().api_rows;
  return session_.sink().Api(record);
}

}  // namespace

absl::Status ReadApi(ReadSession& session, GraphLaunches& graphs) {
  ApiTable table(session, graphs);
  LOCKSTEP_RETURN_IF_ERROR(session.Scan(runtime::kTable, [&](const Row& row) { return table.Visit(row); }));
  graphs.Seal();
  return absl::OkStatus();
}

}  // namespace lockstep::nsys
