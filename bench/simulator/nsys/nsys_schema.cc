#include "bench/simulator/nsys/nsys_schema.h"

#include <algorithm>
#include <array>

#include "analysis/base/check.h"
#include "bench/simulator/command/simulator_options.h"

namespace lockstep {
namespace {

constexpr std::array kTables = {
    NsysTableSpec{"StringIds", "id!/P value!/T"},
    NsysTableSpec{"EXPORT_META_DATA", "name!/T value/T", -100, 7},
    NsysTableSpec{"META_DATA_EXPORT", "name!/T value/T", 7},
    NsysTableSpec{"META_DATA_CAPTURE", "name!/T value/T", 7},
    NsysTableSpec{"ANALYSIS_DETAILS", "globalVid! duration! startTime! stopTime!"},
    NsysTableSpec{"PROCESSES", "globalPid pid name/T", 0},
    NsysTableSpec{"ThreadNames", "nameId! priority globalTid"},
    NsysTableSpec{"TARGET_INFO_SYSTEM_ENV", "globalVid devStateName!/T name!/T nameEnum! value!/T"},
    NsysTableSpec{"TARGET_INFO_SESSION_START_TIME",
                  "utcEpochNs utcTime/T localTime/T systemClockNs@24 sessionStartCntVctNs@28"},
    NsysTableSpec{
        "TARGET_INFO_GPU",
        "vmId! id! name/T busLocation/T isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount "
        "pwGpuId uuid/T luid chipName/T cuDevice ctxswDevPath/T ctrlDevPath/T revision nodeMask constantMemory "
        "maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm "
        "threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY "
        "maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor numaNodeId@28"},
    NsysTableSpec{"TARGET_INFO_CUDA_DEVICE", "gpuId cudaId! pid! uuid/T numMultiprocessors", 24},
    NsysTableSpec{"TARGET_INFO_CUDA_CONTEXT_INFO",
                  "nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId isGreenContext "
                  "numMultiprocessors@24",
                  7},
    NsysTableSpec{"TARGET_INFO_CUDA_STREAM", "streamId! hwId! vmId! processId! contextId! priority! flag!"},
    NsysTableSpec{"DIAGNOSTIC_EVENT", "timestamp! timestampType! source! severity! text!/T globalPid", 13},
    NsysTableSpec{
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "start! end! deviceId! contextId! greenContextId@7 streamId! correlationId globalPid demangledName! "
        "shortName! mangledName launchType cacheConfig registersPerThread! gridX! gridY! gridZ! blockX! blockY! "
        "blockZ! staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! "
        "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone@24 qmdPreexitDone@24 "
        "qmdLastCtaDone@24 graphId@24 clusterX@24 clusterY@24 clusterZ@24 clusterSchedulingPolicy@24 "
        "maxPotentialClusterSize@24 maxActiveClusters@24 sharedMemoryRequestedPercentage@24 "
        "tensorSizeMinusOneElements!/T@25"},
    NsysTableSpec{
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "start! end! deviceId! contextId! greenContextId@7 streamId! correlationId globalPid bytes! copyKind! "
        "deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause "
        "graphNodeId virtualAddress copyCount@24"},
    NsysTableSpec{"CUPTI_ACTIVITY_KIND_MEMSET",
                  "start! end! deviceId! contextId! greenContextId@7 streamId! correlationId globalPid value! bytes! "
                  "graphNodeId memKind"},
    NsysTableSpec{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                  "start! end! deviceId! contextId! greenContextId@7 streamId! correlationId globalPid graphId! "
                  "graphExecId!",
                  13},
    NsysTableSpec{"CUPTI_ACTIVITY_KIND_RUNTIME",
                  "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"},
    NsysTableSpec{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                  "start! end! deviceId! contextId! greenContextId@7 streamId! correlationId globalPid "
                  "deprecatedSyncType@24 syncType! eventId! eventSyncId@24"},
    NsysTableSpec{"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                  "timestamp@24 deviceId! contextId! greenContextId@7 streamId! correlationId globalPid eventId! "
                  "eventSyncId@24"},
    NsysTableSpec{
        "NVTX_EVENTS",
        "eventId!/P@28 start! end eventType! rangeId category color text/T globalTid endGlobalTid textId domainId "
        "uint64Value int64Value doubleValue/R uint32Value int32Value floatValue/R jsonTextId jsonText/T "
        "binaryData/T@13"},
    NsysTableSpec{"NVTX_PAYLOAD_SCHEMAS", "domainId schemaId name/T type flags numEntries payloadSize alignTo", 13},
    NsysTableSpec{"NVTX_PAYLOAD_SCHEMA_ENTRIES",
                  "domainId! schemaId! idx! flags type name/T description/T arrayOrUnionDetail offset", 13},
    NsysTableSpec{"ENUM_CUDA_MEMCPY_OPER", "id!/P name/T label/T", 0},
    NsysTableSpec{"ENUM_CUDA_MEM_KIND", "id!/P name/T label/T", 0},
    NsysTableSpec{"ENUM_CUPTI_SYNC_TYPE", "id!/P name/T label/T", 0},
    NsysTableSpec{"ENUM_NSYS_EVENT_CLASS", "id!/P name/T label/T", 0},
    NsysTableSpec{"ENUM_NSYS_EVENT_TYPE", "id!/P name/T label/T", 0},
};

constexpr std::array kReleases = {
    NsysRelease{kSchema27, "2.7.1", "2021.5.2.53", "2021.5"}, NsysRelease{0, "3.0.0", "2022.4.2.1", "2022.4"},
    NsysRelease{7, "3.7.2", "2023.4.4.54", "2023.4"},         NsysRelease{13, "3.13.2", "2024.5.1.113", "2024.5"},
    NsysRelease{25, "3.25.0", "2026.2.1.210", "2026.2"},      NsysRelease{28, "3.28.1", "2026.4.1.120", "2026.4"},
};

// The number after `mark` in a column's word, or `otherwise`.
int NumberAfter(std::string_view word, char mark, int otherwise) {
  const size_t at = word.find(mark);
  if (at == std::string_view::npos) return otherwise;
  int number = 0;
  for (size_t i = at + 1; i < word.size() && word[i] >= '0' && word[i] <= '9'; ++i)
    number = number * 10 + (word[i] - '0');
  return number;
}

NsysColumn ColumnOf(std::string_view word) {
  NsysColumn column{.name = std::string(word.substr(0, word.find_first_of("!/@^"))), .type = "INTEGER"};
  column.not_null = word.find('!') != std::string_view::npos;
  const size_t slash = word.find('/');
  const char type = slash == std::string_view::npos ? ' ' : word[slash + 1];
  if (type == 'T') column.type = "TEXT";
  if (type == 'R') column.type = "REAL";
  column.primary_key = type == 'P';
  return column;
}

}  // namespace

const NsysTableSpec* FindNsysTable(std::string_view name) {
  const auto found =
      std::find_if(kTables.begin(), kTables.end(), [&](const auto& table) { return table.name == name; });
  return found == kTables.end() ? nullptr : &*found;
}

std::vector<NsysColumn> NsysColumns(const NsysTableSpec& table, int schema_minor) {
  std::vector<NsysColumn> columns;
  if (schema_minor < table.since || schema_minor >= table.until) return columns;
  std::string_view rest = table.columns;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool exists = schema_minor >= NumberAfter(word, '@', -100) && schema_minor < NumberAfter(word, '^', 100);
    if (exists) columns.push_back(ColumnOf(word));
  }
  return columns;
}

const NsysRelease& NsysReleaseOf(int schema_minor) {
  const auto found = std::find_if(kReleases.begin(), kReleases.end(),
                                  [&](const NsysRelease& release) { return release.schema_minor == schema_minor; });
  LOCKSTEP_CHECK(found != kReleases.end());
  return *found;
}

}  // namespace lockstep
