#include "agent/readers/nsys/nsys_format.h"

#include <memory>

#include "agent/readers/nsys/nsys_reader.h"

namespace lockstep {
namespace {

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

// Whether it is an export shows only in its tables; no other format here is a database, so the reader's own message
// about a stranger is the best one.
int Sniff(std::string_view head, bool was_gzip) { return !was_gzip && head.starts_with(kSqliteMagic) ? 2 : 0; }

std::unique_ptr<TraceReader> Create() { return std::make_unique<nsys::NsysReader>(); }

}  // namespace

const TraceFormat& NsysFormat() {
  static constexpr TraceFormat kFormat{"nsys", &Sniff, &Create};
  return kFormat;
}

}  // namespace lockstep
