#include "agent/readers/kineto/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/readers/kineto/collective_args.h"
#include "agent/readers/kineto/decimal.h"
#include "agent/readers/kineto/fields.h"
#include "analysis/base/time.h"

namespace lockstep::kineto {
namespace {

constexpr size_t kMaxDiagnostics = 16;
constexpr size_t kMaxDiagnosticBytes = 300;
constexpr size_t kMaxText = 256;
constexpr size_t kMaxGroups = size_t{1} << 16;
constexpr size_t kMaxDevices = 1024;

std::string TextOf(const JsonToken& token) {
  bool repaired = false;
  std::string text = token.escaped ? Unescape(token.text, repaired) : std::string(token.text);
  if (text.size() > kMaxText) text.resize(kMaxText);
  return text;
}

std::optional<int32_t> Int32Of(const JsonToken& token) { return Narrow(ParseScaled(token.text, 0)); }

void Diagnose(FileContext& context, std::string line) {
  if (context.diagnostics.size() < kMaxDiagnostics) context.diagnostics.push_back(std::move(line));
}

std::string_view VersionName(std::string_view key) {
  for (const Renamed& r : kVersionKeys) {
    if (r.key == key) return r.name;
  }
  return {};
}

bool IsOption(std::string_view key) {
  return std::find(kOptionKeys.begin(), kOptionKeys.end(), key) != kOptionKeys.end();
}

// 12040 -> "12.4" (CUDA), 60443483 -> "6.4.43483" (HIP); other texts as they stand.
std::string VersionText(std::string_view key, const JsonToken& value) {
  const int64_t number = ParseScaled(value.text, 0).value_or(0);
  if (key.starts_with("cuda_") && number >= 1000) return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  if (key.starts_with("hip_") && number >= 10'000'000) {
    return fmt::format("{}.{}.{}", number / 10'000'000, number / 100'000 % 100, number % 100'000);
  }
  return TextOf(value);
}

GroupConfig GroupOf(const JsonToken& entry, std::optional<int32_t> own_rank) {
  GroupConfig group;
  RankList ranks;
  JsonScanner(entry.text).Object([&](const JsonToken& key, const JsonToken& value) {
    if (key.text == info::kGroupName) group.name = TextOf(value);
    if (key.text == info::kGroupDescription) group.desc = TextOf(value);
    if (key.text == info::kGroupSize) group.size = Int32Of(value).value_or(-1);
    if (key.text == info::kGroupRanks) ranks = ParseRankList(value.text);
  });
  if (own_rank.has_value()) {
    const auto own = std::find(ranks.ranks.begin(), ranks.ranks.end(), *own_rank);
    if (own != ranks.ranks.end() && !ranks.elided) group.own_rank = static_cast<int32_t>(own - ranks.ranks.begin());
  }
  if (!ranks.elided) {
    group.members = std::move(ranks.ranks);
    std::sort(group.members.begin(), group.members.end());
    if (group.size < 0 && !group.members.empty()) group.size = static_cast<int32_t>(group.members.size());
  }
  return group;
}

void ApplyDistributedInfo(const JsonToken& value, uint32_t process, FileContext& context) {
  std::optional<int32_t> rank;
  std::optional<int32_t> world_size;
  JsonToken groups;
  const Scan scan = JsonScanner(value.text).Object([&](const JsonToken& key, const JsonToken& member) {
    if (key.text == info::kRank) rank = Int32Of(member);
    if (key.text == info::kWorldSize) world_size = Int32Of(member);
    if (key.text == info::kGroups) groups = member;
    if (key.text == info::kNcclVersion && member.text != info::kUnknown)
      context.versions[std::string(VersionName(key.text))] = TextOf(member);
  });
  if (scan != Scan::kOk) Diagnose(context, fmt::format("{} cannot be read whole", top::kDistributedInfo));
  ProcessInfo& info = context.processes[process];
  std::erase_if(info.claims, [](const RankClaim& c) { return c.source == RankSource::kMetadata; });
  if (rank.has_value() && *rank >= 0) info.claims.push_back({*rank, RankSource::kMetadata});
  if (world_size.has_value() && *world_size > 0) info.world_size = world_size;
  if (groups.kind != JsonToken::Kind::kArray) return;
  info.groups.clear();
  JsonScanner(groups.text).Array([&](const JsonToken& entry) {
    if (info.groups.size() < kMaxGroups) info.groups.push_back(GroupOf(entry, rank));
  });
}

DeviceInfo DeviceOf(const JsonToken& entry) {
  DeviceInfo device;
  JsonScanner(entry.text).Object([&device](const JsonToken& key, const JsonToken& value) {
    if (key.text == info::kDeviceId) device.ordinal = Int32Of(value).value_or(0);
    if (key.text == info::kDeviceName) device.name = TextOf(value);
    if (key.text == info::kDeviceUuid) device.uuid = TextOf(value);
    if (key.text == info::kDeviceMultiprocessors) device.sm_count = Int32Of(value).value_or(-1);
  });
  return device;
}

void ApplyDevices(const JsonToken& value, FileContext& context) {
  context.devices.clear();
  const Scan scan = JsonScanner(value.text).Array([&context](const JsonToken& entry) {
    if (context.devices.size() < kMaxDevices) context.devices.push_back(DeviceOf(entry));
  });
  if (scan != Scan::kOk) Diagnose(context, fmt::format("{} cannot be read whole", top::kDeviceProperties));
}

void ApplyBase(const JsonToken& value, FileContext& context) {
  const std::optional<int64_t> base = ParseScaled(value.text, 0);
  if (!base.has_value() || *base < 0 || *base > kMaxAbsTimeNs) {
    Diagnose(context, fmt::format("{} is '{}', which is no time: times stay relative", top::kBaseTime, TextOf(value)));
    return;
  }
  context.base_unix_ns = *base;
  context.has_base = true;
}

void ApplyLog(const JsonToken& value, FileContext& context) {
  JsonScanner(value.text).Array([&context](const JsonToken& line) {
    Diagnose(context, TextOf(line).substr(0, kMaxDiagnosticBytes));
  });
}

bool IsLog(std::string_view key) { return key == top::kWarning || key == top::kError; }

}  // namespace

bool IsMetadataKey(std::string_view key) {
  return key == top::kSchemaVersion || key == top::kDeviceProperties || key == top::kDistributedInfo ||
         key == top::kBaseTime || key == top::kHostName || IsLog(key) || IsOption(key) || !VersionName(key).empty();
}

bool IsKinetoKey(std::string_view key) {
  return key == top::kSchemaVersion || key == top::kDeviceProperties || key == top::kDistributedInfo ||
         key == top::kBaseTime || key == top::kTraceEvents || IsOption(key);
}

void ApplyMetadata(std::string_view key, const JsonToken& value, uint32_t process, FileContext& context) {
  if (key == top::kSchemaVersion) {
    context.schema_version = TextOf(value);
  } else if (key == top::kDeviceProperties) {
    ApplyDevices(value, context);
  } else if (key == top::kDistributedInfo) {
    ApplyDistributedInfo(value, process, context);
  } else if (key == top::kBaseTime) {
    ApplyBase(value, context);
  } else if (key == top::kHostName) {
    context.host = TextOf(value);
  } else if (IsLog(key)) {
    ApplyLog(value, context);
  } else if (IsOption(key)) {
    context.options[std::string(key)] = TextOf(value);
  } else if (const std::string_view name = VersionName(key); !name.empty()) {
    context.versions[std::string(name)] = VersionText(key, value);
  }
}

}  // namespace lockstep::kineto
