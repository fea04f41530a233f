// What NCCL itself says about a call, from the payload of its NVTX range: binary (described by schema tables of the
// file) or JSON. Fields are found by their names, never by schema number: the numbers moved between NCCL versions.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/readers/nsys/read_session.h"
#include "analysis/model/collective.h"

namespace simdjson::dom {
class parser;
}

namespace lockstep::nsys {

struct NcclFields {
  uint64_t comm_hash = 0;  // 0 = not given
  std::optional<int64_t> bytes;
  std::optional<int32_t> root;
  std::optional<int32_t> peer;
  std::optional<int32_t> rank_count;
  std::optional<int32_t> rank;
  std::optional<int64_t> seq;
  std::optional<uint64_t> operation;  // the same on all ranks of one operation
  DataType dtype = DataType::kUnknown;
};

// The payload layouts that a file describes.
class PayloadSchemas {
 public:
  absl::Status Load(ReadSession& session);
  // Nothing when the blob is no payload of a known layout. `domain` is the range's.
  [[nodiscard]] std::optional<NcclFields> Decode(int64_t domain, std::string_view blob) const;
  [[nodiscard]] bool empty() const { return schemas_.empty(); }

 private:
  enum class Role : uint8_t { kCommunicator, kBytes, kRoot, kPeer, kRankCount, kRank };
  struct Entry {
    Role role;
    int64_t type;
    int64_t offset;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Schema {
    std::map<int64_t, Entry> entries;  // by index
    bool contradictory = false;        // two processes describe it differently
  };
  using Key = std::pair<int64_t, int64_t>;  // domain, schema
  [[nodiscard]] static std::optional<Role> RoleOf(std::string_view name);
  void Add(const Key& key, int64_t index, const Entry& entry);
  [[nodiscard]] const Schema* Find(int64_t domain, std::string_view blob) const;
  static void Store(Role role, uint64_t value, NcclFields& fields);

  std::map<Key, Schema> schemas_;
};

// The JSON payload of advanced NCCL tracing.
class NcclJson {
 public:
  NcclJson();
  ~NcclJson();
  NcclJson(const NcclJson&) = delete;
  NcclJson& operator=(const NcclJson&) = delete;
  // Nothing when the text is no JSON object.
  [[nodiscard]] std::optional<NcclFields> Parse(std::string_view text);

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
};

// "ncclFloat16", "float16", "half" or NCCL's own number.
[[nodiscard]] DataType DataTypeFromNccl(std::string_view name);
[[nodiscard]] DataType DataTypeFromNccl(int64_t number);

}  // namespace lockstep::nsys
