#include "agent/readers/nsys/nccl_payload.h"

#include <limits>

namespace lockstep::nsys {
namespace {

// Header of a payload blob, little endian: domain, unused, schema, unused (4 bytes each), payload size, total size (8).
constexpr size_t kHeaderBytes = 32;
constexpr size_t kSchemaAt = 8;
constexpr size_t kPayloadSizeAt = 16;
constexpr size_t kMaxSchemas = 4096;
constexpr size_t kMaxEntries = 256;

std::optional<uint64_t> LittleEndian(std::string_view bytes, uint64_t at, size_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

// Size of an NVTX payload entry type; 0 = not a whole number.
size_t SizeOfType(int64_t type) {
  switch (type) {
    case 5:   // int
    case 6:   // unsigned
    case 15:  // int32
    case 16:  // uint32
      return 4;
    case 7:   // long
    case 8:   // unsigned long
    case 9:   // long long
    case 10:  // unsigned long long
    case 17:  // int64
    case 18:  // uint64
    case 22:  // size_t
      return 8;
    case 3:   // short
    case 13:  // int16
    case 14:  // uint16
      return 2;
    default:
      return 0;
  }
}

std::optional<int32_t> SmallNumber(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) return std::nullopt;
  return static_cast<int32_t>(value);
}

}  // namespace

std::optional<PayloadSchemas::Role> PayloadSchemas::RoleOf(std::string_view name) {
  if (name == payload_entries::kCommunicator) return Role::kCommunicator;
  if (name == payload_entries::kMessageSize) return Role::kBytes;
  if (name == payload_entries::kRoot) return Role::kRoot;
  if (name == payload_entries::kPeer) return Role::kPeer;
  if (name == payload_entries::kRankCount) return Role::kRankCount;
  if (name == payload_entries::kRank) return Role::kRank;
  return std::nullopt;
}

absl::Status PayloadSchemas::Load(ReadSession& session) {
  return session.Scan(payload_entries::kTable, [&](const Row& row) {
    const std::optional<Role> role = RoleOf(row.Text(payload_entries::kName));
    const std::optional<int64_t> domain = row.Int(payload_entries::kDomain);
    const std::optional<int64_t> schema = row.Int(payload_entries::kSchema);
    const std::optional<int64_t> index = row.Int(payload_entries::kIndex);
    if (!role.has_value() || !domain.has_value() || !schema.has_value() || !index.has_value()) return absl::OkStatus();
    Add({*domain, *schema}, *index,
        {*role, row.IntOr(payload_entries::kType, 0), row.IntOr(payload_entries::kOffset, 0)});
    return absl::OkStatus();
  });
}

void PayloadSchemas::Add(const Key& key, int64_t index, const Entry& entry) {
  if (schemas_.size() >= kMaxSchemas && !schemas_.contains(key)) return;
  Schema& schema = schemas_[key];
  if (schema.entries.size() >= kMaxEntries) return;
  const auto [known, is_new] = schema.entries.emplace(index, entry);
  if (!is_new && known->second != entry) schema.contradictory = true;
}

const PayloadSchemas::Schema* PayloadSchemas::Find(int64_t domain, std::string_view blob) const {
  const std::optional<uint64_t> schema = LittleEndian(blob, kSchemaAt, 4);
  const std::optional<uint64_t> own_domain = LittleEndian(blob, 0, 4);
  if (!schema.has_value() || !own_domain.has_value()) return nullptr;
  auto found = schemas_.find({domain, static_cast<int64_t>(*schema)});
  if (found == schemas_.end())
    found = schemas_.find({static_cast<int64_t>(*own_domain), static_cast<int64_t>(*schema)});
  return found == schemas_.end() || found->second.contradictory ? nullptr : &found->second;
}

void PayloadSchemas::Store(Role role, uint64_t value, NcclFields& fields) {
  switch (role) {
    case Role::kCommunicator:
      fields.comm_hash = value;
      break;
    case Role::kBytes:
      if (value <= static_cast<uint64_t>(kMaxBytes)) fields.bytes = static_cast<int64_t>(value);
      break;
    case Role::kRoot:
      fields.root = SmallNumber(value);
      break;
    case Role::kPeer:
      fields.peer = SmallNumber(value);
      break;
    case Role::kRankCount:
      fields.rank_count = SmallNumber(value);
      break;
    case Role::kRank:
      fields.rank = SmallNumber(value);
      break;
  }
}

std::optional<NcclFields> PayloadSchemas::Decode(int64_t domain, std::string_view blob) const {
  if (blob.size() < kHeaderBytes) return std::nullopt;
  const Schema* schema = Find(domain, blob);
  const std::optional<uint64_t> size = LittleEndian(blob, kPayloadSizeAt, 8);
  if (schema == nullptr || !size.has_value() || *size > blob.size() - kHeaderBytes) return std::nullopt;
  const std::string_view payload = blob.substr(kHeaderBytes, *size);
  NcclFields fields;
  for (const auto& [index, entry] : schema->entries) {
    const size_t width = SizeOfType(entry.type);
    if (width == 0 || entry.offset < 0) continue;
    const std::optional<uint64_t> value = LittleEndian(payload, static_cast<uint64_t>(entry.offset), width);
    if (value.has_value()) Store(entry.role, *value, fields);
  }
  return fields;
}

}  // namespace lockstep::nsys
