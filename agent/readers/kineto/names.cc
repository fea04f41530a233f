#include "agent/readers/kineto/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <system_error>

#include "analysis/base/ascii.h"

namespace lockstep::kineto {
namespace {

// Finds an argument by its key with a comparison or two: most keys of a trace are not wanted, and there are many.
class ArgIndex {
 public:
  constexpr ArgIndex() {
    for (size_t i = 0; i < kArgNames.size(); ++i) {
      size_t slot = SlotOf(kArgNames[i].text);
      while (slots_[slot] != kEmpty) slot = (slot + 1) % kSlots;
      slots_[slot] = static_cast<uint8_t>(i);
    }
  }

  [[nodiscard]] constexpr std::optional<Arg> Find(std::string_view key) const {
    if (key.empty()) return std::nullopt;
    for (size_t slot = SlotOf(key); slots_[slot] != kEmpty; slot = (slot + 1) % kSlots) {
      const ArgName& name = kArgNames[slots_[slot]];
      if (name.text == key) return name.arg;
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kSlots = 128;
  static constexpr uint8_t kEmpty = 255;
  static_assert(kArgNames.size() < kSlots / 2);

  static constexpr size_t SlotOf(std::string_view key) {
    const auto byte = [](char c) { return static_cast<size_t>(static_cast<unsigned char>(c)); };
    return (byte(key.front()) * 7 + byte(key.back()) * 31 + key.size() * 5) % kSlots;
  }

  std::array<uint8_t, kSlots> slots_ = [] {
    std::array<uint8_t, kSlots> empty{};
    empty.fill(kEmpty);
    return empty;
  }();
};
constexpr ArgIndex kArgIndex;

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The name of a call without its library's prefix; empty for other names.
std::string_view CallOf(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "cu", "hip"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return {};
}

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [text](std::string_view p) { return text.starts_with(p); });
}

struct CopyText {
  std::string_view text;
  CopyKind kind;
};
constexpr std::array kCopyTexts = {
    CopyText{"HtoD", CopyKind::kHostToDevice},  CopyText{"DtoH", CopyKind::kDeviceToHost},
    CopyText{"HtoA", CopyKind::kHostToArray},   CopyText{"AtoH", CopyKind::kArrayToHost},
    CopyText{"AtoA", CopyKind::kArrayToArray},  CopyText{"AtoD", CopyKind::kArrayToDevice},
    CopyText{"DtoA", CopyKind::kDeviceToArray}, CopyText{"DtoD", CopyKind::kDeviceToDevice},
    CopyText{"HtoH", CopyKind::kHostToHost},    CopyText{"PtoP", CopyKind::kPeerToPeer},
};

struct MemoryText {
  std::string_view text;
  MemoryKind kind;
};
constexpr std::array kMemoryTexts = {
    MemoryText{"Pageable", MemoryKind::kPageable},    MemoryText{"Pinned", MemoryKind::kPinned},
    MemoryText{"Device", MemoryKind::kDevice},        MemoryText{"Array", MemoryKind::kArray},
    MemoryText{"Managed", MemoryKind::kManaged},      MemoryText{"Managed Static", MemoryKind::kManaged},
    MemoryText{"Device Static", MemoryKind::kDevice},
};

MemoryKind MemoryKindOf(std::string_view text) {
  for (const MemoryText& m : kMemoryTexts) {
    if (m.text == text) return m.kind;
  }
  return MemoryKind::kUnknown;
}

// The text between the first '(' and the last ')'.
std::string_view Parenthesised(std::string_view name) {
  const size_t open = name.find('(');
  const size_t close = name.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return name.substr(open + 1, close - open - 1);
}

}  // namespace

Category CategoryOf(std::string_view text) {
  for (const CategoryName& c : kCategories) {
    if (EqualIgnoringCase(c.text, text)) return c.category;
  }
  return Category::kUnknown;
}

std::optional<Arg> ArgOf(std::string_view key) { return kArgIndex.Find(key); }

ApiKind ApiKindOf(std::string_view name) {
  const std::string_view call = CallOf(name);
  if (call.empty()) return ApiKind::kOther;
  if (call.starts_with("GraphLaunch")) return ApiKind::kGraphLaunch;
  if (call.starts_with("LaunchHostFunc")) return ApiKind::kOther;
  if (StartsWithAny(call, {"Launch", "ModuleLaunch", "ExtLaunch", "ExtModuleLaunch", "HccModuleLaunch"})) {
    return ApiKind::kLaunch;
  }
  if (call.starts_with("Memcpy")) return ApiKind::kCopy;
  if (call.starts_with("Memset")) return ApiKind::kMemset;
  if (Contains(call, "Synchronize")) return ApiKind::kSync;
  if (StartsWithAny(call, {"Malloc", "Free", "HostAlloc", "HostMalloc", "HostFree", "HostRegister", "HostUnregister",
                           "ExtMalloc", "MemAlloc", "MemFree", "MemCreate", "MemRelease", "MemMap", "MemUnmap"})) {
    return ApiKind::kAlloc;
  }
  return ApiKind::kOther;
}

SyncKind SyncKindOf(std::string_view name) {
  if (name == "Event Sync") return SyncKind::kEventSync;
  if (name == "Stream Wait Event") return SyncKind::kStreamWaitEvent;
  if (name == "Stream Sync") return SyncKind::kStreamSync;
  if (name == "Context Sync") return SyncKind::kContextSync;
  return SyncKind::kUnknown;
}

CopyName CopyNameOf(std::string_view name) {
  constexpr std::string_view kArrow = " -> ";
  CopyName copy;
  for (const CopyText& c : kCopyTexts) {
    if (Contains(name.substr(0, name.find('(')), c.text)) copy.kind = c.kind;
  }
  const std::string_view memories = Parenthesised(name);
  const size_t arrow = memories.find(kArrow);
  if (arrow != std::string_view::npos) {
    copy.source = MemoryKindOf(memories.substr(0, arrow));
    copy.target = MemoryKindOf(memories.substr(arrow + kArrow.size()));
  }
  return copy;
}

MemoryKind MemsetTargetOf(std::string_view name) { return MemoryKindOf(Parenthesised(name)); }

std::optional<int64_t> StepNumberOf(std::string_view name) {
  if (!name.starts_with(name::kStepPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(name::kStepPrefix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace lockstep::kineto
