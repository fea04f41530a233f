#include "agent/readers/kineto/collective_args.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "agent/readers/kineto/decimal.h"

namespace lockstep::kineto {
namespace {

constexpr size_t kMaxMembers = size_t{1} << 20;

// Members as start, start + stride, ...; nothing unless that fits the part of the list that the row shows.
std::vector<int32_t> StridedMembers(const Args& args, const RankList& shown, int32_t size) {
  const std::optional<int64_t> start = args.Int(Arg::kGlobalRankStart);
  const std::optional<int64_t> stride = args.Int(Arg::kGlobalRankStride);
  if (!start.has_value() || !stride.has_value() || *start < 0 || size < 1) return {};
  if (*stride < (size == 1 ? 0 : 1) || static_cast<size_t>(size) > kMaxMembers) return {};
  constexpr int64_t kMaxRank = std::numeric_limits<int32_t>::max();
  if (*start > kMaxRank || *stride > kMaxRank || *start + *stride * (size - 1) > kMaxRank) return {};
  std::vector<int32_t> members;
  members.reserve(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) members.push_back(static_cast<int32_t>(*start + *stride * i));
  const auto known = [&members](int32_t rank) { return std::binary_search(members.begin(), members.end(), rank); };
  if (!std::all_of(shown.ranks.begin(), shown.ranks.end(), known)) return {};
  return members;
}

void SetMembers(const Args& args, CollectiveMeta& meta) {
  RankList shown = ParseRankList(args.Token(Arg::kGroupRanks).text);
  if (!shown.ranks.empty() && !shown.elided) {
    std::sort(shown.ranks.begin(), shown.ranks.end());
    meta.members = std::move(shown.ranks);
    return;
  }
  // Without a group name, start and stride belong to no group worth naming ("wait" and "init" rows carry them too).
  if (shown.elided || !meta.group_name.empty()) meta.members = StridedMembers(args, shown, meta.group_size);
  meta.members_elided = shown.elided && meta.members.empty();
}

// The per-rank message: what one rank contributes, or receives where it contributes everything.
int64_t MessageElements(CollectiveOp op, std::optional<int64_t> in, std::optional<int64_t> out) {
  const bool by_output = op == CollectiveOp::kReduceScatter || op == CollectiveOp::kScatter;
  std::optional<int64_t> elements = by_output ? out : in;
  const bool same_on_both_sides = op == CollectiveOp::kRecv || op == CollectiveOp::kBroadcast;
  if (same_on_both_sides && elements.value_or(0) == 0) elements = out;
  return elements.value_or(kUnknownBytes);
}

int64_t MessageBytes(const Args& args, const CollectiveMeta& meta) {
  const int64_t elements = MessageElements(meta.op, args.Int(Arg::kInElements), args.Int(Arg::kOutElements));
  const int64_t size = SizeOf(meta.dtype);
  int64_t bytes = 0;
  if (elements < 0 || size == 0 || __builtin_mul_overflow(elements, size, &bytes)) return kUnknownBytes;
  return bytes;
}

int32_t PeerOf(const Args& args, CollectiveOp op) {
  const auto rank = [&args](Arg arg) { return Narrow(args.Int(arg)).value_or(-1); };
  if (op == CollectiveOp::kSend) return rank(Arg::kTargetRank);
  if (op == CollectiveOp::kRecv) return rank(Arg::kSourceRank);
  return -1;
}

}  // namespace

std::optional<int32_t> Narrow(std::optional<int64_t> value) {
  if (!value.has_value() || *value < std::numeric_limits<int32_t>::min() ||
      *value > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(*value);
}

std::optional<int64_t> Args::Int(Arg arg) const { return Has(arg) ? ParseScaled(Token(arg).text, 0) : std::nullopt; }

std::optional<uint64_t> Args::Unsigned(Arg arg) const {
  return Has(arg) ? ParseUnsigned(Token(arg).text) : std::nullopt;
}

std::string Args::Text(Arg arg) const {
  const JsonToken token = Token(arg);
  bool repaired = false;
  return token.escaped ? Unescape(token.text, repaired) : std::string(token.text);
}

RankList ParseRankList(std::string_view text) {
  RankList list;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end && list.ranks.size() < kMaxMembers) {
    if (*p == '.') list.elided = true;
    int32_t rank = -1;
    const auto [next, error] = std::from_chars(p, end, rank);
    if (error == std::errc() && rank >= 0) list.ranks.push_back(rank);
    p = next == p ? p + 1 : next;
  }
  return list;
}

CollectiveMeta CollectiveMetaOf(const Args& args) {
  CollectiveMeta meta;
  meta.group_name = args.Text(Arg::kGroupName);
  meta.group_desc = args.Text(Arg::kGroupDescription);
  meta.group_size = Narrow(args.Int(Arg::kGroupSize)).value_or(-1);
  meta.op = CollectiveOpFromC10d(args.Token(Arg::kCollective).text);
  meta.dtype = DataTypeFromC10(args.Token(Arg::kDataType).text);
  meta.bytes = MessageBytes(args, meta);
  meta.peer = PeerOf(args, meta.op);
  SetMembers(args, meta);
  return meta;
}

}  // namespace lockstep::kineto
