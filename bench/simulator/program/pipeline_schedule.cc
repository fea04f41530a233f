#include "bench/simulator/program/pipeline_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

constexpr int64_t kForwardTicks = 1;
constexpr int64_t kBackwardTicks = 2;

// One pass of one micro-batch through one virtual stage.
struct Pass {
  bool backward = false;
  int32_t micro_batch = 0;
  int32_t virtual_stage = 0;
  friend auto operator<=>(const Pass&, const Pass&) = default;
};

class Scheduler {
 public:
  Scheduler(int32_t stages, int32_t parts, int32_t micro_batches)
      : stages_(stages), parts_(parts), passes_(micro_batches * parts), items_(static_cast<size_t>(stages)) {
    LOCKSTEP_CHECK(stages >= 2 && parts >= 1 && micro_batches % stages == 0);
  }

  std::vector<std::vector<PipelineItem>> Make() {
    Time();
    std::sort(order_.begin(), order_.end());
    for (const auto& [tick, works, stage, pass] : order_) {
      works ? AddWork(pass) : AddTransfer(pass);
    }
    return std::move(items_);
  }

 private:
  [[nodiscard]] int32_t last() const { return stages_ * parts_ - 1; }
  [[nodiscard]] int32_t StageOf(int32_t virtual_stage) const { return virtual_stage % stages_; }

  // The k-th forward or backward pass of a stage.
  [[nodiscard]] Pass PassAt(int32_t stage, bool backward, int32_t k) const {
    const int32_t round = stages_ * parts_;
    const int32_t part = k % round / stages_;
    return {backward, k / round * stages_ + k % stages_, (backward ? parts_ - 1 - part : part) * stages_ + stage};
  }

  [[nodiscard]] std::vector<Pass> PassesOf(int32_t stage) const {
    const int32_t ahead = std::min(passes_, 2 * (stages_ - 1 - stage) + (parts_ - 1) * stages_);
    std::vector<Pass> passes;
    for (int32_t k = 0; k < passes_ + ahead; ++k) {
      if (k < passes_) passes.push_back(PassAt(stage, false, k));
      if (k >= ahead) passes.push_back(PassAt(stage, true, k - ahead));
    }
    return passes;
  }

  // Whose result a pass needs; nullopt = nobody's.
  [[nodiscard]] std::optional<Pass> Before(const Pass& pass) const {
    if (!pass.backward && pass.virtual_stage == 0) return std::nullopt;
    if (!pass.backward) return Pass{false, pass.micro_batch, pass.virtual_stage - 1};
    if (pass.virtual_stage == last()) return Pass{false, pass.micro_batch, pass.virtual_stage};
    return Pass{true, pass.micro_batch, pass.virtual_stage + 1};
  }

  // Runs all stages in ticks, each pass as soon as it can.
  void Time() {
    std::vector<std::vector<Pass>> todo;
    for (int32_t stage = 0; stage < stages_; ++stage) todo.push_back(PassesOf(stage));
    std::vector<size_t> next(todo.size());
    std::vector<int64_t> free(todo.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < todo.size(); ++stage) {
        while (next[stage] < todo[stage].size() && Run(todo[stage][next[stage]], free[stage])) {
          ++next[stage];
          moved = true;
        }
      }
    }
    for (size_t stage = 0; stage < todo.size(); ++stage) LOCKSTEP_CHECK(next[stage] == todo[stage].size());
  }

  // False: what the pass needs has not been run.
  bool Run(const Pass& pass, int64_t& free) {
    int64_t start = free;
    if (const auto before = Before(pass)) {
      const auto done = end_.find(*before);
      if (done == end_.end()) return false;
      start = std::max(start, done->second);
    }
    free = start + (pass.backward ? kBackwardTicks : kForwardTicks);
    end_[pass] = free;
    order_.emplace_back(start, true, StageOf(pass.virtual_stage), pass);
    if (NextOf(pass)) order_.emplace_back(free, false, StageOf(pass.virtual_stage), pass);
    return true;
  }

  // The virtual stage that the result goes to; nullopt = it stays.
  [[nodiscard]] std::optional<int32_t> NextOf(const Pass& pass) const {
    const int32_t next = pass.virtual_stage + (pass.backward ? -1 : 1);
    return next < 0 || next > last() ? std::nullopt : std::optional(next);
  }

  void AddWork(const Pass& pass) {
    items_[static_cast<size_t>(StageOf(pass.virtual_stage))].push_back(
        {.work = pass.backward ? PipelineWork::kBackward : PipelineWork::kForward,
         .micro_batch = pass.micro_batch,
         .part = pass.virtual_stage / stages_});
  }

  void AddTransfer(const Pass& pass) {
    const int32_t to = *NextOf(pass);
    const int32_t sender = StageOf(pass.virtual_stage);
    const int32_t receiver = StageOf(to);
    PipelineItem item{.work = PipelineWork::kSend,
                      .micro_batch = pass.micro_batch,
                      .part = pass.virtual_stage / stages_,
                      .peer = receiver,
                      .gradients = pass.backward};
    items_[static_cast<size_t>(sender)].push_back(item);
    item.work = PipelineWork::kReceive;
    item.part = to / stages_;
    item.peer = sender;
    items_[static_cast<size_t>(receiver)].push_back(item);
  }

  int32_t stages_;
  int32_t parts_;
  int32_t passes_;  // of a stage in each direction
  std::map<Pass, int64_t> end_;
  // Tick, whether it is work rather than the transfer of its result (which comes first), stage.
  std::vector<std::tuple<int64_t, bool, int32_t, Pass>> order_;
  std::vector<std::vector<PipelineItem>> items_;
};

}  // namespace

std::vector<std::vector<PipelineItem>> InterleavedSchedule(int32_t stages, int32_t parts, int32_t micro_batches) {
  return Scheduler(stages, parts, micro_batches).Make();
}

}  // namespace lockstep
