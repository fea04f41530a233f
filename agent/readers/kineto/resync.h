// Where a broken traceEvents array becomes readable again: the next "}, {"key":" or the array's end. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::kineto {

struct ResyncPoint {
  enum class Kind : uint8_t {
    kNone,      // nothing in these bytes; no match can begin in them either
    kMore,      // a match may begin at `offset`, but the bytes end inside it
    kEvent,     // at `offset` stands the '{' of an event
    kArrayEnd,  // at `offset` stands the ']' of the array
    kKey,       // (FindNextKey) at `offset` stands the quote of a key
  };
  Kind kind = Kind::kNone;
  size_t offset = 0;
};

// `final`: no bytes follow these.
[[nodiscard]] ResyncPoint FindNextEvent(std::string_view bytes, bool final);
// The next `, "key":`, for the level around the events.
[[nodiscard]] ResyncPoint FindNextKey(std::string_view bytes, bool final);

}  // namespace lockstep::kineto
