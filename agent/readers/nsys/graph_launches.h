// Counts the graph launches whose inside the file does not show, in bounded memory.
//
// Feed all launches first, Seal, then every device row of kernels and copies; a launch that no such row names is
// opaque.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lockstep::nsys {

class GraphLaunches {
 public:
  // A launch call. A driver call inside a runtime call of the same thread is that call's own doing and is not counted.
  void AddRuntime(uint32_t process, int64_t tid, uint64_t correlation, int64_t start_ns, int64_t end_ns);
  void AddDriver(uint32_t process, int64_t tid, uint64_t correlation, int64_t start_ns, int64_t end_ns);
  void Seal();
  void SawNode(uint32_t process, uint64_t correlation);

  [[nodiscard]] int64_t Opaque() const;
  // Launches beyond the limit of one million, which are not judged.
  [[nodiscard]] int64_t Unjudged() const { return unjudged_; }

 private:
  struct LastCall {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  void Add(uint32_t process, uint64_t correlation);

  std::vector<uint64_t> launches_;  // process and the 32 bits of a CUPTI correlation id; sorted once sealed
  std::vector<bool> seen_;
  std::unordered_map<uint64_t, LastCall> last_runtime_;  // by process and thread
  int64_t unjudged_ = 0;
};

}  // namespace lockstep::nsys
