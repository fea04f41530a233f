#include "agent/readers/nsys/rank_evidence.h"

#include <algorithm>

#include "agent/readers/nsys/environment.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

constexpr size_t kMaxCommunicators = 4096;  // a process

// -1 marks a process that several ranks claim.
absl::Status ReadMpiRanks(ReadSession& session, std::map<int64_t, int32_t>& ranks) {
  return session.Scan(mpi_ranks::kTable, [&](const Row& row) {
    const std::optional<int64_t> thread = row.Int(mpi_ranks::kGlobalTid);
    const int32_t rank = row.Int32Or(mpi_ranks::kRank, -1);
    if (!thread.has_value() || rank < 0) {
      session.sink().Drop(DropReason::kBadNumber, row.id());
      return absl::OkStatus();
    }
    const auto [known, is_new] = ranks.emplace(PidOf(*thread), rank);
    if (!is_new && known->second != rank) known->second = -1;
    return absl::OkStatus();
  });
}

}  // namespace

void CommunicatorLog::Add(uint32_t process, const NcclFields& fields, bool is_init) {
  const bool tells = fields.rank_count.has_value() && fields.rank.has_value() && *fields.rank < *fields.rank_count;
  if (!tells || (fields.comm_hash == 0 && !is_init)) return;
  std::vector<Communicator>& known = by_process_[process];
  const auto same = std::ranges::find_if(
      known, [&](const Communicator& c) { return fields.comm_hash != 0 && c.hash == fields.comm_hash; });
  if (same != known.end()) {
    if (same->rank != *fields.rank) same->rank = -1;
    return;
  }
  if (known.size() < kMaxCommunicators) known.push_back({fields.comm_hash, *fields.rank_count, *fields.rank});
}

void CommunicatorLog::Publish(ReadSession& session) const {
  for (const auto& [index, communicators] : by_process_) {
    ProcessInfo& process = session.context().processes[index];
    for (const Communicator& communicator : communicators) {
      GroupConfig group;
      group.size = communicator.size;
      group.comm_hash = communicator.hash;
      group.own_rank = communicator.rank;
      if (group.comm_hash != 0) process.groups.push_back(std::move(group));
    }
    const auto largest = std::ranges::max_element(communicators, {}, &Communicator::size);
    const auto equals = std::ranges::count(communicators, largest->size, &Communicator::size);
    if (equals != 1 || largest->rank < 0) continue;
    process.claims.push_back({largest->rank, RankSource::kNcclInit});
    process.world_size = largest->size;
  }
}

absl::Status ReadRankClaims(ReadSession& session, const CommunicatorLog& communicators) {
  std::map<int64_t, int32_t> mpi;
  LOCKSTEP_RETURN_IF_ERROR(ReadMpiRanks(session, mpi));
  std::vector<ProcessInfo>& processes = session.context().processes;
  for (ProcessInfo& process : processes) {
    const auto rank = mpi.find(process.pid);
    if (rank != mpi.end() && rank->second >= 0) process.claims.push_back({rank->second, RankSource::kMpi});
  }
  communicators.Publish(session);
  const std::optional<EnvironmentRank> environment = RankFromEnvironment(session.facts());
  if (processes.size() == 1 && environment.has_value()) {
    processes[0].claims.push_back({environment->rank, RankSource::kEnvironment});
    if (!processes[0].world_size.has_value()) processes[0].world_size = environment->world_size;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::nsys
