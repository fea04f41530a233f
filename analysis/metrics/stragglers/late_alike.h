// Whether the members of a group are late together, by turns, or each for itself. Pure. Units: ns.
#pragma once

#include <vector>

namespace lockstep {

// [unit][member] own time over that of the peers outside; NaN: it was not measured.
using ExcessOfGroup = std::vector<std::vector<double>>;

// Members that are late by turns are late in different units, but over the run by as much and as often: one that is
// always slow and one that stalls now and then are two troubles, however equal what they cost. Two members are easily
// alike by chance: these must also be late in equally many units, and by as much there.
[[nodiscard]] bool AreLateAlike(const ExcessOfGroup& excess);

// What two members have in common (`in_common`, by unit) is little beside what each is late by, if that is above
// `floor_ns`: they are late in different units, each for itself. Of more members the median tells what they have in
// common.
[[nodiscard]] bool AreLateApart(const ExcessOfGroup& excess, const std::vector<double>& in_common, double floor_ns);

}  // namespace lockstep
