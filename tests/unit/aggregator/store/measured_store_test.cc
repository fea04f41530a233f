#include "aggregator/store/measured_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "aggregator/store/memory/memory_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

class TroubledStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status trouble;
  absl::Status PutBatch(const std::string&, const Hash128&, const Hash128&, const ReceivedBatch&) override {
    return trouble;
  }
};

class MeasuredStoreTest : public testing::Test {
 protected:
  absl::Status Put(absl::Status trouble) {
    troubled_.trouble = std::move(trouble);
    return store_.PutBatch("run", {0, 1}, {0, 2}, Batch());
  }

  MetricsRegistry registry_;
  MemoryStore memory_;
  TroubledStore troubled_{memory_};
  MeasuredStore store_{troubled_, registry_};
};

TEST_F(MeasuredStoreTest, EveryBatchIsTimedAndAnErrorOfTheStoreCounted) {
  EXPECT_TRUE(Put(absl::OkStatus()).ok());
  EXPECT_TRUE(absl::IsDataLoss(Put(absl::DataLossError("x"))));
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("store_seconds_count{operation=\"put_batch\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("store_errors_total{reason=\"damaged\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("store_errors_total{reason=\"no_room\"} 0\n"));
}

TEST_F(MeasuredStoreTest, AFullDiskIsATroubleUntilABatchIsStoredAgain) {
  EXPECT_EQ(store_.Trouble(), "");
  EXPECT_FALSE(Put(absl::ResourceExhaustedError("store /secret/path: no room")).ok());
  EXPECT_EQ(store_.Trouble(), "the store has no room on its disk");
  EXPECT_TRUE(Put(absl::OkStatus()).ok());
  EXPECT_EQ(store_.Trouble(), "");
}

TEST_F(MeasuredStoreTest, WhatABatchHasWrongAndALimitAreNoTroubleOfTheStore) {
  EXPECT_FALSE(Put(absl::InvalidArgumentError("x")).ok());
  EXPECT_FALSE(Put(absl::FailedPreconditionError("conflicting_batch")).ok());
  EXPECT_FALSE(Put(CheckNames({.max_names = 1}, "run", 2)).ok());
  EXPECT_EQ(store_.Trouble(), "");
  EXPECT_THAT(registry_.Text(), HasSubstr("store_errors_total{reason=\"no_room\"} 0\n"));
}

}  // namespace
}  // namespace lockstep
