#include "analysis/model/collective.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep {
namespace {

constexpr int kOps = 15;
constexpr int kTypes = 18;
constexpr int kLibraries = 18;

template <typename Value>
std::set<std::string_view> DistinctNames(int count) {
  std::set<std::string_view> names;
  for (int i = 1; i < count; ++i) names.insert(Name(static_cast<Value>(i)));
  return names;
}

TEST(CollectiveNames, AreDistinctAndNeverEmptyForKnownValues) {
  for (const auto& names : {DistinctNames<CollectiveOp>(kOps), DistinctNames<DataType>(kTypes),
                            DistinctNames<CollectiveLibrary>(kLibraries)}) {
    EXPECT_FALSE(names.contains(""));
  }
  EXPECT_EQ(DistinctNames<CollectiveOp>(kOps).size(), kOps - 1U);
  EXPECT_EQ(DistinctNames<DataType>(kTypes).size(), kTypes - 1U);
  EXPECT_EQ(DistinctNames<CollectiveLibrary>(kLibraries).size(), kLibraries - 1U);
}

TEST(CollectiveNames, StandForTheirWireValues) {
  EXPECT_EQ(Name(CollectiveOp::kReduceScatter), "reduce_scatter");
  EXPECT_EQ(Name(CollectiveOp::kAllGatherV), "all_gather_v");
  EXPECT_EQ(Name(DataType::kBfloat16), "bfloat16");
  EXPECT_EQ(Name(DataType::kComplex128), "complex128");
  EXPECT_EQ(Name(CollectiveLibrary::kUnverified), "unverified");
  EXPECT_EQ(Name(CollectiveLibrary::kHccl), "hccl");
}

TEST(CollectiveNames, OfUnknownAndForeignValuesAreEmpty) {
  EXPECT_EQ(Name(CollectiveOp::kUnknown), "");
  EXPECT_EQ(Name(static_cast<CollectiveOp>(kOps)), "");
  EXPECT_EQ(Name(static_cast<DataType>(255)), "");
  EXPECT_EQ(Name(static_cast<CollectiveLibrary>(200)), "");
  EXPECT_EQ(SizeOf(static_cast<DataType>(200)), 0);
}

TEST(DataType, SizesFollowTheNames) {
  EXPECT_EQ(SizeOf(DataType::kUnknown), 0);
  for (int i = 1; i < kTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    const std::string_view name = Name(type);
    const int64_t bits = name.ends_with("128")                          ? 128
                         : name.ends_with("64")                         ? 64
                         : name.ends_with("32")                         ? 32
                         : name.ends_with("16") && name != "complex128" ? 16
                                                                        : 8;
    EXPECT_EQ(SizeOf(type) * 8, bits) << name;
  }
}

TEST(CollectiveOp, OnlySymmetricOperationsAreAllPairs) {
  const std::set<CollectiveOp> all_pairs = {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
                                            CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll,
                                            CollectiveOp::kBarrier};
  for (int i = 0; i < kOps; ++i) {
    const auto op = static_cast<CollectiveOp>(i);
    EXPECT_EQ(IsAllPairs(op), all_pairs.contains(op)) << Name(op);
  }
}

TEST(CollectiveOp, SendAndReceiveArePointToPoint) {
  for (int i = 0; i < kOps; ++i) {
    const auto op = static_cast<CollectiveOp>(i);
    EXPECT_EQ(IsPointToPoint(op), op == CollectiveOp::kSend || op == CollectiveOp::kRecv) << Name(op);
  }
}

TEST(CollectiveOp, IsReadFromC10dNames) {
  EXPECT_EQ(CollectiveOpFromC10d("allreduce"), CollectiveOp::kAllReduce);
  EXPECT_EQ(CollectiveOpFromC10d("_allgather_base"), CollectiveOp::kAllGather);
  EXPECT_EQ(CollectiveOpFromC10d("reduce_scatter_tensor_coalesced"), CollectiveOp::kReduceScatter);
  EXPECT_EQ(CollectiveOpFromC10d("all_to_allv"), CollectiveOp::kAllToAllV);
  EXPECT_EQ(CollectiveOpFromC10d("_broadcast_oop"), CollectiveOp::kBroadcast);
}

TEST(CollectiveOp, WaitAndInitAreNoOperations) {
  for (const auto* name : {"wait", "init", "", "ALLREDUCE", "allreduce "}) {
    EXPECT_EQ(CollectiveOpFromC10d(name), CollectiveOp::kUnknown) << name;
  }
}

TEST(CollectiveOp, IsReadFromNcclCalls) {
  EXPECT_EQ(CollectiveOpFromNcclApi("ncclReduceScatter"), CollectiveOp::kReduceScatter);
  EXPECT_EQ(CollectiveOpFromNcclApi("ncclAlltoAll"), CollectiveOp::kAllToAll);
  EXPECT_EQ(CollectiveOpFromNcclApi("ncclGroupEnd"), CollectiveOp::kUnknown);
}

TEST(DataType, IsReadFromC10Names) {
  EXPECT_EQ(DataTypeFromC10("BFloat16"), DataType::kBfloat16);
  EXPECT_EQ(DataTypeFromC10("Byte"), DataType::kUint8);
  EXPECT_EQ(DataTypeFromC10("Char"), DataType::kInt8);
  EXPECT_EQ(DataTypeFromC10("Float8_e4m3fn"), DataType::kFloat8E4m3);
  EXPECT_EQ(DataTypeFromC10("QInt8"), DataType::kUnknown);
}

}  // namespace
}  // namespace lockstep
