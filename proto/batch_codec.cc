#include "proto/batch_codec.h"

#include <limits>

#include "analysis/base/check.h"
#include "analysis/base/utf8.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "proto/column_codec.h"
#include "proto/instance_codec.h"
#include "proto/instance_facts.h"
#include "proto/instance_group.h"
#include "proto/instance_rows.h"
#include "proto/step_codec.h"
#include "proto/table_codec.h"

namespace lockstep {
namespace {

constexpr size_t kHashBytes = 16;
constexpr size_t kMaxNameBytes = 8 << 10;  // texts are cut at 4 KiB; repairing UTF-8 may lengthen them
constexpr int64_t kMaxSequence = int64_t{1} << 40;

void PutNames(const std::vector<NameDef>& names, v1::NameTable* out) {
  if (names.empty()) return;
  out->set_first_id(names.front().id);
  for (const NameDef& name : names) {
    LOCKSTEP_CHECK(name.id == out->first_id() + static_cast<uint32_t>(out->texts_size()));
    out->mutable_hashes()->append(name.hash.Bytes());
    out->add_texts(RepairUtf8(name.text));
  }
}

absl::Status GetNames(const v1::NameTable& in, std::vector<NameDef>* names) {
  const auto count = static_cast<size_t>(in.texts_size());
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRows("names", static_cast<uint32_t>(count)));
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRange("names.first_id", in.first_id(), {0, kNoId - 1 - codec::kMaxRows}));
  if (in.hashes().size() != count * kHashBytes) {
    return absl::InvalidArgumentError(
        fmt::format("names: {} bytes of hashes for {} texts, expected 16 each", in.hashes().size(), count));
  }
  names->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string& text = in.texts(static_cast<int>(i));
    if (text.size() > kMaxNameBytes) {
      return absl::InvalidArgumentError(
          fmt::format("names: text {} has {} bytes, the limit is {}", i, text.size(), kMaxNameBytes));
    }
    const std::string_view hash = std::string_view(in.hashes()).substr(i * kHashBytes, kHashBytes);
    names->push_back({in.first_id() + static_cast<uint32_t>(i), Hash128::FromBytes(hash), text});
  }
  return absl::OkStatus();
}

void PutCommunicator(const LocalCommunicator& communicator, v1::LocalCommunicator* out) {
  out->set_id(communicator.id);
  out->set_known(communicator.known);
  out->set_elided_unresolved(communicator.elided_unresolved);
  const GroupConfig group = {communicator.group_name, communicator.group_desc, communicator.members,
                             communicator.size,       communicator.comm_hash,  communicator.own_rank};
  ToProto(group, out->mutable_group());
}

absl::StatusOr<LocalCommunicator> GetCommunicator(const v1::LocalCommunicator& in) {
  LOCKSTEP_ASSIGN_OR_RETURN(GroupConfig group, FromProto(in.group()));
  LocalCommunicator communicator;
  communicator.id = in.id();
  communicator.known = in.known();
  communicator.group_name = std::move(group.name);
  communicator.group_desc = std::move(group.desc);
  communicator.members = std::move(group.members);
  communicator.size = group.size;
  communicator.comm_hash = group.comm_hash;
  communicator.own_rank = group.own_rank;
  communicator.elided_unresolved = in.elided_unresolved();
  return communicator;
}

absl::Status GetCommunicators(const v1::Batch& in, std::vector<LocalCommunicator>* out) {
  for (const v1::LocalCommunicator& entry : in.communicators()) {
    LOCKSTEP_ASSIGN_OR_RETURN(LocalCommunicator communicator, GetCommunicator(entry));
    out->push_back(std::move(communicator));
  }
  return absl::OkStatus();
}

template <typename Message, typename Fill>
void PackGroup(Fill fill, v1::CompressedColumns* (v1::Batch::*field)(), v1::Batch* out) {
  Message message;
  fill(&message);
  if (message.ByteSizeLong() > 0) codec::Pack(message, (out->*field)());
}

absl::Status GetHead(const v1::Batch& in, Batch* batch) {
  if (in.version() < 1 || in.version() > kBatchVersion) {
    return absl::InvalidArgumentError(fmt::format("batch version {}, this program reads 1 to {}; update the older side",
                                                  in.version(), kBatchVersion));
  }
  batch->sequence = in.sequence();
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRange("sequence", batch->sequence, {0, kMaxSequence}));
  if (!in.has_total_batches()) return absl::OkStatus();
  batch->total_batches = in.total_batches();
  return codec::CheckRange("total_batches", in.total_batches(), {batch->sequence + 1, batch->sequence + 1});
}

absl::Status GetNameTable(const v1::Batch& in, Batch* batch) {
  v1::NameTable names;
  LOCKSTEP_RETURN_IF_ERROR(codec::Unpack("names", in.names(), codec::kMaxTableBytes, &names));
  return GetNames(names, &batch->names);
}

absl::Status GetStepBlock(const v1::Batch& in, Batch* batch) {
  v1::StepBlock block;
  LOCKSTEP_RETURN_IF_ERROR(codec::Unpack("steps", in.steps(), codec::kMaxTableBytes, &block));
  return DecodeSteps(block, batch);
}

absl::Status GetTableBlock(const v1::Batch& in, Batch* batch) {
  v1::TableBlock block;
  LOCKSTEP_RETURN_IF_ERROR(codec::Unpack("tables", in.tables(), codec::kMaxTableBytes, &block));
  return DecodeTables(block, batch);
}

// What `instances` does with their columns stands for reading them.
template <typename Instances>
absl::StatusOr<Batch> Get(const v1::Batch& in, Instances instances) {
  Batch batch;
  LOCKSTEP_RETURN_IF_ERROR(GetHead(in, &batch));
  LOCKSTEP_RETURN_IF_ERROR(GetCommunicators(in, &batch.communicators));
  LOCKSTEP_RETURN_IF_ERROR(GetNameTable(in, &batch));
  LOCKSTEP_RETURN_IF_ERROR(instances(&batch));
  LOCKSTEP_RETURN_IF_ERROR(GetStepBlock(in, &batch));
  LOCKSTEP_RETURN_IF_ERROR(GetTableBlock(in, &batch));
  return batch;
}

absl::StatusOr<v1::Batch> ParseBatch(std::string_view bytes) {
  v1::Batch message;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(fmt::format("batch: {} bytes are no lockstep.v1.Batch", bytes.size()));
  }
  return message;
}

}  // namespace

std::string EncodeBatch(const Batch& batch) {
  v1::Batch out;
  out.set_version(kBatchVersion);
  out.set_sequence(batch.sequence);
  if (batch.total_batches.has_value()) out.set_total_batches(*batch.total_batches);
  for (const LocalCommunicator& communicator : batch.communicators) {
    PutCommunicator(communicator, out.add_communicators());
  }
  PackGroup<v1::NameTable>([&](auto* m) { PutNames(batch.names, m); }, &v1::Batch::mutable_names, &out);
  PackGroup<v1::InstanceBlock>([&](auto* m) { EncodeInstances(batch.instances, m); }, &v1::Batch::mutable_instances,
                               &out);
  PackGroup<v1::StepBlock>([&](auto* m) { EncodeSteps(batch, m); }, &v1::Batch::mutable_steps, &out);
  PackGroup<v1::TableBlock>([&](auto* m) { EncodeTables(batch, m); }, &v1::Batch::mutable_tables, &out);
  return out.SerializeAsString();
}

absl::StatusOr<Batch> DecodeBatch(std::string_view bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(const v1::Batch in, ParseBatch(bytes));
  return Get(in, [&in](Batch* batch) -> absl::Status {
    LOCKSTEP_ASSIGN_OR_RETURN(const codec::InstanceGroups groups, codec::UnpackGroups(in.instances()));
    batch->instances = codec::RowsOf(groups);
    return absl::OkStatus();
  });
}

absl::StatusOr<ReceivedBatch> DecodeForStore(std::string_view bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(const v1::Batch in, ParseBatch(bytes));
  ReceivedBatch received;
  LOCKSTEP_ASSIGN_OR_RETURN(received.batch, Get(in, [&](Batch*) -> absl::Status {
                              LOCKSTEP_ASSIGN_OR_RETURN(const codec::InstanceGroups groups,
                                                        codec::UnpackGroups(in.instances()));
                              received.instances = FactsOf(groups);
                              received.ops = CollectiveOpsOf(groups);
                              return absl::OkStatus();
                            }));
  if (received.instances.count > 0) received.packed = in.instances().SerializeAsString();
  return received;
}

std::string PackedInstancesOf(const ReceivedBatch& received) {
  if (!received.packed.empty() || received.batch.instances.empty()) return received.packed;
  return PackInstances(received.batch.instances);
}

std::string EncodeRow(const LocalCommunicator& communicator) {
  v1::LocalCommunicator message;
  PutCommunicator(communicator, &message);
  return message.SerializeAsString();
}

absl::Status DecodeRow(std::string_view bytes, LocalCommunicator* communicator) {
  v1::LocalCommunicator message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(fmt::format("{} bytes are no communicator", bytes.size()));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(*communicator, GetCommunicator(message));
  return absl::OkStatus();
}

}  // namespace lockstep
