#include "agent/readers/nsys/api_name.h"

#include <algorithm>
#include <array>

namespace lockstep::nsys {
namespace {

bool IsDigits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view WithoutVersion(std::string_view name) {
  for (const size_t digits : {size_t{4}, size_t{5}}) {
    if (name.size() <= digits + 2) continue;
    const size_t cut = name.size() - digits - 2;
    if (name.substr(cut, 2) == "_v" && IsDigits(name.substr(cut + 2))) return name.substr(0, cut);
  }
  return name;
}

// The stem without "cuda" or "cu"; empty for anything else.
std::string_view StemOf(std::string_view name) {
  if (name.starts_with("cuda")) return name.substr(4);
  if (name.starts_with("cu")) return name.substr(2);
  return {};
}

struct Rule {
  std::string_view prefix;
  ApiKind kind;
};
// First match wins.
constexpr std::array<Rule, 18> kRules = {{
    {"GraphLaunch", ApiKind::kGraphLaunch},
    {"LaunchHostFunc", ApiKind::kOther},
    {"Launch", ApiKind::kLaunch},
    {"Memcpy", ApiKind::kCopy},
    {"Memset", ApiKind::kMemset},
    {"Malloc", ApiKind::kAlloc},
    {"Free", ApiKind::kAlloc},
    {"HostAlloc", ApiKind::kAlloc},
    {"HostRegister", ApiKind::kAlloc},
    {"HostUnregister", ApiKind::kAlloc},
    {"MemAlloc", ApiKind::kAlloc},
    {"MemFree", ApiKind::kAlloc},
    {"MemHostAlloc", ApiKind::kAlloc},
    {"MemHostRegister", ApiKind::kAlloc},
    {"MemHostUnregister", ApiKind::kAlloc},
    {"MemCreate", ApiKind::kAlloc},
    {"MemRelease", ApiKind::kAlloc},
    {"MemMap", ApiKind::kAlloc},
}};

}  // namespace

std::string_view DisplayName(std::string_view name) {
  std::string_view display = WithoutVersion(name);
  if (display.ends_with("_ptsz") || display.ends_with("_ptds")) display.remove_suffix(5);
  return display;
}

std::string_view NsysName(std::string_view name) {
  constexpr size_t kSuffix = 6;
  const bool versioned = name.size() > kSuffix && name.substr(name.size() - kSuffix).starts_with("_v");
  return versioned ? name.substr(0, name.size() - kSuffix) : name;
}

ApiKind KindOfApi(std::string_view name) {
  const std::string_view stem = StemOf(name);
  if (stem.ends_with("Synchronize")) return ApiKind::kSync;
  for (const Rule& rule : kRules) {
    if (stem.starts_with(rule.prefix)) return rule.kind;
  }
  return ApiKind::kOther;
}

bool IsDriverName(std::string_view name) { return name.starts_with("cu") && !name.starts_with("cuda"); }

}  // namespace lockstep::nsys
