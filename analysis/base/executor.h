// Work in parallel, without threads: who calls says how many pieces there are, who implements it may have threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lockstep {

// Runs fn(0..n-1), perhaps in parallel. Results must be put into slots by index and reduced in order by the caller, so
// that the thread count changes no bit.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void ParallelFor(size_t n, const std::function<void(size_t)>& fn) = 0;
};

}  // namespace lockstep
