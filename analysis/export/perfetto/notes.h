// What annotations say of an event. Pure values.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "analysis/export/perfetto/timeline.h"
#include "analysis/export/perfetto/timeline_format.h"

namespace lockstep::perfetto {

// How much is said of each collective. What a file has no room for is left out from the end of the list.
enum class Detail : uint8_t { kBrief = 0, kFull = 1 };

// Annotations of one slice.
class Notes {
 public:
  void Number(Key key, int64_t value) { Add(key, Annotation::Type::kNumber, value); }
  void NumberIf(bool known, Key key, int64_t value) {
    if (known) Number(key, value);
  }
  void Flag(Key key, bool value) { Add(key, Annotation::Type::kBool, value ? 1 : 0); }
  void Text(Key key, uint32_t name) { Add(key, Annotation::Type::kName, name); }
  [[nodiscard]] std::span<const Annotation> All() const { return std::span(notes_).first(count_); }

 private:
  void Add(Key key, Annotation::Type type, int64_t value) { notes_[count_++] = {key, type, value}; }

  std::array<Annotation, kKeys> notes_;
  size_t count_ = 0;
};

[[nodiscard]] Notes NotesOf(const SliceEvent& event);
[[nodiscard]] Notes NotesOf(const StepEvent& event);
[[nodiscard]] Notes NotesOf(const CollectiveEvent& event, Detail detail);

}  // namespace lockstep::perfetto
