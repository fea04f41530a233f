#include "agent/readers/nsys/nccl_payload.h"
#include "agent/readers/nsys/nvtx_label.h"
#include "agent/readers/step_mark.h"
#include "tests/unit/agent/readers/nsys/nsys_fixture.h"

namespace lockstep {
namespace {

constexpr int64_t kDomain = 3;
constexpr int64_t kCommunicatorSchema = 16'777'223;
constexpr uint64_t kHash = 0xfedcba9876543210;

class NsysNvtx : public NsysTest {
 protected:
  static void AddEntry(NsysBuilder& file, int64_t schema, int64_t index, int64_t type, std::string name,
                       NsysValue offset) {
    file.Add("NVTX_PAYLOAD_SCHEMA_ENTRIES", {{"domainId", kDomain},
                                             {"schemaId", schema},
                                             {"idx", index},
                                             {"type", type},
                                             {"name", std::move(name)},
                                             {"offset", std::move(offset)}});
  }
  // The layout of NCCL 2.25 and later; offset 0 is stored as NULL.
  static void AddCollectiveSchema(NsysBuilder& file, int64_t schema = kCommunicatorSchema) {
    AddEntry(file, schema, 0, 18, "NCCL communicator ID", NsysNull{});
    AddEntry(file, schema, 1, 22, "Message size [bytes]", 8);
    AddEntry(file, schema, 2, 5, "Root", 16);
  }
  static void AddInitSchema(NsysBuilder& file, int64_t schema) {
    AddEntry(file, schema, 0, 18, "NCCL communicator ID", NsysNull{});
    AddEntry(file, schema, 1, 5, "No. of ranks", 8);
    AddEntry(file, schema, 2, 5, "Rank", 12);
    AddEntry(file, schema, 3, 5, "CUDA device", 16);
  }
  static NsysCells Payload(int64_t schema, const std::string& bytes) {
    return {{"domainId", kDomain},
            {"binaryData", NsysBlob{NsysPayload(kDomain, static_cast<uint32_t>(schema), bytes)}}};
  }
  static std::string InitBytes(uint64_t hash, uint64_t size, uint64_t rank) {
    return LittleEndianBytes(hash, 8) + LittleEndianBytes(size, 4) + LittleEndianBytes(rank, 4) +
           LittleEndianBytes(0, 8);
  }
  static void AddInit(NsysBuilder& file, int64_t pid, uint64_t hash, uint64_t size, uint64_t rank) {
    file.Nvtx(59, "ncclCommInitRank", 1, 2, {.pid = pid}, Payload(16'777'227, InitBytes(hash, size, rank)));
  }
  static void AddNcclDomain(NsysBuilder& file) { file.Nvtx(75, "NCCL", 0, NsysNull{}, {}, {{"domainId", kDomain}}); }
};

TEST_F(NsysNvtx, EventTypesBecomeKindsAndNamesOfThingsAreNoRecords) {
  NsysBuilder file = File();
  file.Nvtx(59, "push", 10, 20, {.tid = 5}).Nvtx(60, "start", 10, 30, {}).Nvtx(34, "mark", 15, NsysNull{}, {});
  file.Nvtx(70, "old push", 10, 20, {}).Nvtx(39, "thread", 0, NsysNull{}, {}).Nvtx(33, "category", 0, NsysNull{}, {});
  Read(file);
  ASSERT_EQ(sink_.hosts.size(), 4u);
  EXPECT_EQ(sink_.hosts[0].kind, HostKind::kRange);
  EXPECT_EQ(sink_.hosts[0].tid, 5);
  EXPECT_EQ(sink_.hosts[0].duration_ns, 10);
  EXPECT_EQ(sink_.hosts[1].kind, HostKind::kStartEnd);
  EXPECT_EQ(sink_.hosts[2].kind, HostKind::kMark);
  EXPECT_EQ(sink_.hosts[2].duration_ns, 0);
  EXPECT_EQ(sink_.hosts[3].kind, HostKind::kRange);
}

TEST_F(NsysNvtx, ARegisteredTextIsTheName) {
  NsysBuilder file = File();
  const int64_t id = file.String("registered");
  file.Nvtx(59, "", 10, 20, {}, {{"text", NsysNull{}}, {"textId", id}});
  Read(file);
  EXPECT_EQ(Name(sink_.hosts.at(0).name), "registered");
}

TEST_F(NsysNvtx, AnOpenRangeEndsWithTheCapture) {
  NsysBuilder file = File();
  file.Nvtx(59, "open", 4'000'000'000, NsysNull{}, {});
  Read(file);
  EXPECT_EQ(sink_.hosts.at(0).duration_ns, 6'000'000'000);
}

TEST_F(NsysNvtx, ARangeThatEndsBeforeItStartsIsCounted) {
  NsysBuilder file = File();
  file.Nvtx(59, "backwards", 20, 10, {});
  Read(file);
  EXPECT_TRUE(sink_.hosts.empty());
  EXPECT_EQ(sink_.CountOf(DropReason::kNegativeDuration), 1);
}

TEST_F(NsysNvtx, DomainsAreNamedPerProcessWhereverTheirRowStands) {
  NsysBuilder file = File();
  file.Nvtx(59, "range", 10, 20, {.pid = 1}, {{"domainId", 4}})
      .Nvtx(59, "range", 10, 20, {.pid = 2}, {{"domainId", 4}});
  file.Nvtx(75, "mine", 0, NsysNull{}, {.pid = 1}, {{"domainId", 4}});
  Read(file);
  ASSERT_EQ(sink_.hosts.size(), 2u);
  EXPECT_EQ(Name(sink_.hosts[0].domain), "mine");
  EXPECT_EQ(sink_.hosts[1].domain, kNoId);
}

TEST_F(NsysNvtx, ProfilerStepsAreStepsUnlessAnotherRangeWasChosen) {
  NsysBuilder file = File();
  file.Nvtx(59, "ProfilerStep#42", 10, 20, {}).Nvtx(59, "ProfilerStep#", 10, 20, {}).Nvtx(59, "decode", 10, 20, {});
  Read(file);
  EXPECT_EQ(sink_.hosts.at(0).kind, HostKind::kStep);
  EXPECT_EQ(sink_.hosts.at(0).step_number, 42);
  EXPECT_EQ(sink_.hosts.at(1).kind, HostKind::kRange);
  sink_ = CollectingSink();
  Read(file, {.step_range = "decode"});
  EXPECT_EQ(sink_.hosts.at(0).kind, HostKind::kRange);
  EXPECT_EQ(sink_.hosts.at(2).kind, HostKind::kStep);
  EXPECT_EQ(sink_.hosts.at(2).step_number, -1);
}

TEST_F(NsysNvtx, AStepRangeCanNameItsDomain) {
  NsysBuilder file = File();
  file.Nvtx(75, "engine", 0, NsysNull{}, {}, {{"domainId", 4}});
  file.Nvtx(59, "step", 10, 20, {}, {{"domainId", 4}}).Nvtx(59, "step", 10, 20, {});
  Read(file, {.step_range = "engine:step"});
  EXPECT_EQ(sink_.hosts.at(0).kind, HostKind::kStep);
  EXPECT_EQ(sink_.hosts.at(1).kind, HostKind::kRange);
}

TEST_F(NsysNvtx, AStartEndRangeThatMarksAStepKeepsItsStyle) {
  NsysBuilder file = File();
  file.Nvtx(60, "decode", 10, 20, {}).Nvtx(60, "ProfilerStep#7", 30, 40, {}).Nvtx(60, "other", 50, 60, {});
  Read(file, {.step_range = "decode"});
  EXPECT_EQ(sink_.hosts.at(0).kind, HostKind::kStartEnd);
  EXPECT_TRUE(MarksStep(sink_.hosts.at(0)));
  EXPECT_EQ(StepNumberOf(sink_.hosts.at(0)), -1);
  EXPECT_FALSE(MarksStep(sink_.hosts.at(2)));
  sink_ = CollectingSink();
  Read(file);
  EXPECT_FALSE(MarksStep(sink_.hosts.at(0)));
  EXPECT_TRUE(MarksStep(sink_.hosts.at(1)));
  EXPECT_EQ(StepNumberOf(sink_.hosts.at(1)), 7);
}

TEST_F(NsysNvtx, CallNumbersOfPyTorchAreNotPartOfTheName) {
  NsysBuilder file = File();
  file.Nvtx(59, "aten::copy_, op_id = 12", 10, 20, {}).Nvtx(59, "aten::copy_, seq = 3, op_id = 13", 30, 40, {});
  Read(file);
  EXPECT_EQ(Name(sink_.hosts.at(0).name), "aten::copy_");
  EXPECT_EQ(sink_.hosts.at(0).name, sink_.hosts.at(1).name);
}

TEST_F(NsysNvtx, ANcclCallWithoutPayloadIsACollectiveOfUnknownSize) {
  NsysBuilder file = File();
  file.Nvtx(59, "ncclAllReduce", 10, 20, {}).Nvtx(59, "ncclGroupEnd", 30, 40, {});
  Read(file);
  ASSERT_EQ(sink_.hosts.at(0).kind, HostKind::kCollective);
  EXPECT_EQ(Meta(sink_.hosts[0]).op, CollectiveOp::kAllReduce);
  EXPECT_EQ(Meta(sink_.hosts[0]).bytes, kUnknownBytes);
  EXPECT_EQ(Meta(sink_.hosts[0]).comm_hash, 0u);
  EXPECT_EQ(sink_.hosts.at(1).kind, HostKind::kRange);
}

TEST_F(NsysNvtx, APayloadGivesCommunicatorBytesAndRoot) {
  NsysBuilder file = File();
  AddNcclDomain(file);
  AddCollectiveSchema(file);
  AddCollectiveSchema(file);  // every process repeats its schemas
  const std::string bytes = LittleEndianBytes(kHash, 8) + LittleEndianBytes(1 << 20, 8) + LittleEndianBytes(6, 8);
  file.Nvtx(59, "ncclBroadcast", 10, 20, {}, Payload(kCommunicatorSchema, bytes));
  Read(file);
  const CollectiveMeta& meta = Meta(sink_.hosts.at(0));
  EXPECT_EQ(meta.op, CollectiveOp::kBroadcast);
  EXPECT_EQ(meta.comm_hash, kHash);
  EXPECT_EQ(meta.bytes, 1 << 20);
  EXPECT_EQ(meta.root, 6);
  EXPECT_EQ(Name(sink_.hosts[0].domain), "NCCL");
}

TEST_F(NsysNvtx, TheLayoutIsTakenFromTheFileNotFromTheSchemaNumber) {
  NsysBuilder file = File();
  AddEntry(file, kCommunicatorSchema, 0, 22, "Message size [bytes]", NsysNull{});  // NCCL before 2.25
  file.Nvtx(59, "ncclAllGather", 10, 20, {}, Payload(kCommunicatorSchema, LittleEndianBytes(4096, 8)));
  Read(file);
  EXPECT_EQ(Meta(sink_.hosts.at(0)).bytes, 4096);
  EXPECT_EQ(Meta(sink_.hosts.at(0)).comm_hash, 0u);
}

TEST_F(NsysNvtx, ContradictingSchemasAreNotUsed) {
  NsysBuilder file = File();
  AddCollectiveSchema(file);
  AddEntry(file, kCommunicatorSchema, 1, 22, "Message size [bytes]", 0);
  file.Nvtx(59, "ncclBroadcast", 10, 20, {}, Payload(kCommunicatorSchema, std::string(24, '\1')));
  Read(file);
  EXPECT_EQ(Meta(sink_.hosts.at(0)).bytes, kUnknownBytes);
}

TEST_F(NsysNvtx, ACutBlobGivesOnlyTheFieldsItHolds) {
  NsysBuilder file = File();
  AddCollectiveSchema(file);
  const std::string whole = LittleEndianBytes(kHash, 8) + LittleEndianBytes(64, 8) + LittleEndianBytes(1, 8);
  for (size_t size = 0; size < whole.size(); ++size) {
    file.Nvtx(59, "ncclBroadcast", 10, 20, {}, Payload(kCommunicatorSchema, whole.substr(0, size)));
  }
  file.Nvtx(59, "ncclBroadcast", 10, 20, {}, {{"domainId", kDomain}, {"binaryData", NsysBlob{std::string("short")}}});
  Read(file);
  ASSERT_EQ(sink_.hosts.size(), whole.size() + 1);
  EXPECT_EQ(Meta(sink_.hosts[7]).comm_hash, 0u);
  EXPECT_EQ(Meta(sink_.hosts[8]).comm_hash, kHash);
  EXPECT_EQ(Meta(sink_.hosts[15]).bytes, kUnknownBytes);
  EXPECT_EQ(Meta(sink_.hosts[16]).bytes, 64);
  EXPECT_EQ(Meta(sink_.hosts[19]).root, -1);
  EXPECT_EQ(Meta(sink_.hosts[20]).root, 1);
}

TEST_F(NsysNvtx, JsonOfAdvancedTracingGivesSequenceAndOperation) {
  NsysBuilder file = File();
  AddNcclDomain(file);
  file.Nvtx(59, "AllReduce", 10, 20, {},
            {{"domainId", kDomain},
             {"jsonText", R"({"commHash": "0xfedcba9876543210", "seqNumber": 17, "operationId": 18446744073709551615,
                             "count": 1000, "dataType": "ncclBfloat16"})"}});
  Read(file);
  const HostRecord& record = sink_.hosts.at(0);
  ASSERT_EQ(record.kind, HostKind::kCollective);
  EXPECT_EQ(record.seq, 17);
  EXPECT_TRUE(record.has_comms_id);
  EXPECT_EQ(record.comms_id, UINT64_MAX);
  EXPECT_EQ(Meta(record).comm_hash, kHash);
  EXPECT_EQ(Meta(record).dtype, DataType::kBfloat16);
  EXPECT_EQ(Meta(record).bytes, 2000);
  EXPECT_EQ(Meta(record).op, CollectiveOp::kAllReduce);
}

TEST_F(NsysNvtx, BrokenJsonIsCountedAndTheRangeKept) {
  NsysBuilder file = File();
  file.Nvtx(59, "ncclAllReduce", 10, 20, {}, {{"jsonText", "{\"count\": "}});
  Read(file);
  EXPECT_EQ(sink_.CountOf(DropReason::kBadString), 1);
  EXPECT_EQ(sink_.hosts.at(0).kind, HostKind::kCollective);
}

TEST_F(NsysNvtx, TheLargestCommunicatorSaysWhichRankAProcessIs) {
  NsysBuilder file = File();
  AddInitSchema(file, 16'777'227);
  AddInit(file, 1, 11, 8, 5);
  AddInit(file, 1, 12, 2, 1);
  AddInit(file, 2, 11, 8, 6);
  Read(file);
  const std::vector<ProcessInfo>& processes = sink_.context().processes;
  ASSERT_EQ(processes.size(), 2u);
  ASSERT_EQ(processes[0].claims.size(), 1u);
  EXPECT_EQ(processes[0].claims[0], (RankClaim{5, RankSource::kNcclInit}));
  EXPECT_EQ(processes[0].world_size, 8);
  ASSERT_EQ(processes[0].groups.size(), 2u);
  EXPECT_EQ(processes[0].groups[1].comm_hash, 12u);
  EXPECT_EQ(processes[0].groups[1].size, 2);
  EXPECT_EQ(processes[0].groups[1].own_rank, 1);
  EXPECT_EQ(processes[1].claims.at(0).rank, 6);
}

TEST_F(NsysNvtx, TwoLargestCommunicatorsClaimNoRank) {
  NsysBuilder file = File();
  AddInitSchema(file, 16'777'227);
  AddInit(file, 1, 11, 8, 5);
  AddInit(file, 1, 12, 8, 1);
  Read(file);
  EXPECT_TRUE(sink_.context().processes.at(0).claims.empty());
  EXPECT_EQ(sink_.context().processes[0].groups.size(), 2u);
}

TEST_F(NsysNvtx, SeveralRanksOfOneCommunicatorInAProcessClaimNoRank) {
  NsysBuilder file = File();
  AddInitSchema(file, 16'777'227);
  AddInit(file, 1, 11, 8, 5);
  AddInit(file, 1, 11, 8, 6);
  Read(file);
  EXPECT_TRUE(sink_.context().processes.at(0).claims.empty());
  EXPECT_EQ(sink_.context().processes[0].groups.at(0).own_rank, -1);
}

TEST_F(NsysNvtx, ARankOutsideItsCommunicatorIsIgnored) {
  NsysBuilder file = File();
  AddInitSchema(file, 16'777'227);
  AddInit(file, 1, 11, 8, 8);
  Read(file);
  EXPECT_TRUE(sink_.context().processes.at(0).groups.empty());
}

TEST(NsysNvtxLabel, StepNumbersAreWholeAndNotNegative) {
  EXPECT_EQ(nsys::ProfilerStepNumber("ProfilerStep#0"), 0);
  EXPECT_EQ(nsys::ProfilerStepNumber("ProfilerStep#7x"), std::nullopt);
  EXPECT_EQ(nsys::ProfilerStepNumber("ProfilerStep#-7"), std::nullopt);
  EXPECT_EQ(nsys::ProfilerStepNumber("ProfilerStep#99999999999999999999"), std::nullopt);
}

TEST(NsysNcclTypes, NamesAndNumbersAgree) {
  EXPECT_EQ(nsys::DataTypeFromNccl("ncclFloat32"), nsys::DataTypeFromNccl(7));
  EXPECT_EQ(nsys::DataTypeFromNccl("half"), nsys::DataTypeFromNccl(6));
  EXPECT_EQ(nsys::DataTypeFromNccl("ncclBfloat16"), nsys::DataTypeFromNccl(9));
  EXPECT_EQ(nsys::DataTypeFromNccl("ncclNonsense"), DataType::kUnknown);
  EXPECT_EQ(nsys::DataTypeFromNccl(12), DataType::kUnknown);
  EXPECT_EQ(nsys::DataTypeFromNccl(-1), DataType::kUnknown);
}

}  // namespace
}  // namespace lockstep
