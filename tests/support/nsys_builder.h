// Builds small nsys SQLite exports of a chosen schema, for tests: tables are created lazily with the documented columns
// of that schema, and every NOT NULL column that a row leaves out becomes 0 or ''.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "platform/sqlite.h"

namespace lockstep {

// Export schema as 100 * major + minor.
enum class NsysSchema : int { k2_7 = 207, k3_0 = 300, k3_7 = 307, k3_13 = 313, k3_25 = 325, k3_28 = 328 };
inline constexpr NsysSchema kAllNsysSchemas[] = {NsysSchema::k2_7,  NsysSchema::k3_0,  NsysSchema::k3_7,
                                                 NsysSchema::k3_13, NsysSchema::k3_25, NsysSchema::k3_28};

struct NsysBlob {
  std::string bytes;
};
struct NsysNull {};
using NsysValue = std::variant<int64_t, double, std::string, NsysBlob, NsysNull>;
using NsysCells = std::vector<std::pair<std::string, NsysValue>>;

// Where something ran.
struct NsysPlace {
  int64_t pid = 100;
  int64_t tid = 100;
  int64_t device = 0;
  int64_t stream = 7;
  int64_t correlation = 0;  // 0 = NULL
};

// (1 << 56 | vm 1 << 48 | pid << 24 | tid), as nsys serialises it.
[[nodiscard]] int64_t NsysGlobalId(int64_t pid, int64_t tid = 0);

// A payload blob: header and little-endian 8-byte or 4-byte fields.
[[nodiscard]] std::string NsysPayload(uint32_t domain, uint32_t schema, std::string_view payload);
[[nodiscard]] std::string LittleEndianBytes(uint64_t value, size_t size);

class NsysBuilder {
 public:
  // Creates the file (an existing one is removed). Every failure of SQLite ends the test program.
  NsysBuilder(std::string path, NsysSchema schema, int page_bytes = 4096);
  ~NsysBuilder();
  NsysBuilder(NsysBuilder&&) noexcept = default;

  // The tables that every export has: StringIds, metadata, session start, analysis details.
  NsysBuilder& Session(int64_t utc_epoch_ns, int64_t duration_ns);

  NsysBuilder& Exported(std::string_view key, std::string_view value);
  NsysBuilder& Captured(std::string_view key, std::string_view value);
  NsysBuilder& System(std::string_view name, std::string_view value);
  int64_t String(std::string_view text);  // its StringIds id

  NsysBuilder& Kernel(std::string_view name, int64_t start, int64_t end, const NsysPlace& place, NsysCells more = {});
  NsysBuilder& Memcpy(int64_t kind, int64_t bytes, int64_t start, int64_t end, const NsysPlace& place,
                      NsysCells more = {});
  NsysBuilder& Memset(int64_t bytes, int64_t start, int64_t end, const NsysPlace& place);
  NsysBuilder& Api(std::string_view name, int64_t start, int64_t end, const NsysPlace& place, int64_t event_class = 0);
  // Type 59 push/pop, 60 start/end, 34 mark, 75 domain. `text` is stored inline.
  NsysBuilder& Nvtx(int64_t type, std::string_view text, int64_t start, NsysValue end, const NsysPlace& place,
                    NsysCells more = {});

  // Any row; unknown columns are an error, so that a test cannot ask a schema for what it lacks.
  NsysBuilder& Add(std::string_view table, const NsysCells& cells);
  NsysBuilder& Table(std::string_view table);  // creates it empty
  NsysBuilder& Sql(std::string_view sql);
  [[nodiscard]] bool HasColumn(std::string_view table, std::string_view column) const;

  void Finish();  // closes the file
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct ColumnDef {
    std::string name;
    std::string type;
    bool not_null = false;
    bool primary_key = false;
  };
  [[nodiscard]] std::vector<ColumnDef> ColumnsOf(std::string_view table) const;
  const std::vector<ColumnDef>& Create(std::string_view table);

  std::string path_;
  int schema_;
  std::vector<Database> db_;  // empty once finished
  std::map<std::string, std::vector<ColumnDef>, std::less<>> tables_;
  std::map<std::string, int64_t, std::less<>> strings_;
};

// The whole content of a file.
[[nodiscard]] std::string ReadFileBytes(const std::string& path);

}  // namespace lockstep
