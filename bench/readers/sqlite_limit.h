// What a plain reader of an nsys export must do: the SELECTs of the columns used, over all tables read, stepped through
// with every column fetched. Tables and columns are those of lockstep's own reader, overheard while it reads, so that
// the limit reads neither more nor less. The reader itself does not step: see Database::VisitRows.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// Every SELECT that any connection of this process has prepared and run since. One at a time; not thread safe.
class OverheardSelects {
 public:
  OverheardSelects();
  ~OverheardSelects();
  OverheardSelects(const OverheardSelects&) = delete;
  OverheardSelects& operator=(const OverheardSelects&) = delete;
  [[nodiscard]] std::vector<std::string> statements() const;
};

struct SqliteScan {
  int64_t rows = 0;
  uint64_t checksum = 0;  // so that nothing is optimised away
};
absl::StatusOr<SqliteScan> RunSelects(const std::string& path, const std::vector<std::string>& statements);

}  // namespace lockstep
