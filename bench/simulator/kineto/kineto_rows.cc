#include "bench/simulator/kineto/kineto_rows.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

namespace lockstep {
namespace {

std::string Microseconds(int64_t ns) {
  const int64_t size = ns < 0 ? -ns : ns;
  return fmt::format(FMT_COMPILE("{}{}.{:03}"), ns < 0 ? "-" : "", size / 1000, size % 1000);
}

}  // namespace

int64_t KinetoBaseNs(int64_t unix_ns) {
  const int64_t interval = kKinetoIntervalS * 1'000'000'000;
  return unix_ns / interval * interval;
}

std::string KinetoRows::Time(int64_t unix_ns) const {
  if (style_.whole_us) return fmt::format(FMT_COMPILE("{}"), unix_ns / 1000);
  return Microseconds(unix_ns - base_ns_);
}

std::string KinetoRows::Length(int64_t start_ns, int64_t end_ns) const {
  if (style_.whole_us) return fmt::format(FMT_COMPILE("{}"), end_ns / 1000 - start_ns / 1000);
  return Microseconds(end_ns - start_ns);
}

std::string KinetoRows::Place(const RowPlace& place) const {
  if (!style_.text_tids) return fmt::format(FMT_COMPILE(R"("pid": {}, "tid": {})"), place.pid, place.tid);
  return fmt::format(R"("pid": {}, "tid": "{}{}")", place.pid, place.device ? "stream " : "", place.tid);
}

void KinetoRows::Complete(std::string_view category, std::string_view name, const RowPlace& place, int64_t start_ns,
                          int64_t end_ns, std::string_view args) {
  fmt::memory_buffer row;
  fmt::format_to(
      std::back_inserter(row),
      FMT_COMPILE("  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", {},\n    \"ts\": {}, \"dur\": {},\n"
                  "    \"args\": {{\n      {}\n    }}\n  }},\n"),
      category, name, Place(place), Time(start_ns), Length(start_ns, end_ns), args);
  file_.Append({row.data(), row.size()});
}

void KinetoRows::Flow(bool start, uint64_t id, const RowPlace& place, int64_t at_ns) {
  fmt::memory_buffer row;
  fmt::format_to(
      std::back_inserter(row),
      FMT_COMPILE("  {{\n    \"ph\": \"{}\", \"id\": {}, {}, \"ts\": {},\n    \"cat\": \"{}\", \"name\": \"{}\"{}\n"
                  "  }},\n"),
      start ? "s" : "f", id, Place(place), Time(at_ns), style_.flow, style_.flow, start ? "" : ", \"bp\": \"e\"");
  file_.Append({row.data(), row.size()});
}

void KinetoRows::Metadata(std::string_view name, std::string_view pid, int64_t tid, int64_t at_ns,
                          std::string_view args) {
  file_.Append(
      fmt::format("  {{\n    \"name\": \"{}\", \"ph\": \"M\", \"ts\": {}, \"pid\": {}, \"tid\": {},\n"
                  "    \"args\": {{\n      {}\n    }}\n  }},\n",
                  name, Time(at_ns), pid, tid, args));
}

}  // namespace lockstep
