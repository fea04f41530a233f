#include "tests/support/nsys_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

struct TableText {
  std::string_view name;
  std::string_view columns;
};

// Columns in the order of the file. "!" NOT NULL, "=KEY" primary key, "@3.7" since, "~3.24" gone by, ":TEXT" and
// ":REAL" types other than INTEGER.
constexpr std::array<TableText, 25> kTables = {{
    {"StringIds", "id!=KEY value!:TEXT"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid demangledName! shortName! "
     "mangledName launchType cacheConfig registersPerThread! gridX! gridY! gridZ! blockX! blockY! blockZ! "
     "staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! sharedMemoryExecuted "
     "graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone@3.24 qmdPreexitDone@3.24 qmdLastCtaDone@3.24 graphId@3.24 "
     "clusterX@3.24 clusterY@3.24 clusterZ@3.24 tensorSizeMinusOneElements!:TEXT@3.25"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid bytes! copyKind! "
     "deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause graphNodeId "
     "virtualAddress copyCount@3.24"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid value! bytes! graphNodeId "
     "memKind"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "start! end! deviceId! contextId! greenContextId@3.13 streamId! correlationId globalPid graphId! graphExecId!"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start! end! deviceId! contextId! greenContextId@3.7 streamId! correlationId globalPid deprecatedSyncType@3.24 "
     "syncType! eventId! eventSyncId@3.24"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS",
     "start! globalPid! deviceId! contextId! address! pc! bytes! memKind! memoryOperationType! name:TEXT correlationId "
     "streamId@3.28"},
    {"NVTX_EVENTS",
     "eventId!=KEY@3.28 start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId "
     "uint64Value int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId jsonText:TEXT "
     "binaryData:TEXT@3.13"},
    {"NVTX_PAYLOAD_SCHEMAS", "domainId@3.13 schemaId@3.13 name:TEXT type flags numEntries payloadSize alignTo"},
    {"NVTX_PAYLOAD_SCHEMA_ENTRIES",
     "domainId!@3.13 schemaId!@3.13 idx! flags type name:TEXT description:TEXT arrayOrUnionDetail offset"},
    {"PROFILER_OVERHEAD", "start! end! globalTid nameId! returnValue~3.24 overheadType@3.24"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "start!@3.24 end!@3.24 eventClass! globalTid correlationId nameId overheadType!"},
    {"MPI_RANKS", "globalTid! rank!"},
    {"TARGET_INFO_GPU",
     "vmId! id! name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount "
     "pwGpuId "
     "uuid:TEXT luid chipName:TEXT cuDevice"},
    {"TARGET_INFO_CUDA_DEVICE", "gpuId@3.24 cudaId!@3.24 pid! uuid:TEXT numMultiprocessors"},
    {"TARGET_INFO_SYSTEM_ENV", "globalVid devStateName!:TEXT name!:TEXT nameEnum! value:TEXT"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs utcTime:TEXT localTime:TEXT systemClockNs@3.24"},
    {"ANALYSIS_DETAILS", "globalVid! duration! startTime! stopTime!"},
    {"DIAGNOSTIC_EVENT", "timestamp!@3.13 timestampType! source! severity! text!:TEXT globalPid"},
    {"EXPORT_META_DATA", "name!:TEXT value:TEXT"},
    {"META_DATA_EXPORT", "name!:TEXT value:TEXT"},
    {"META_DATA_CAPTURE", "name!:TEXT value:TEXT"},
    {"ProcessStreams", "globalPid! filenameId! contentId!"},
    {"PROCESSES", "globalPid pid name:TEXT"},
}};

void Must(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  LOCKSTEP_CHECK(status.ok());
}

// "3.24" -> 324.
int SchemaNumber(std::string_view text) {
  int major = 0;
  int minor = 0;
  const char* end = text.data() + text.size();
  const auto point = std::from_chars(text.data(), end, major);
  LOCKSTEP_CHECK(point.ec == std::errc() && point.ptr < end);
  std::from_chars(point.ptr + 1, end, minor);
  return major * 100 + minor;
}

std::string_view PartAfter(std::string_view word, char mark) {
  const size_t at = word.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = word.substr(at + 1);
  return rest.substr(0, rest.find_first_of("!=@~:"));
}

void Bind(Statement& statement, int index, const NsysValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) statement.BindInt(index, *integer);
  if (const auto* real = std::get_if<double>(&value)) statement.BindReal(index, *real);
  if (const auto* text = std::get_if<std::string>(&value)) statement.BindText(index, *text);
  if (const auto* blob = std::get_if<NsysBlob>(&value)) statement.BindBlob(index, blob->bytes);
  if (std::holds_alternative<NsysNull>(value)) statement.BindNull(index);
}

NsysValue CorrelationOf(const NsysPlace& place) {
  if (place.correlation == 0) return NsysNull{};
  return place.correlation;
}

}  // namespace

int64_t NsysGlobalId(int64_t pid, int64_t tid) {
  return static_cast<int64_t>((uint64_t{1} << 56) | (uint64_t{1} << 48) | (static_cast<uint64_t>(pid) << 24) |
                              static_cast<uint64_t>(tid));
}

std::string LittleEndianBytes(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
  return bytes;
}

std::string NsysPayload(uint32_t domain, uint32_t schema, std::string_view payload) {
  return LittleEndianBytes(domain, 4) + LittleEndianBytes(0, 4) + LittleEndianBytes(schema, 4) +
         LittleEndianBytes(0, 4) + LittleEndianBytes(payload.size(), 8) + LittleEndianBytes(payload.size() + 32, 8) +
         std::string(payload);
}

NsysBuilder::NsysBuilder(std::string path, NsysSchema schema, int page_bytes)
    : path_(std::move(path)), schema_(static_cast<int>(schema)) {
  std::remove(path_.c_str());
  absl::StatusOr<Database> db = Database::Open(path_, Database::Mode::kReadWriteCreate);
  Must(db.status());
  db_.push_back(*std::move(db));
  Sql(fmt::format("PRAGMA page_size = {}; PRAGMA synchronous = OFF; BEGIN", page_bytes));
  Table("StringIds");
}

NsysBuilder::~NsysBuilder() { Finish(); }

void NsysBuilder::Finish() {
  if (db_.empty()) return;
  Sql("COMMIT");
  db_.clear();
}

NsysBuilder& NsysBuilder::Session(int64_t utc_epoch_ns, int64_t duration_ns) {
  Exported("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems");
  Exported("EXPORT_PRODUCT_VERSION", "2099.1.1.1");
  Exported("EXPORT_SCHEMA_VERSION", fmt::format("{}.{}.0", schema_ / 100, schema_ % 100));
  Add("TARGET_INFO_SESSION_START_TIME", {{"utcEpochNs", utc_epoch_ns}});
  return Add("ANALYSIS_DETAILS", {{"duration", duration_ns}});
}

NsysBuilder& NsysBuilder::Exported(std::string_view key, std::string_view value) {
  const std::string_view table = schema_ < 307 ? "EXPORT_META_DATA" : "META_DATA_EXPORT";
  return Add(table, {{"name", std::string(key)}, {"value", std::string(value)}});
}

NsysBuilder& NsysBuilder::Captured(std::string_view key, std::string_view value) {
  return Add("META_DATA_CAPTURE", {{"name", std::string(key)}, {"value", std::string(value)}});
}

NsysBuilder& NsysBuilder::System(std::string_view name, std::string_view value) {
  return Add("TARGET_INFO_SYSTEM_ENV", {{"name", std::string(name)}, {"value", std::string(value)}});
}

int64_t NsysBuilder::String(std::string_view text) {
  const auto known = strings_.find(text);
  if (known != strings_.end()) return known->second;
  const auto id = static_cast<int64_t>(strings_.size());
  strings_.emplace(text, id);
  Add("StringIds", {{"id", id}, {"value", std::string(text)}});
  return id;
}

NsysBuilder& NsysBuilder::Kernel(std::string_view name, int64_t start, int64_t end, const NsysPlace& place,
                                 NsysCells more) {
  NsysCells cells = {{"start", start},
                     {"end", end},
                     {"deviceId", place.device},
                     {"streamId", place.stream},
                     {"correlationId", CorrelationOf(place)},
                     {"globalPid", NsysGlobalId(place.pid)},
                     {"demangledName", String(name)},
                     {"shortName", String(name)}};
  cells.insert(cells.end(), more.begin(), more.end());
  return Add("CUPTI_ACTIVITY_KIND_KERNEL", cells);
}

NsysBuilder& NsysBuilder::Memcpy(int64_t kind, int64_t bytes, int64_t start, int64_t end, const NsysPlace& place,
                                 NsysCells more) {
  NsysCells cells = {{"start", start},
                     {"end", end},
                     {"deviceId", place.device},
                     {"streamId", place.stream},
                     {"correlationId", CorrelationOf(place)},
                     {"globalPid", NsysGlobalId(place.pid)},
                     {"bytes", bytes},
                     {"copyKind", kind}};
  cells.insert(cells.end(), more.begin(), more.end());
  return Add("CUPTI_ACTIVITY_KIND_MEMCPY", cells);
}

NsysBuilder& NsysBuilder::Memset(int64_t bytes, int64_t start, int64_t end, const NsysPlace& place) {
  return Add("CUPTI_ACTIVITY_KIND_MEMSET", {{"start", start},
                                            {"end", end},
                                            {"deviceId", place.device},
                                            {"streamId", place.stream},
                                            {"correlationId", CorrelationOf(place)},
                                            {"globalPid", NsysGlobalId(place.pid)},
                                            {"bytes", bytes}});
}

NsysBuilder& NsysBuilder::Api(std::string_view name, int64_t start, int64_t end, const NsysPlace& place,
                              int64_t event_class) {
  return Add("CUPTI_ACTIVITY_KIND_RUNTIME", {{"start", start},
                                             {"end", end},
                                             {"eventClass", event_class},
                                             {"globalTid", NsysGlobalId(place.pid, place.tid)},
                                             {"correlationId", CorrelationOf(place)},
                                             {"nameId", String(name)}});
}

NsysBuilder& NsysBuilder::Nvtx(int64_t type, std::string_view text, int64_t start, NsysValue end,
                               const NsysPlace& place, NsysCells more) {
  NsysCells cells = {{"start", start},
                     {"end", std::move(end)},
                     {"eventType", type},
                     {"text", std::string(text)},
                     {"globalTid", NsysGlobalId(place.pid, place.tid)}};
  cells.insert(cells.end(), more.begin(), more.end());
  return Add("NVTX_EVENTS", cells);
}

std::vector<NsysBuilder::ColumnDef> NsysBuilder::ColumnsOf(std::string_view table) const {
  std::vector<ColumnDef> columns;
  for (const TableText& known : kTables) {
    if (known.name != table) continue;
    for (size_t at = 0; at < known.columns.size();) {
      const size_t end = std::min(known.columns.find(' ', at), known.columns.size());
      const std::string_view word = known.columns.substr(at, end - at);
      at = end + 1;
      const std::string_view since = PartAfter(word, '@');
      const std::string_view until = PartAfter(word, '~');
      if (!since.empty() && schema_ < SchemaNumber(since)) continue;
      if (!until.empty() && schema_ >= SchemaNumber(until)) continue;
      const std::string_view type = PartAfter(word, ':');
      columns.push_back({std::string(word.substr(0, word.find_first_of("!=@~:"))),
                         type.empty() ? "INTEGER" : std::string(type), word.find('!') != std::string_view::npos,
                         word.find('=') != std::string_view::npos});
    }
  }
  return columns;
}

const std::vector<NsysBuilder::ColumnDef>& NsysBuilder::Create(std::string_view table) {
  const auto known = tables_.find(table);
  if (known != tables_.end()) return known->second;
  const std::vector<ColumnDef>& columns = tables_.emplace(table, ColumnsOf(table)).first->second;
  LOCKSTEP_CHECK(!columns.empty());
  std::string sql = fmt::format("CREATE TABLE {} (", table);
  for (const ColumnDef& column : columns) {
    sql += fmt::format("{}\"{}\" {}{}{}", &column == &columns.front() ? "" : ", ", column.name, column.type,
                       column.not_null ? " NOT NULL" : "", column.primary_key ? " PRIMARY KEY" : "");
  }
  Sql(sql + ")");
  return columns;
}

bool NsysBuilder::HasColumn(std::string_view table, std::string_view column) const {
  for (const ColumnDef& known : ColumnsOf(table)) {
    if (known.name == column) return true;
  }
  return false;
}

NsysBuilder& NsysBuilder::Table(std::string_view table) {
  Create(table);
  return *this;
}

NsysBuilder& NsysBuilder::Add(std::string_view table, const NsysCells& cells) {
  const std::vector<ColumnDef>& columns = Create(table);
  std::map<std::string, NsysValue, std::less<>> values;
  for (const auto& [name, value] : cells) {
    LOCKSTEP_CHECK(std::ranges::find(columns, name, &ColumnDef::name) != columns.end());
    values.insert_or_assign(name, value);
  }
  std::string names;
  std::string marks;
  std::vector<NsysValue> bound;
  for (const ColumnDef& column : columns) {
    const auto given = values.find(column.name);
    if (given == values.end() && (!column.not_null || column.primary_key)) continue;
    names += fmt::format("{}\"{}\"", bound.empty() ? "" : ", ", column.name);
    marks += bound.empty() ? "?" : ", ?";
    const NsysValue zero = column.type == "TEXT" ? NsysValue(std::string()) : NsysValue(int64_t{0});
    bound.push_back(given == values.end() ? zero : given->second);
  }
  absl::StatusOr<Statement> insert =
      db_.front().Prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, marks));
  Must(insert.status());
  for (size_t i = 0; i < bound.size(); ++i) Bind(*insert, static_cast<int>(i) + 1, bound[i]);
  Must(insert->Run());
  return *this;
}

NsysBuilder& NsysBuilder::Sql(std::string_view sql) {
  Must(db_.front().Execute(sql));
  return *this;
}

std::string ReadFileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace lockstep
