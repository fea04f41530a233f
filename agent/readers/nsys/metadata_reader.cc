#include "agent/readers/nsys/metadata_reader.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>

#include "agent/readers/nsys/environment.h"
#include "agent/readers/nsys/exact_number.h"
#include "analysis/base/ascii.h"
#include "analysis/base/hash128.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"

namespace lockstep::nsys {
namespace {

// Session-relative times are never this late (three years); Unix times always are.
constexpr int64_t kUnixThresholdNs = 100'000'000'000'000'000;
constexpr int64_t kSampledRows = 256;

struct OptionKey {
  std::string_view key;
  std::string_view name;  // in FileContext::options
};
constexpr std::array<OptionKey, 5> kCaptureOptions = {{
    {metadata::kGraphMode, "cuda_graph_trace"},
    {metadata::kDeviceGraphLaunch, "cuda_graph_trace_device_launch"},
    {metadata::kSkipSomeApi, "cuda_skip_some_api_calls"},
    {metadata::kMemoryUsage, "cuda_memory_usage"},
    {metadata::kFlushPeriodically, "cuda_flush_periodically"},
}};

struct Metadata {
  std::map<std::string, std::string, std::less<>> exported;  // the needed keys only
  std::map<std::string, std::string, std::less<>> options;   // by FileContext name
  std::string uuid;
  bool saw_event_types = false;
  bool traced_cuda = false;
  bool saw_environment_rows = false;
  std::string install_dir;
  std::optional<int64_t> utc_epoch_ns;
  std::optional<int64_t> duration_ns;
};

// "PROCESS_0:KEY" and bare "KEY"; the older tools write the prefix, the newer ones both, with the bare one right.
bool MatchesKey(std::string_view name, std::string_view key) {
  if (!name.ends_with(key)) return false;
  return name.size() == key.size() || name[name.size() - key.size() - 1] == ':';
}

absl::Status ReadExportKeys(ReadSession& session, const Table& table, Metadata& found) {
  constexpr std::array kKeys = {metadata::kProductVersion, metadata::kSchemaVersion, metadata::kTimeNormalize,
                                metadata::kTimeShift,      metadata::kIncludeJson,   metadata::kIncludeBlobs};
  return session.Scan(table, [&](const Row& row) {
    const std::string_view name = row.Text(metadata::kName);
    for (const std::string_view key : kKeys) {
      if (name == key) found.exported.insert_or_assign(std::string(key), std::string(row.Text(metadata::kValue)));
    }
    return absl::OkStatus();
  });
}

void NoteCaptureRow(std::string_view name, std::string_view value, ReadFacts& facts, Metadata& found) {
  if (MatchesKey(name, metadata::kEnvironment)) {
    found.saw_environment_rows = true;
    NoteEnvironmentEntry(value, facts);
    return;
  }
  if (MatchesKey(name, metadata::kSessionUuid)) found.uuid = value;
  if (MatchesKey(name, metadata::kEventType)) {
    found.saw_event_types = true;
    found.traced_cuda = found.traced_cuda || Lowered(value).find("cuda") != std::string::npos;
  }
  for (const OptionKey& option : kCaptureOptions) {
    if (!MatchesKey(name, option.key)) continue;
    const bool bare = name.size() == option.key.size();
    if (bare || !found.options.contains(option.name)) found.options[std::string(option.name)] = Lowered(value);
  }
}

absl::Status ReadCaptureKeys(ReadSession& session, Metadata& found) {
  // A prefixed row after the bare one must not win: contains() sees the bare one. One before it is overwritten.
  return session.Scan(metadata::kCapture, [&](const Row& row) {
    NoteCaptureRow(row.Text(metadata::kName), row.Text(metadata::kValue), session.facts(), found);
    return absl::OkStatus();
  });
}

// 11050 -> "11.5".
std::string CudaVersion(std::string_view number) {
  const std::optional<int32_t> value = ParseInt32(number);
  if (!value.has_value() || *value < 1000) return std::string(number);
  return fmt::format("{}.{}", *value / 1000, *value % 1000 / 10);
}

absl::Status ReadSystemEnvironment(ReadSession& session, Metadata& found) {
  return session.Scan(system_env::kTable, [&](const Row& row) {
    const std::string_view name = row.Text(system_env::kName);
    const std::string_view value = row.Text(system_env::kValue);
    if (value.empty()) return absl::OkStatus();
    FileContext& context = session.context();
    if (name == system_env::kHostname) context.host = value;
    if (name == system_env::kDriver) context.versions["driver"] = value;
    if (name == system_env::kCudaDriver) context.versions["cuda"] = CudaVersion(value);
    if (name == system_env::kInstallDir) found.install_dir = value;
    if (name == system_env::kEnvironment && !found.saw_environment_rows) NoteEnvironmentList(value, session.facts());
    return absl::OkStatus();
  });
}

absl::Status ReadSessionStart(ReadSession& session, Metadata& found) {
  LOCKSTEP_RETURN_IF_ERROR(session.Scan(session_start::kTable, [&](const Row& row) {
    const std::optional<int64_t> epoch = row.Int(session_start::kUtcEpoch);
    if (!epoch.has_value() || *epoch < -kMaxAbsTimeNs || *epoch > kMaxAbsTimeNs) {
      session.sink().Drop(DropReason::kBadNumber, row.id());
    } else {
      found.utc_epoch_ns = epoch;
    }
    return absl::OkStatus();
  }));
  return session.Scan(analysis_details::kTable, [&](const Row& row) {
    const std::optional<int64_t> duration = row.Int(analysis_details::kDuration);
    if (duration.has_value() && *duration > 0 && *duration < kUnixThresholdNs) found.duration_ns = duration;
    return absl::OkStatus();
  });
}

// True when the first rows of the activity tables hold Unix times, false when they hold small ones, else nothing.
absl::StatusOr<std::optional<bool>> SampleSaysUnix(ReadSession& session) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Table* table : {&kernel::kTable, &memcpy_op::kTable, &memset_op::kTable, &runtime::kTable, &nvtx::kTable,
                             &graph_trace::kTable}) {
    static_assert(kernel::kStart == 0 && memcpy_op::kStart == 0 && memset_op::kStart == 0 && runtime::kStart == 0 &&
                  nvtx::kStart == 0 && graph_trace::kStart == 0);
    LOCKSTEP_RETURN_IF_ERROR(session.Sample(*table, kSampledRows, [&](const Row& row) {
      const std::optional<int64_t> start = row.Int(0);
      if (start.has_value() && *start > 0) least = std::min(least, *start);
      return absl::OkStatus();
    }));
  }
  if (least == std::numeric_limits<int64_t>::max()) return std::optional<bool>();
  return std::optional<bool>(least > kUnixThresholdNs);
}

// The export says whether it normalised; where the key is missing, or says no over times that cannot be relative, the
// times themselves do.
bool IsNormalized(const Metadata& found, std::optional<bool> sample_says_unix) {
  const auto key = found.exported.find(metadata::kTimeNormalize);
  if (key != found.exported.end() && Lowered(key->second) == "true") return true;
  return sample_says_unix.value_or(false);
}

void SetTimes(ReadSession& session, const Metadata& found, bool normalized) {
  FileContext& context = session.context();
  context.has_base = !normalized && found.utc_epoch_ns.has_value();
  context.base_unix_ns = context.has_base ? *found.utc_epoch_ns : 0;
  if (!normalized && !found.utc_epoch_ns.has_value()) {
    session.AddDiagnostic("the file has no session start time: its times cannot be compared with those of other files");
  }
  if (!found.duration_ns.has_value() || (normalized && !found.utc_epoch_ns.has_value())) return;
  int64_t shift = normalized ? *found.utc_epoch_ns : 0;
  if (const auto key = found.exported.find(metadata::kTimeShift); key != found.exported.end()) {
    const int64_t asked = ParseInt64(key->second).value_or(0);
    if (asked > -kUnixThresholdNs && asked < kUnixThresholdNs) shift += asked;
  }
  context.capture_start_ns = shift;
  context.capture_end_ns = shift + *found.duration_ns;
}

// ".../nsight-systems/2021.3.3/target-linux-x64" -> "2021.3.3".
std::string VersionInPath(std::string_view path) {
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.starts_with("20") && part.find('.') == 4 && part.find_first_not_of("0123456789.") == part.npos) {
      return std::string(part);
    }
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return {};
}

void SetIdentity(ReadSession& session, const Metadata& found) {
  FileContext& context = session.context();
  const auto value_of = [&](std::string_view key) {
    const auto entry = found.exported.find(key);
    return entry == found.exported.end() ? std::string() : entry->second;
  };
  context.tool_version = value_of(metadata::kProductVersion);
  if (context.tool_version.empty()) context.tool_version = VersionInPath(found.install_dir);
  context.schema_version = value_of(metadata::kSchemaVersion);
  context.options.insert(found.options.begin(), found.options.end());
  if (const auto json = value_of(metadata::kIncludeJson); !json.empty())
    context.options["include_json"] = Lowered(json);
  if (const auto blobs = value_of(metadata::kIncludeBlobs); !blobs.empty()) {
    context.options["include_blobs"] = Lowered(blobs);
  }
  if (found.saw_event_types && !found.traced_cuda) {
    session.AddDiagnostic("the capture did not ask for CUDA: profile with --trace=cuda,nvtx");
  }
  if (found.utc_epoch_ns.has_value()) {
    HashBuilder hash;
    hash.Add(*found.utc_epoch_ns).Add(found.uuid).Add(context.tool_version);
    context.session = hash.Finish().Hex();
  }
}

}  // namespace

absl::Status ReadMetadata(ReadSession& session) {
  session.context().format = "nsys";
  Metadata found;
  LOCKSTEP_RETURN_IF_ERROR(ReadExportKeys(session, metadata::kExportOld, found));
  LOCKSTEP_RETURN_IF_ERROR(ReadExportKeys(session, metadata::kExport, found));
  LOCKSTEP_RETURN_IF_ERROR(ReadCaptureKeys(session, found));
  LOCKSTEP_RETURN_IF_ERROR(ReadSystemEnvironment(session, found));
  LOCKSTEP_RETURN_IF_ERROR(ReadSessionStart(session, found));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::optional<bool> sample, SampleSaysUnix(session));
  SetIdentity(session, found);
  SetTimes(session, found, IsNormalized(found, sample));
  return absl::OkStatus();
}

void SetSessionId(ReadSession& session) {
  FileContext& context = session.context();
  if (!context.session.empty()) return;
  const ReadFacts& facts = session.facts();
  HashBuilder hash;
  hash.Add("unknown start").Add(context.tool_version).Add(facts.device_rows).Add(context.api_rows);
  hash.Add(facts.first_device_ns).Add(facts.last_device_ns).Add(facts.last_ns);
  context.session = hash.Finish().Hex();
}

}  // namespace lockstep::nsys
