#include "agent/readers/nsys/nsys_schema.h"

namespace lockstep::nsys {
namespace {

constexpr std::array kKnownTables = {
    &string_ids::kTable,
    &kernel::kTable,
    &memcpy_op::kTable,
    &memset_op::kTable,
    &graph_trace::kTable,
    &runtime::kTable,
    &sync::kTable,
    &memory_usage::kTable,
    &nvtx::kTable,
    &payload_entries::kTable,
    &profiler_overhead::kTable,
    &cupti_overhead::kTable,
    &mpi_ranks::kTable,
    &gpu::kTable,
    &cuda_device::kTable,
    &system_env::kTable,
    &session_start::kTable,
    &diagnostic::kTable,
    &metadata::kExportOld,
    &metadata::kExport,
    &metadata::kCapture,
    &process_streams::kTable,
    &analysis_details::kTable,
};

constexpr std::array<std::string_view, 4> kExportPrefixes = {"CUPTI_ACTIVITY_KIND_", "TARGET_INFO_", "META_DATA_",
                                                             "EXPORT_META_DATA"};

}  // namespace

std::span<const Table* const> KnownTables() { return kKnownTables; }

bool MarksAnExport(std::string_view table_name) {
  for (const std::string_view prefix : kExportPrefixes) {
    if (table_name.starts_with(prefix)) return true;
  }
  return table_name == nvtx::kTable.name;
}

}  // namespace lockstep::nsys
