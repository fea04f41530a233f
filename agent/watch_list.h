// Which files of a watched folder are finished: size and time of change have not moved for a while, and no writer's
// journal lies beside them. Pure: what is seen and when are given. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

struct SeenFile {
  std::string path;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;
};

class WatchList {
 public:
  explicit WatchList(int64_t quiet_ns = 2'000'000'000) : quiet_ns_(quiet_ns) {}

  // All files that are there now. Returns those that have just become finished, in the order given; each path once for
  // ever (a file that changes later is not read again).
  std::vector<std::string> Observe(const std::vector<SeenFile>& files, int64_t now_ns);

 private:
  struct Entry {
    int64_t size_bytes = 0;
    int64_t modified_ns = 0;
    int64_t quiet_since_ns = 0;
    bool finished = false;
  };
  int64_t quiet_ns_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lockstep
