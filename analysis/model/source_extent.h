// What an agent knows to have given, so that a store can be asked whether it (still) has it. Pure.
#pragma once

#include <cstdint>

#include "analysis/base/hash128.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// A source by its id, or a file note by FileNoteId.
struct SourceExtent {
  Hash128 id;
  int64_t batches = 0;  // of a source; 0 = all there ever is. Of a note anything.
  friend bool operator==(const SourceExtent&, const SourceExtent&) = default;
};

// What the batches of a source are, by the hashes of their bodies in order of sequence.
class ContentHash {
 public:
  void Add(const Hash128& body) { hash_.Add(body.Bytes()); }
  [[nodiscard]] Hash128 Finish() const { return hash_.Finish(); }

 private:
  HashBuilder hash_;
};

// By the content alone. Of a note as it came over the wire: texts are repaired on the way.
[[nodiscard]] inline Hash128 FileNoteId(const FileNote& note) {
  HashBuilder hash;
  hash.Add("note").Add(note.path).Add(note.host).Add(note.format).Add(note.status).Add(note.reason).Add(note.offset);
  for (const int64_t count : note.drops.count) {
    hash.Add(count);
  }
  return hash.Finish();
}

}  // namespace lockstep
