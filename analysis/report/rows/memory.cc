#include "analysis/report/rows/memory.h"

namespace lockstep::report {

const Record& CopiesByMemory::Fields() {
  using R = CopiesByMemory;
  static const Record record{
      "",
      "Operations between two kinds of memory: pageable, pinned, device, array, managed or unknown.",
      {
          F<&R::source>("source", "Kind of memory that is read."),
          F<&R::target>("target", "Kind of memory that is written."),
          F<&R::operations>("operations", "Number of operations."),
          F<&R::bytes>("bytes", "Sum of the sizes, of the operations of known size."),
          F<&R::total_ns>("total_ns", "Sum of the durations."),
      }};
  return record;
}

const Record& MemoryRow::Fields() {
  using R = MemoryRow;
  static const Record record{
      "memory",
      "Copies of one direction, or all memsets, over all ranks. For a stored run, the numbers are those of whole "
      "captures.",
      {
          F<&R::kind>("kind",
                      "memset, or the direction of the copies, such as host_to_device, device_to_device, peer_to_peer "
                      "or unknown."),
          F<&R::operations>("operations", "Number of operations."),
          F<&R::bytes>("bytes",
                       "Sum of the sizes, of the operations of known size. Null where the size of none is known."),
          F<&R::total_ns>("total_ns", "Sum of the durations."),
          F<&R::duration_ns>("duration_ns", "Durations of the operations."),
          F<&R::bandwidth_gbps>("bandwidth_gbps",
                                "Size / duration of each operation of known size and positive duration, in 10^9 bytes "
                                "per second."),
          F<&R::size_bytes>("size_bytes", "Sizes of the operations of known size."),
          F<&R::blocking>("blocking", "Number of operations whose call returned only after the operation had ended."),
          F<&R::by_memory>("by_memory", "The operations by the kinds of memory that they read and write.").Later(),
      }};
  return record;
}

const Record& AllocationPoint::Fields() {
  using R = AllocationPoint;
  static const Record record{"",
                             "The level of device memory at one time.",
                             {
                                 F<&R::t_ns>("t_ns", "Time since the run's start."),
                                 F<&R::bytes>("bytes", "Allocated minus released memory since the capture began."),
                             }};
  return record;
}

const Record& AllocationRow::Fields() {
  using R = AllocationRow;
  static const Record record{
      "allocation",
      "Device memory of one rank over time, as the profiler recorded allocations and releases. Part of the view "
      "memory.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::peak_bytes>("peak_bytes", "Highest level, exact. Null where it is not known."),
          F<&R::peak_at_ns>("peak_at_ns",
                            "Time of the highest level, since the run's start. Null where it is not known."),
          F<&R::level>("level",
                       "Level after each allocation or release; of long captures only the highest level of each "
                       "stretch of time."),
      }};
  return record;
}

}  // namespace lockstep::report
