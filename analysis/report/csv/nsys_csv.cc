#include "analysis/report/csv/nsys_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analysis/report/csv/csv_writer.h"
#include "analysis/report/json.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

using Cells = std::vector<std::string>;

// One decimal, as nsys writes averages and percents.
std::string Decimal(const Json& value) {
  const auto real = RealOf(value);
  return real ? fmt::format("{:.1f}", *real) : "";
}

// From the exact sums: the document's mean has nine digits.
std::string Average(const Json& row, std::string_view count_key) {
  const auto total = RealOf(FieldOf(row, "total_ns"));
  const auto count = RealOf(FieldOf(row, count_key));
  return total && count && *count > 0 ? fmt::format("{:.1f}", *total / *count) : "";
}

double TotalOf(const Json& rows) {
  double total = 0;
  for (const Json& row : rows) total += RealOf(FieldOf(row, "total_ns")).value_or(0);
  return total;
}

std::string TimePercent(const Json& row, double total) {
  if (const auto share = RealOf(FieldOf(row, "share_ratio"))) return fmt::format("{:.1f}", 100 * *share);
  const auto own = RealOf(FieldOf(row, "total_ns"));
  return own && total > 0 ? fmt::format("{:.1f}", 100 * *own / total) : "";
}

// The columns that all the sums share, up to the standard deviation.
Cells SumHeader(std::string_view count) {
  return {"Time (%)", "Total Time (ns)", std::string(count), "Avg (ns)",
          "Med (ns)", "Min (ns)",        "Max (ns)",         "StdDev (ns)"};
}

Cells SumRow(const Json& row, std::string_view count_key, double total) {
  const Json& durations = FieldOf(row, "duration_ns");
  return {TimePercent(row, total),
          PlainText(FieldOf(row, "total_ns")),
          PlainText(FieldOf(row, count_key)),
          Average(row, count_key),
          Decimal(FieldOf(durations, "median")),
          PlainText(FieldOf(durations, "min")),
          PlainText(FieldOf(durations, "max")),
          Decimal(FieldOf(durations, "stddev"))};
}

std::string TextCellOf(const Json& row, std::string_view key) { return GuardFormula(TextOf(FieldOf(row, key))); }

// Ties: fewer instances first, then by name.
bool KernelBefore(const Json& a, const Json& b) {
  const auto key = [](const Json& row) {
    return std::pair(-IntegerOf(FieldOf(row, "total_ns")).value_or(0),
                     IntegerOf(FieldOf(row, "instances")).value_or(0));
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return TextOf(FieldOf(a, "name")) < TextOf(FieldOf(b, "name"));
}

// A kernel's name taken apart where it carries its launch shape: "name <<<(1,2,3),(4,5,6)>>>" of --group-by shape.
struct NameAndShape {
  std::string_view name;
  std::string grid;  // as nsys writes three numbers; "" = no shape
  std::string block;
};

std::string AlignedTriple(std::string_view numbers) {
  std::string text;
  while (true) {
    const size_t comma = numbers.find(',');
    text += fmt::format("{}{:>4}", text.empty() ? "" : " ", numbers.substr(0, comma));
    if (comma == std::string_view::npos) return text;
    numbers.remove_prefix(comma + 1);
  }
}

NameAndShape TakeApart(std::string_view name) {
  constexpr std::string_view kOpen = " <<<(";
  constexpr std::string_view kBetween = "),(";
  constexpr std::string_view kClose = ")>>>";
  const size_t open = name.rfind(kOpen);
  if (open == std::string_view::npos || !name.ends_with(kClose)) return {name, "", ""};
  const std::string_view shape = name.substr(open + kOpen.size(), name.size() - open - kOpen.size() - kClose.size());
  const size_t between = shape.find(kBetween);
  if (between == std::string_view::npos) return {name, "", ""};
  return {name.substr(0, open), AlignedTriple(shape.substr(0, between)),
          AlignedTriple(shape.substr(between + kBetween.size()))};
}

// Grouped by shape the rows are those of nsys's cuda_gpu_kern_gb_sum, else of cuda_gpu_kern_sum.
std::string Kernels(const Json& rows) {
  std::vector<const Json*> order;
  for (const Json& row : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const Json* a, const Json* b) { return KernelBefore(*a, *b); });
  const bool shapes = std::any_of(order.begin(), order.end(), [](const Json* row) {
    return !TakeApart(TextOf(FieldOf(*row, "name"))).grid.empty();
  });
  Cells header = SumHeader("Instances");
  if (shapes) header.insert(header.end(), {"GridXYZ", "BlockXYZ"});
  header.emplace_back("Name");
  std::string text = CsvLine(header);
  const double total = TotalOf(rows);
  for (const Json* row : order) {
    Cells cells = SumRow(*row, "instances", total);
    const NameAndShape parts = TakeApart(TextOf(FieldOf(*row, "name")));
    if (shapes) cells.insert(cells.end(), {parts.grid, parts.block});
    cells.push_back(GuardFormula(parts.name));
    text += CsvLine(cells);
  }
  return text;
}

std::string Host(const Json& rows) {
  Cells header = SumHeader("Num Calls");
  header.emplace_back("Name");
  std::string text = CsvLine(header);
  const double total = TotalOf(rows);
  for (const Json& row : rows) {
    Cells cells = SumRow(row, "calls", total);
    cells.push_back(TextCellOf(row, "api"));
    text += CsvLine(cells);
  }
  return text;
}

std::string OperationLabel(const std::string& kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kLabels = {
      {{"memset", "[CUDA memset]"},
       {"host_to_device", "[CUDA memcpy Host-to-Device]"},
       {"device_to_host", "[CUDA memcpy Device-to-Host]"},
       {"host_to_array", "[CUDA memcpy Host-to-Array]"},
       {"array_to_host", "[CUDA memcpy Array-to-Host]"},
       {"array_to_array", "[CUDA memcpy Array-to-Array]"},
       {"array_to_device", "[CUDA memcpy Array-to-Device]"},
       {"device_to_array", "[CUDA memcpy Device-to-Array]"},
       {"device_to_device", "[CUDA memcpy Device-to-Device]"},
       {"host_to_host", "[CUDA memcpy Host-to-Host]"},
       {"peer_to_peer", "[CUDA memcpy Peer-to-Peer]"},
       {"unified_host_to_device", "[CUDA memcpy Unified HtoD]"},
       {"unified_device_to_host", "[CUDA memcpy Unified DtoH]"},
       {"unified_device_to_device", "[CUDA memcpy Unified DtoD]"}}};
  const auto found =
      std::find_if(kLabels.begin(), kLabels.end(), [&](const auto& label) { return label.first == kind; });
  return found == kLabels.end() ? "[CUDA memcpy Unknown]" : std::string(found->second);
}

std::string Memory(const Json& rows) {
  Cells header = SumHeader("Count");
  header.emplace_back("Operation");
  std::string text = CsvLine(header);
  const double total = TotalOf(rows);
  for (const Json& row : rows) {
    Cells cells = SumRow(row, "operations", total);
    cells.push_back(OperationLabel(TextOf(FieldOf(row, "kind"))));
    text += CsvLine(cells);
  }
  return text;
}

// Megabytes of 10^6 bytes, as nsys writes sizes.
std::string Megabytes(const Json& bytes) {
  const auto real = RealOf(bytes);
  return real ? fmt::format("{:.3f}", *real * 1e-6) : "";
}

// nsys's cuda_gpu_mem_size_sum: the operations whose size is known, most bytes first.
std::string MemorySizes(const Json& rows) {
  std::vector<const Json*> order;
  for (const Json& row : rows) {
    if (!FieldOf(row, "bytes").is_null()) order.push_back(&row);
  }
  const auto total = [](const Json* row) { return IntegerOf(FieldOf(*row, "bytes")).value_or(0); };
  std::stable_sort(order.begin(), order.end(), [&](const Json* a, const Json* b) { return total(a) > total(b); });
  std::string text =
      CsvLine({"Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)", "Operation"});
  for (const Json* row : order) {
    const Json& sizes = FieldOf(*row, "size_bytes");
    Cells cells = {Megabytes(FieldOf(*row, "bytes")), PlainText(FieldOf(sizes, "count"))};
    for (const std::string_view figure : {"mean", "median", "min", "max", "stddev"}) {
      cells.push_back(Megabytes(FieldOf(sizes, figure)));
    }
    cells.push_back(OperationLabel(TextOf(FieldOf(*row, "kind"))));
    text += CsvLine(cells);
  }
  return text;
}

// Marks have no duration and are in no sum of nsys.
Json RangesOf(const Json& rows) {
  Json ranges = Json::array();
  for (const Json& row : rows) {
    if (TextOf(FieldOf(row, "style")) != "mark") ranges.push_back(row);
  }
  return ranges;
}

std::string Nvtx(const Json& all) {
  Cells header = SumHeader("Instances");
  header.emplace_back("Style");
  header.emplace_back("Range");
  std::string text = CsvLine(header);
  const Json rows = RangesOf(all);
  const double total = TotalOf(rows);
  for (const Json& row : rows) {
    Cells cells = SumRow(row, "instances", total);
    cells.emplace_back(TextOf(FieldOf(row, "style")) == "start_end" ? "StartEnd" : "PushPop");
    const std::string& domain = TextOf(FieldOf(row, "domain"));
    cells.push_back(
        GuardFormula(fmt::format("{}{}{}", domain, domain.empty() ? "" : ":", TextOf(FieldOf(row, "range")))));
    text += CsvLine(cells);
  }
  return text;
}

void AddSpread(const Json& values, Cells& cells) {
  cells.push_back(Decimal(FieldOf(values, "mean")));
  cells.push_back(Decimal(FieldOf(values, "median")));
  cells.push_back(PlainText(FieldOf(values, "min")));
  cells.push_back(PlainText(FieldOf(values, "max")));
  cells.push_back(Decimal(FieldOf(values, "stddev")));
}

std::string Launches(const Json& rows) {
  std::vector<const Json*> order;
  for (const Json& row : rows) order.push_back(&row);
  const auto average = [](const Json* row) { return RealOf(FieldOf(*row, "total_ns.mean")).value_or(0); };
  std::stable_sort(order.begin(), order.end(), [&](const Json* a, const Json* b) { return average(a) > average(b); });
  Cells header = {"PID", "TID", "DevId", "Count", "QCount"};
  for (const char part : {'T', 'A', 'Q', 'K'}) {
    for (const std::string_view figure : {"Avg", "Med", "Min", "Max", "StdDev"}) {
      header.push_back(fmt::format("{}{} (ns)", part, figure));
    }
  }
  header.emplace_back("API Name");
  header.emplace_back("Kernel Name");
  std::string text = CsvLine(header);
  for (const Json* row : order) {
    Cells cells = {PlainText(FieldOf(*row, "pid")), PlainText(FieldOf(*row, "tid")), PlainText(FieldOf(*row, "device")),
                   PlainText(FieldOf(*row, "count")), PlainText(FieldOf(*row, "queue_count"))};
    for (const std::string_view key : {"total_ns", "api_ns", "queue_ns", "kernel_ns"})
      AddSpread(FieldOf(*row, key), cells);
    cells.push_back(TextCellOf(*row, "api"));
    cells.push_back(TextCellOf(*row, "kernel"));
    text += CsvLine(cells);
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> NsysSizeCsv(std::string_view view, const Json& rows) {
  if (view == "memory") return MemorySizes(rows);
  return absl::InvalidArgumentError(
      fmt::format("--csv-style nsys-size: the sizes of copies are in the view memory, not in '{}'", view));
}

absl::StatusOr<std::string> NsysCsv(std::string_view view, const Json& rows) {
  if (view == "kernels") return Kernels(rows);
  if (view == "memory") return Memory(rows);
  if (view == "host") return Host(rows);
  if (view == "nvtx") return Nvtx(rows);
  if (view == "launches") return Launches(rows);
  return absl::InvalidArgumentError(fmt::format(
      "--csv-style nsys: nsys has no table like the view '{}'; there are kernels, memory, host, nvtx, launches", view));
}

}  // namespace lockstep
