// Which kernels of a typical step are launches of one kernel: numbers in the order of their start on the device, rising
// from 0. Of more than kMaxPlaces the first ones and the last one are kept, so that what is left is the same whether
// launches are added one by one or lists of several keys are merged. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

// The first ones show all calls of the first layers, the last one shows where the kernel ends.
inline constexpr size_t kMaxPlaces = 64;

// `place` is later than all that were added.
void AddPlace(uint32_t place, std::vector<uint32_t>& places);

void MergePlaces(const std::vector<uint32_t>& from, std::vector<uint32_t>& into);

}  // namespace lockstep
