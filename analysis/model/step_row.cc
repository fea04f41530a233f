#include "analysis/model/step_row.h"

#include <array>

namespace lockstep {
namespace {

constexpr std::array kFields = std::to_array<int64_t IntervalMeasure::*>(
    {&IntervalMeasure::span_ns, &IntervalMeasure::compute_ns, &IntervalMeasure::comm_ns, &IntervalMeasure::copy_ns,
     &IntervalMeasure::opaque_ns, &IntervalMeasure::overlap_ns, &IntervalMeasure::strict_exposed_comm_ns,
     &IntervalMeasure::copy_only_ns, &IntervalMeasure::opaque_only_ns, &IntervalMeasure::idle_host_ns,
     &IntervalMeasure::idle_launch_ns, &IntervalMeasure::idle_dependency_ns, &IntervalMeasure::idle_other_ns});
static_assert(sizeof(IntervalMeasure) == kFields.size() * sizeof(int64_t), "a field is missing above");

// Lengths of real windows stay far below 2^63; measures from the wire may be anything, and then wrap instead of being
// undefined.
int64_t WrappingSum(int64_t a, uint64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + b); }

}  // namespace

void IntervalMeasure::Add(const IntervalMeasure& other) {
  for (const auto field : kFields) this->*field = WrappingSum(this->*field, static_cast<uint64_t>(other.*field));
}

void IntervalMeasure::Subtract(const IntervalMeasure& other) {
  for (const auto field : kFields) this->*field = WrappingSum(this->*field, 0 - static_cast<uint64_t>(other.*field));
}

}  // namespace lockstep
