// The order of work in a pipeline whose stages have several parts of the model each: part c of stage s holds the layers
// of virtual stage c * stages + s, so that what leaves the last stage goes to the first one's next part. Pure.
//
// Interleaved one forward, one backward (Narayanan et al., SC 2021): micro-batches go through the parts in groups as
// large as the pipeline, after enough forwards that the last stage never runs dry.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

enum class PipelineWork : uint8_t { kForward, kBackward, kSend, kReceive };

struct PipelineItem {
  PipelineWork work = PipelineWork::kForward;
  int32_t micro_batch = 0;
  int32_t part = 0;        // of this stage; of a transfer: whose result it carries, or for whom it comes
  int32_t peer = -1;       // stage on the other side of a transfer
  bool gradients = false;  // a transfer of gradients, not of activations
  friend bool operator==(const PipelineItem&, const PipelineItem&) = default;
};

// By stage. Both sides of every transfer stand in one order over all stages, so that no order of waiting is circular.
// `stages` >= 2, `micro_batches` a multiple of it.
[[nodiscard]] std::vector<std::vector<PipelineItem>> InterleavedSchedule(int32_t stages, int32_t parts,
                                                                         int32_t micro_batches);

}  // namespace lockstep
