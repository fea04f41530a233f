// The communicators of a run, joined from what every source knows of its own.
//
// Sources that name members (Kineto) are joined by their member list, and by group name where one rank has several
// groups of equal members. Sources that know a hash (nsys) are joined by it; the members follow from each source's
// position in the communicator. A hash is joined with a member list when the members known from it are a subset of the
// list and the sizes agree, among several candidates by the operations they carry. Only communicators that carry
// instances count, so that the formats agree.
//
// Identity: first 12 hex digits of the hash of (members ascending, discriminator). The discriminator is empty unless
// several communicators of the run have equal members; then it is "1", "2", ... in the order of their first instance on
// their lowest rank present, which all formats see alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

enum class Membership : uint8_t {
  kKnown = 0,     // told by the traces
  kInferred = 1,  // assumed: to be confirmed by the common points of all ranks
  kUnknown = 2,   // no rule applies: nothing can be joined
};

struct CommunicatorPlan {
  Communicator info;
  Membership membership = Membership::kKnown;
  bool discovered = false;                  // the members' lanes were found to belong together (membership.h)
  bool in_pairs = false;                    // found through exchanges of pairs: no kernel binds all members
  std::vector<int32_t> ranks;               // rank indices that carry instances of it, ascending
  std::vector<std::vector<uint32_t>> rows;  // per entry of `ranks`: indices into RankRows::rows, ascending
  // Global rank at each position of the communicator (-1 = not known): NCCL payloads speak of positions. Empty when
  // only global ranks are known.
  std::vector<int32_t> rank_at_position;
};

// Ordered by id.
[[nodiscard]] std::vector<CommunicatorPlan> PlanCommunicators(const RunData& run, const RankResolution& ranks,
                                                              const std::vector<RankRows>& rows);

// Nobody told all members, and some ranks of the run have no trace, or no record of any collective: one of them may be
// a member. Those without a trace are none of a block of consecutive ranks besides others whose size divides the world
// and its first rank, as tensor-parallel groups are.
[[nodiscard]] bool MayLackMembers(const CommunicatorPlan& plan, const RankResolution& ranks);

// The plan without the instances whose ends say nothing about clocks (EndsTogether).
[[nodiscard]] CommunicatorPlan WithComparableEnds(const CommunicatorPlan& plan, const std::vector<RankRows>& rows);

// Gives every plan its id and orders the plans by it.
void IdentifyCommunicators(std::vector<CommunicatorPlan>& plans, const std::vector<RankRows>& rows);

// Short id of a communicator: 12 hexadecimal digits.
[[nodiscard]] std::string CommunicatorId(const std::vector<int32_t>& members, std::string_view discriminator);

}  // namespace lockstep
