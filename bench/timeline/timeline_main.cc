// lockstep-bench-timeline: events of many kernels from the sorters to a timeline file, as `lockstep export` does once
// the traces are read.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/export/perfetto/perfetto_format.h"
#include "analysis/export/perfetto/timeline_writer.h"
#include "cli/timeline/sorted_events.h"
#include "platform/process.h"
#include "platform/temp_dir.h"
#include "platform/whole_file.h"

namespace lockstep {
namespace {

using perfetto::SliceEvent;
using Clock = std::chrono::steady_clock;

struct Asked {
  uint32_t ranks = 8;
  int64_t kernels = 1'000'000;
  std::string output = "/dev/null";
};

int64_t PeakMemoryBytes() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{usage.ru_maxrss} * 1024 : 0;
}

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Kernels of a few microseconds on three streams, with names in turn.
absl::Status AddKernels(uint32_t rank, int64_t kernels, EventSorter<SliceEvent>& sorter) {
  int64_t time_ns = 100 * rank;
  for (int64_t i = 0; i < kernels; ++i) {
    const int64_t mixed = (i * 2'654'435'761 + rank) % 4'093;
    time_ns += 1'000 + mixed;
    LOCKSTEP_RETURN_IF_ERROR(sorter.Add({.start_ns = time_ns,
                                         .duration_ns = 800 + mixed,
                                         .step = i / 400,
                                         .rank = rank,
                                         .stream = static_cast<int32_t>(7 + mixed % 3),
                                         .name = static_cast<uint32_t>(perfetto::kGapCauses + mixed % 200),
                                         .ordinal = static_cast<uint32_t>(i)}));
  }
  return absl::OkStatus();
}

perfetto::Timeline TimelineOf(const Asked& asked) {
  perfetto::Timeline timeline{.run = "bench", .start_unix_ns = 1'700'000'000'000'000'000};
  for (uint32_t rank = 0; rank < asked.ranks; ++rank) {
    timeline.ranks.push_back({.rank = static_cast<int32_t>(rank), .name = fmt::format("rank {}", rank)});
  }
  for (int i = 0; i < 204; ++i) timeline.names.push_back(fmt::format("void kernel_{}<float>(float*, int)", i));
  return timeline;
}

absl::Status Merge(SortedEvents<SliceEvent>& events, perfetto::TimelineWriter& writer) {
  LOCKSTEP_RETURN_IF_ERROR(writer.Begin());
  while (!events.empty()) {
    LOCKSTEP_RETURN_IF_ERROR(writer.Add(events.front()));
    LOCKSTEP_RETURN_IF_ERROR(events.Pop());
  }
  return writer.End();
}

absl::StatusOr<nlohmann::ordered_json> Measure(const Asked& asked) {
  SorterPool<SliceEvent> pool(DefaultTempParent(), int64_t{24} << 20);
  const auto begin = Clock::now();
  std::vector<absl::Status> failed(2);
  {
    std::vector<std::jthread> threads;
    for (uint32_t thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&, thread] {
        auto sorter = pool.Borrow();
        for (uint32_t rank = thread; rank < asked.ranks && failed[thread].ok(); rank += 2) {
          failed[thread] = AddKernels(rank, asked.kernels, *sorter);
        }
        pool.Return(std::move(sorter));
      });
    }
  }
  for (const absl::Status& status : failed) LOCKSTEP_RETURN_IF_ERROR(status);
  const double sorted_s = SecondsSince(begin);
  const auto writing = Clock::now();
  SortedEvents<SliceEvent> events;
  LOCKSTEP_RETURN_IF_ERROR(events.Open(pool.Take()));
  LOCKSTEP_ASSIGN_OR_RETURN(WholeFile file, WholeFile::Create(asked.output, asked.output.ends_with(".gz")));
  perfetto::PerfettoFormat format;
  perfetto::TimelineWriter writer(TimelineOf(asked), format, {},
                                  [&file](std::string_view bytes) { return file.Write(bytes); });
  LOCKSTEP_RETURN_IF_ERROR(Merge(events, writer));
  LOCKSTEP_RETURN_IF_ERROR(file.Commit());
  const double written_s = SecondsSince(writing);
  const auto count = static_cast<double>(events.count());
  return nlohmann::ordered_json{{"events", events.count()},
                                {"bytes", writer.written_bytes()},
                                {"sort_s", sorted_s},
                                {"write_s", written_s},
                                {"cpu_s", static_cast<double>(ProcessCpuNs()) * 1e-9},
                                {"events_per_s", count / (sorted_s + written_s)},
                                {"peak_bytes", PeakMemoryBytes()}};
}

int Main(int argc, char** argv) {
  CLI::App app("Events from the sorters to a timeline file");
  Asked asked;
  app.add_option("--ranks", asked.ranks);
  app.add_option("--kernels", asked.kernels, "of each rank");
  app.add_option("--output", asked.output);
  CLI11_PARSE(app, argc, argv);
  const auto measured = Measure(asked);
  if (!measured.ok()) {
    fmt::print(stderr, "{}\n", std::string(measured.status().message()));
    return 2;
  }
  fmt::print("{}\n", measured->dump(2));
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) { return lockstep::Main(argc, argv); }
