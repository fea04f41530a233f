// What the rows of one source refer to by number: names and communicators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/base/hash128.h"

namespace lockstep {

struct NameDef {
  uint32_t id = 0;   // dense from 0 in order of first use within the source
  Hash128 hash;      // of the whole name, also when the text below is cut
  std::string text;  // at most 4 KiB; a longer one is cut and carries its hash as suffix
  friend bool operator==(const NameDef&, const NameDef&) = default;
};

// A communicator as one source knows it. Index = position in the stream of definitions.
struct LocalCommunicator {
  uint32_t id = 0;
  bool known = false;  // false: the trace says nothing about membership; one such entry per source
  std::string group_name;
  std::string group_desc;
  std::vector<int32_t> members;  // sorted global ranks; empty = not known
  int32_t size = -1;
  uint64_t comm_hash = 0;
  int32_t own_rank = -1;  // rank of this source inside the communicator
  bool elided_unresolved = false;
  friend bool operator==(const LocalCommunicator&, const LocalCommunicator&) = default;
};

}  // namespace lockstep
