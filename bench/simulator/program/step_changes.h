// Puts further ops into a step, or several in the place of one. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

// Each gives the changed step. Ops come in after the last ones of layers, or after a graph where layers are replayed.
//
// One kernel of little work for each byte that it moves as `cause.count` kernels, `pieces` in turn.
[[nodiscard]] StepOps WithSmallKernels(const StepOps& step, const Cause& cause, const std::vector<KernelShape>& kernels,
                                       const std::vector<uint32_t>& pieces);
// Synchronisations, allocations, copies: what the cause asks for.
[[nodiscard]] StepOps WithFurtherOps(const StepOps& step, const Cause& cause);

// The large messages that replicas exchange, but for the last of a step, which nothing runs beside, are `cause.factor`
// times as large.
[[nodiscard]] StepOps WithUnevenTraffic(const StepOps& step, const Cause& cause);

// The kernels that element-wise work is done by without fusion.
[[nodiscard]] std::vector<KernelShape> ElementwiseKernels();

}  // namespace lockstep
