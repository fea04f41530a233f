#include "agent/readers/nsys/environment.h"

#include <array>

#include "agent/readers/nsys/exact_number.h"

namespace lockstep::nsys {
namespace {

struct RankKeys {
  std::string_view rank;
  std::string_view size;
};
// In order of trust.
constexpr std::array<RankKeys, 3> kRankKeys = {{
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
}};

bool IsNeeded(std::string_view key) {
  if (key == kVisibleDevices) return true;
  for (const RankKeys& keys : kRankKeys) {
    if (key == keys.rank || key == keys.size) return true;
  }
  return false;
}

std::string_view Unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

std::optional<int32_t> NumberOf(const ReadFacts& facts, std::string_view key) {
  const auto found = facts.environment.find(std::string(key));
  return found == facts.environment.end() ? std::nullopt : ParseInt32(found->second);
}

std::optional<int32_t> WorldSizeFor(const ReadFacts& facts, const RankKeys& own, int32_t rank) {
  if (const auto size = NumberOf(facts, own.size); size.has_value() && *size > rank) return size;
  for (const RankKeys& keys : kRankKeys) {
    if (const auto size = NumberOf(facts, keys.size); size.has_value() && *size > rank) return size;
  }
  return std::nullopt;
}

}  // namespace

void NoteEnvironmentEntry(std::string_view entry, ReadFacts& facts) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos || !IsNeeded(entry.substr(0, equals))) return;
  const std::string_view value = Unquoted(entry.substr(equals + 1));
  const auto [known, is_new] = facts.environment.emplace(entry.substr(0, equals), value);
  if (!is_new && known->second != value) facts.environment_conflicts = true;
}

void NoteEnvironmentList(std::string_view list, ReadFacts& facts) {
  while (!list.empty()) {
    const size_t end = list.find(';');
    NoteEnvironmentEntry(list.substr(0, end), facts);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
}

std::optional<EnvironmentRank> RankFromEnvironment(const ReadFacts& facts) {
  if (facts.environment_conflicts) return std::nullopt;
  for (const RankKeys& keys : kRankKeys) {
    const std::optional<int32_t> rank = NumberOf(facts, keys.rank);
    if (rank.has_value() && *rank >= 0) return EnvironmentRank{*rank, WorldSizeFor(facts, keys, *rank)};
  }
  return std::nullopt;
}

bool HasNaturalDeviceOrder(const ReadFacts& facts) {
  if (facts.environment_conflicts) return false;
  const auto found = facts.environment.find(std::string(kVisibleDevices));
  if (found == facts.environment.end()) return true;
  std::string_view list = found->second;
  for (int32_t expected = 0; !list.empty(); ++expected) {
    const size_t end = list.find(',');
    if (ParseInt32(list.substr(0, end)) != expected) return false;
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return true;
}

}  // namespace lockstep::nsys
