#include "bench/simulator/program/step_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analysis/base/check.h"
#include "bench/simulator/program/step_builder.h"

namespace lockstep {
namespace {

constexpr int64_t kShortestKernelNs = 2'000;
constexpr double kPageableBytesPerNs = 6;
constexpr double kOnDeviceBytesPerNs = 1'300;
constexpr int64_t kCopyLatencyNs = 2'000;
constexpr int64_t kLargeMessage = 1'000'000;

// Random numbers of what a cause adds: none that an op of the program has.
uint32_t AddedDraw(const Cause& cause, uint32_t number) {
  constexpr uint32_t kAdded = 1U << 31;
  return kAdded | (static_cast<uint32_t>(cause.kind) << 24) | ((cause.ordinal & 0xf) << 20) | (number & 0xfffff);
}

// A step in the making: each op of the old one in order, with others in between.
class Remade {
 public:
  explicit Remade(const StepOps& old) : old_(old), first_(old.ops.size()), last_(old.ops.size()) {}

  // `at`: position of the op in the old step that this one, or a part of it, is.
  void Keep(Op op, uint32_t at) {
    const auto place = static_cast<uint32_t>(made_.ops.size());
    if (next_ == at) {
      first_[next_++] = place;
      op.draw = DrawNumber(op, at);
    }
    last_[at] = place;
    if (op.in_graph || op.kind == OpKind::kCollective) op.first_of_call = first_[op.first_of_call];
    made_.ops.push_back(op);
  }
  void Add(const Op& op) { made_.ops.push_back(op); }

  StepOps Take() {
    LOCKSTEP_CHECK(next_ == old_.ops.size());
    for (const OpRange& range : old_.ranges) {
      made_.ranges.push_back({range.name, first_[range.first_op], last_[range.last_op]});
    }
    return std::move(made_);
  }

 private:
  const StepOps& old_;
  std::vector<uint32_t> first_;  // by old position
  std::vector<uint32_t> last_;
  uint32_t next_ = 0;
  StepOps made_;
};

// Ops come in after this one.
bool IsGap(const std::vector<Op>& ops, size_t at) {
  if (!ops[at].in_graph) return ops[at].ends_layer;
  return at + 1 == ops.size() || !ops[at + 1].in_graph;
}

// How many of `count` come before gap `gap`, spread evenly over all of them.
int64_t ShareBefore(int64_t count, int64_t gap, int64_t gaps) { return count * gap / gaps; }

// What a cause adds to a step, gap by gap.
class Addition {
 public:
  Addition(const StepOps& step, const Cause& cause) : cause_(cause) {
    for (size_t i = 0; i < step.ops.size(); ++i) {
      gaps_ += IsGap(step.ops, i) ? 1 : 0;
      if (step.ops[i].kind == OpKind::kKernel) kernel_ns_ += step.ops[i].device_ns;
    }
  }

  void AddAt(int64_t gap, Remade& step) {
    switch (cause_.kind) {
      case InjectedKind::kSync:
        if ((gap + 1) % cause_.every == 0) Put({.kind = OpKind::kStreamSync}, step);
        return;
      case InjectedKind::kBigCopies:
        return Put(DeviceCopy(), step);
      default:
        break;
    }
    const int64_t end = ShareBefore(cause_.count, gap + 1, gaps_);
    for (int64_t i = ShareBefore(cause_.count, gap, gaps_); i < end; ++i) {
      cause_.kind == InjectedKind::kAlloc ? Allocate(i, step) : CopyThereAndBack(step);
    }
  }

 private:
  void Put(Op op, Remade& step) {
    op.draw = AddedDraw(cause_, number_++);
    step.Add(op);
  }

  [[nodiscard]] Op DeviceCopy() const {
    const auto ns = static_cast<int64_t>(cause_.factor * static_cast<double>(kernel_ns_ / gaps_));
    return {.kind = OpKind::kMemcpy,
            .copy = CopyKind::kDeviceToDevice,
            .bytes = std::llround(static_cast<double>(ns) * kOnDeviceBytesPerNs),
            .device_ns = kCopyLatencyNs + ns};
  }

  // What was allocated is given back by the next call.
  void Allocate(int64_t number, Remade& step) {
    Put({.kind = number % 2 == 0 ? OpKind::kAllocate : OpKind::kFree, .call_ns = cause_.delay_ns}, step);
  }

  void CopyThereAndBack(Remade& step) {
    const int64_t ns = kCopyLatencyNs + std::llround(static_cast<double>(cause_.bytes) / kPageableBytesPerNs);
    for (const CopyKind kind : {CopyKind::kDeviceToHost, CopyKind::kHostToDevice}) {
      Put({.kind = OpKind::kMemcpy, .copy = kind, .pageable = true, .bytes = cause_.bytes, .device_ns = ns}, step);
    }
  }

  const Cause& cause_;
  int64_t gaps_ = 0;
  int64_t kernel_ns_ = 0;
  uint32_t number_ = 0;
};

}  // namespace

StepOps WithSmallKernels(const StepOps& step, const Cause& cause, const std::vector<KernelShape>& kernels,
                         const std::vector<uint32_t>& pieces) {
  Remade remade(step);
  uint32_t number = 0;
  for (uint32_t at = 0; at < step.ops.size(); ++at) {
    Op op = step.ops[at];
    if (op.kind != OpKind::kKernel || !MovesMemory(kernels[op.kernel])) {
      remade.Keep(op, at);
      continue;
    }
    op.device_ns = std::max(kShortestKernelNs, op.device_ns / cause.count);
    for (int64_t piece = 0; piece < cause.count; ++piece) {
      op.kernel = pieces[static_cast<size_t>(piece) % pieces.size()];
      op.ends_layer = step.ops[at].ends_layer && piece + 1 == cause.count;
      if (piece > 0) op.draw = AddedDraw(cause, number++);
      op.host_before_ns = piece == 0 ? op.host_before_ns : 0;
      remade.Keep(op, at);
    }
  }
  return remade.Take();
}

StepOps WithFurtherOps(const StepOps& step, const Cause& cause) {
  Remade remade(step);
  Addition addition(step, cause);
  int64_t gap = 0;
  for (uint32_t at = 0; at < step.ops.size(); ++at) {
    remade.Keep(step.ops[at], at);
    if (IsGap(step.ops, at)) addition.AddAt(gap++, remade);
  }
  return remade.Take();
}

StepOps WithUnevenTraffic(const StepOps& step, const Cause& cause) {
  StepOps changed = step;
  Op* last = nullptr;
  for (Op& op : changed.ops) {
    if (op.kind != OpKind::kCollective || op.group != GroupKind::kDp || op.bytes < kLargeMessage) continue;
    if (last != nullptr) last->bytes = std::llround(static_cast<double>(last->bytes) * cause.factor);
    last = &op;
  }
  return changed;
}

std::vector<KernelShape> ElementwiseKernels() {
  std::vector<KernelShape> kernels;
  const auto add = [&](std::string_view functor, int32_t operands, std::string_view host_op) {
    const std::string name = fmt::format(
        "void at::native::vectorized_elementwise_kernel<4, at::native::{}, std::array<char*, {}ul> >(int, "
        "at::native::{}, std::array<char*, {}ul>)",
        functor, operands, functor, operands);
    kernels.push_back({.name = name,
                       .short_name = "vectorized_elementwise_kernel",
                       .shape = GridOf(256, 1, 128),
                       .registers = 24,
                       .host_op = std::string(host_op)});
  };
  add("CUDAFunctor_add<c10::BFloat16>", 3, "aten::add");
  add("BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >", 3,
      "aten::mul");
  add("bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}", 2, "aten::copy_");
  add("rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}", 2, "aten::rsqrt");
  return kernels;
}

}  // namespace lockstep
