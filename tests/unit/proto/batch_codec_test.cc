#include "proto/batch_codec.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <tuple>

#include "proto/column_codec.h"
#include "proto/column_reader.h"
#include "proto/instance_codec.h"
#include "tests/support/draws.h"
#include "tests/unit/proto/batch_samples.h"
#include "tests/unit/proto/refused.h"

namespace lockstep {
namespace {

using samples::MakeDecodeBatch;
using samples::MakeStream;

// Encodes a batch, lets the test change the message, and decodes the result.
template <typename Change>
absl::StatusOr<Batch> DecodeChanged(const Batch& batch, Change change) {
  v1::Batch message;
  EXPECT_TRUE(message.ParseFromString(EncodeBatch(batch)));
  change(message);
  return DecodeBatch(message.SerializeAsString());
}

// The same for the decompressed instance columns.
template <typename Change>
absl::StatusOr<Batch> DecodeChangedInstances(const Batch& batch, Change change) {
  return DecodeChanged(batch, [&](v1::Batch& message) {
    v1::InstanceBlock block;
    EXPECT_TRUE(codec::Unpack("instances", message.instances(), codec::kMaxInstanceBytes, &block).ok());
    change(block);
    message.clear_instances();
    codec::Pack(block, message.mutable_instances());
  });
}

Batch SmallBatch() {
  Batch batch = MakeDecodeBatch(1, 20);
  batch.instances[3].cover = {{10, 20}, {30, 40}};
  batch.instances[4].segment.tiles = {{1, 100, 200}};
  batch.instances[4].segment.other_comm_ns = 200;
  batch.instances[4].segment.compute_ns -= 200;
  return batch;
}

TEST(BatchCodec, EveryFieldComesBackEqual) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Batch& batch : MakeStream(seed, 3, 200)) {
      const absl::StatusOr<Batch> decoded = DecodeBatch(EncodeBatch(batch));
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_TRUE(*decoded == batch) << "seed " << seed << " batch " << batch.sequence;
    }
  }
}

TEST(BatchCodec, AnEmptyBatchComesBackEmpty) {
  Batch batch;
  batch.sequence = 7;
  const absl::StatusOr<Batch> decoded = DecodeBatch(EncodeBatch(batch));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(*decoded == batch);
}

TEST(BatchCodec, EqualBatchesGiveEqualBytes) {
  EXPECT_EQ(EncodeBatch(MakeStream(5, 2, 300)[1]), EncodeBatch(MakeStream(5, 2, 300)[1]));
}

TEST(BatchCodec, RowsOfEqualStartKeepTheirOrder) {
  Batch batch;
  for (uint32_t i = 0; i < 40; ++i) {
    InstanceRow row;
    row.start_ns = 100 + i / 8;
    row.communicator = (i * 7) % 5;
    row.stream = static_cast<int32_t>(i % 3);
    batch.instances.push_back(row);
  }
  const absl::StatusOr<Batch> decoded = DecodeBatch(EncodeBatch(batch));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(decoded->instances == batch.instances);
}

TEST(BatchCodec, SortedRowsOfSeveralCommunicatorsCarryNoPositions) {
  Batch batch = MakeStream(3, 3, 200)[2];
  std::stable_sort(batch.instances.begin(), batch.instances.end(), [](const InstanceRow& a, const InstanceRow& b) {
    return std::tie(a.start_ns, a.stream, a.name, a.communicator) <
           std::tie(b.start_ns, b.stream, b.name, b.communicator);
  });
  v1::InstanceBlock block;
  EncodeInstances(batch.instances, &block);
  ASSERT_GT(block.communicators_size(), 1);
  for (const v1::InstanceColumns& group : block.communicators()) EXPECT_EQ(group.position_size(), 0);
}

TEST(BatchCodec, DefaultColumnsAreLeftOut) {
  Batch batch;
  batch.instances.resize(100);
  for (size_t i = 0; i < 100; ++i) batch.instances[i].start_ns = static_cast<int64_t>(i);
  v1::InstanceBlock block;
  EncodeInstances(batch.instances, &block);
  const v1::InstanceColumns& columns = block.communicators(0);
  EXPECT_EQ(columns.start_ns_size(), 100);
  EXPECT_EQ(columns.seq_size() + columns.bytes_size() + columns.stream_size() + columns.name_size(), 0);
  EXPECT_FALSE(columns.has_segment() || columns.has_cover() || columns.has_step() || columns.has_launch_start_ns());
}

TEST(BatchCodec, ASentinelNeverTravels) {
  v1::InstanceBlock block;
  EncodeInstances(MakeStream(9, 1, 100)[0].instances, &block);
  for (const v1::InstanceColumns& columns : block.communicators()) {
    const auto steps = codec::GetSparse("step", columns.step(), columns.rows(), {0, codec::kAnyMax});
    EXPECT_TRUE(steps.ok()) << steps.status();
  }
}

TEST(BatchCodec, ATileThatDoesNotAddUpStillComesBackEqual) {
  Batch batch = SmallBatch();
  batch.instances[4].segment.compute_ns += 17;
  batch.instances[5].segment.other_comm_ns = 3;
  const absl::StatusOr<Batch> decoded = DecodeBatch(EncodeBatch(batch));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(decoded->instances == batch.instances);
}

size_t BytesOf(const std::vector<InstanceRow>& rows) {
  v1::InstanceBlock block;
  EncodeInstances(rows, &block);
  return codec::PackToBytes(block).size();
}

TEST(BatchCodec, RegularDecodeTakesAtMostSevenBytesAnInstance) {
  const Batch batch = MakeDecodeBatch(11, 4'096);
  const double bytes = static_cast<double>(BytesOf(batch.instances)) / 4'096;
  std::printf("all columns of a decode-like instance: %.2f bytes\n", bytes);
  EXPECT_LE(bytes, 7.0);
}

TEST(BatchCodec, StartAndDurationOfRegularDecodeTakeAtMostThreeAndAHalfBytes) {
  std::vector<InstanceRow> rows(4'096);
  const Batch batch = MakeDecodeBatch(12, 4'096);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].start_ns = batch.instances[i].start_ns;
    rows[i].duration_ns = batch.instances[i].duration_ns;
  }
  const double bytes = static_cast<double>(BytesOf(rows)) / 4'096;
  std::printf("start and duration of a decode-like instance: %.2f bytes\n", bytes);
  EXPECT_LE(bytes, 3.5);
}

TEST(BatchCodec, AnotherVersionIsRefused) {
  ExpectRefused(DecodeChanged(SmallBatch(), [](v1::Batch& m) { m.set_version(kBatchVersion + 1); }), "version 5");
  ExpectRefused(DecodeChanged(SmallBatch(), [](v1::Batch& m) { m.set_version(0); }), "version 0");
}

// The first version knew neither `coding` nor `slack_gap_ns`.
TEST(BatchCodec, AnOptionalColumnOfVersion1IsReadAsDeltas) {
  v1::SparseColumn column;
  column.add_runs(1);
  column.add_runs(3);
  for (const int64_t delta : {100, 5, -2}) column.add_values(delta);
  const auto values = codec::GetSparse("x", column, 4, {});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(*values, (codec::Sparse{std::nullopt, 100, 105, 103}));
}

TEST(BatchCodec, ASlackOfVersion1IsRead) {
  const auto decoded = DecodeChangedInstances(SmallBatch(), [](v1::InstanceBlock& block) {
    v1::SegmentColumns& segment = *block.mutable_communicators(0)->mutable_segment();
    segment.clear_slack_gap_ns();
    segment.add_second_slack_ns(77);
    for (uint32_t i = 1; i < block.communicators(0).rows(); ++i) segment.add_second_slack_ns(0);
  });
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(std::any_of(decoded->instances.begin(), decoded->instances.end(),
                          [](const InstanceRow& row) { return row.segment.second_slack_ns == 77; }));
}

// Values of every kind of regularity come back whatever is chosen to predict them.
TEST(BatchCodec, OptionalColumnsOfAnyShapeComeBack) {
  for (const int64_t period : {1, 2, 3, 4, 7}) {
    const int64_t unit = period == 4 ? 32 : 1;
    codec::Sparse values(1);
    int64_t value = INT64_MAX - 5'000;  // wraps on its way
    for (int64_t i = 0; i < 300; ++i) {
      value = codec::WrapAdd(value, unit * ((i % period) * 1'000 - (i * 7919) % 1'013));
      values.emplace_back(value == INT64_MIN ? 0 : value);
    }
    v1::SparseColumn column;
    codec::PutSparse(values, &column);
    const auto back = codec::GetSparse("x", column, values.size(), {});
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, values) << period;
  }
}

TEST(BatchCodec, LowBitsThatAreNotThereAreRefused) {
  v1::SparseColumn column;
  column.set_low_bits(9);
  column.add_runs(0);
  column.add_runs(1);
  column.add_values(1);
  column.set_lows("x");
  EXPECT_FALSE(codec::GetSparse("x", column, 1, {}).ok());
  column.set_lows("xy");
  EXPECT_TRUE(codec::GetSparse("x", column, 1, {}).ok());
  column.set_low_bits(40);
  EXPECT_FALSE(codec::GetSparse("x", column, 1, {}).ok());
}

TEST(BatchCodec, AnUnknownCodingIsRefused) {
  v1::SparseColumn column;
  column.set_coding((1u << 16) + 1);
  column.add_runs(0);
  column.add_runs(1);
  column.add_values(1);
  EXPECT_FALSE(codec::GetSparse("x", column, 1, {}).ok());
}

TEST(BatchCodec, ATotalThatIsNotTheNextSequenceIsRefused) {
  ExpectRefused(DecodeChanged(SmallBatch(), [](v1::Batch& m) { m.set_total_batches(5); }), "total_batches");
}

TEST(BatchCodec, ADecodedSizeBeyondTheLimitIsRefusedBeforeDecoding) {
  ExpectRefused(DecodeChanged(SmallBatch(), [](v1::Batch& m) { m.mutable_instances()->set_decoded_bytes(1u << 31); }),
                "limit");
}

TEST(BatchCodec, AWrongDecodedSizeIsRefused) {
  ExpectRefused(
      DecodeChanged(SmallBatch(),
                    [](v1::Batch& m) { m.mutable_instances()->set_decoded_bytes(m.instances().decoded_bytes() - 1); }),
      "declared");
}

TEST(BatchCodec, ADamagedFrameIsRefused) {
  ExpectRefused(DecodeChanged(SmallBatch(),
                              [](v1::Batch& m) {
                                std::string* bytes = m.mutable_instances()->mutable_zstd();
                                bytes->resize(bytes->size() / 2);
                              }),
                "instances");
}

// The starts and durations of the first communicator as version 1 sent them.
v1::InstanceColumns& PlainTimes(v1::InstanceBlock& block) {
  v1::InstanceColumns& columns = *block.mutable_communicators(0);
  columns.clear_packed();
  columns.clear_segment();
  columns.clear_start_ns();
  columns.clear_duration_ns();
  for (uint32_t i = 0; i < columns.rows(); ++i) {
    columns.add_start_ns(1'000);
    columns.add_duration_ns(i == 0 ? 500 : 0);
  }
  return columns;
}

TEST(BatchCodec, PlainColumnsAreRead) {
  const auto decoded = DecodeChangedInstances(MakeDecodeBatch(1, 20), [](v1::InstanceBlock& b) { PlainTimes(b); });
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->instances[1].start_ns, 1'000 + 500 + 1'000);
}

// As version 2 sent them: starts as mere gaps, covers as counts, gaps and lengths.
TEST(BatchCodec, StartsAndCoversOfVersion2AreRead) {
  Batch batch = SmallBatch();
  const auto decoded = DecodeChangedInstances(batch, [](v1::InstanceBlock& block) {
    v1::InstanceColumns& columns = PlainTimes(block);
    columns.set_start_less_parts(false);
    columns.clear_cover();
    for (uint32_t i = 0; i < columns.rows(); ++i) columns.mutable_cover()->add_pieces(i == 0 ? 2 : i == 1 ? -2 : 0);
    for (const int64_t gap : {40, -10}) columns.mutable_cover()->add_gap_ns(gap);
    for (const int64_t length : {100, 50}) columns.mutable_cover()->add_length_ns(length);
  });
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const auto row = std::find_if(decoded->instances.begin(), decoded->instances.end(),
                                [](const InstanceRow& r) { return r.cover.size() == 2; });
  ASSERT_NE(row, decoded->instances.end());
  EXPECT_EQ(row->start_ns, 1'000);
  EXPECT_EQ(row->cover[0], (std::pair<int64_t, int64_t>{40, 100}));
  EXPECT_EQ(row->cover[1], (std::pair<int64_t, int64_t>{30, 150}));
}

// The same for the decompressed tables.
template <typename Change>
absl::StatusOr<Batch> DecodeChangedTables(const Batch& batch, Change change) {
  return DecodeChanged(batch, [&](v1::Batch& message) {
    v1::TableBlock block;
    EXPECT_TRUE(codec::Unpack("tables", message.tables(), codec::kMaxTableBytes, &block).ok());
    change(block);
    message.clear_tables();
    codec::Pack(block, message.mutable_tables());
  });
}

Batch BatchOfALaunch(const Sketch& times) {
  Batch batch;
  batch.launches.resize(1);
  LaunchRow& row = batch.launches.front();
  row.total = row.api_time = row.queue = row.kernel_time = QuantileSummary(times);
  row.queue_count = times.count();
  return batch;
}

// As version 3 sent them: by sketches.
TEST(BatchCodec, LaunchesOfVersion3AreRead) {
  for (const int64_t distinct : {0, 1, 300, 2'000}) {
    Sketch times;
    for (int64_t i = 0; i < distinct; ++i) times.Add(i * i);
    const Batch batch = BatchOfALaunch(times);
    const auto decoded = DecodeChangedTables(batch, [&](v1::TableBlock& block) {
      v1::Launches& launch = *block.mutable_launches(0);
      launch.clear_total();
      launch.clear_api_time();
      launch.clear_queue();
      launch.clear_kernel_time();
      for (std::string* sketch : {launch.mutable_total_ns(), launch.mutable_api_ns(), launch.mutable_queue_ns(),
                                  launch.mutable_kernel_ns()}) {
        codec::PutSketch(times, sketch);
      }
    });
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_TRUE(decoded->launches == batch.launches) << distinct;
  }
}

TEST(BatchCodec, SummariesThatNoValuesHaveAreRefused) {
  Sketch times;
  for (int64_t i = 0; i < 2'000; ++i) times.Add(i * i);
  const auto changed = [&](auto change) {
    return DecodeChangedTables(BatchOfALaunch(times),
                               [&](v1::TableBlock& block) { change(*block.mutable_launches(0)->mutable_queue()); });
  };
  ExpectRefused(changed([](v1::QuantileSummary& m) { m.set_count(0); }),
                "launch queue: summary of a distribution: count");
  ExpectRefused(changed([](v1::QuantileSummary& m) { m.clear_values(); }), "0 values, expected 2");
  ExpectRefused(changed([](v1::QuantileSummary& m) { m.set_values(1, -1); }), "launch queue: value -1");
  ExpectRefused(changed([](v1::QuantileSummary& m) { m.set_buckets(0, 40'000); }), "launch queue: value 40000");
  ExpectRefused(changed([](v1::QuantileSummary& m) { m.clear_buckets(); }), "2 values, expected 8");
}

TEST(BatchCodec, TheTimesOfALaunchTakeAtMostFiftyBytesEach) {
  Sketch times;
  samples::Random random(3);
  for (int i = 0; i < 700; ++i) times.Add(100'000'000 + random.Below(100'000'000));
  const size_t one = EncodeBatch(BatchOfALaunch(times)).size() - EncodeBatch(BatchOfALaunch({})).size();
  EXPECT_LE(one, 4 * 50U);
}

// Of a rank that ticks every 32 ns, some a step.
Batch BatchOfLongest(int64_t count) {
  samples::Random random(7);
  KernelRow row;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = random.Below(5'000'000'000 / 32) * 32;
    row.longest.push_back({samples::kEpochNs + start, 100'000 / 32 * 32 + random.Below(700) * 32, start / 200'000'000});
  }
  row.longest.back().step = kNoStep;
  std::sort(row.longest.begin(), row.longest.end(), [](const Exemplar& a, const Exemplar& b) {
    return std::tie(b.duration_ns, a.start_ns) < std::tie(a.duration_ns, b.start_ns);
  });
  Batch batch;
  batch.kernels.push_back(row);
  return batch;
}

// As version 3 sent them: one by one. Whatever their order, they come back longest first.
TEST(BatchCodec, LongestInstancesOfVersion3AreRead) {
  const Batch batch = BatchOfLongest(100);
  const auto decoded = DecodeChangedTables(batch, [&](v1::TableBlock& block) {
    v1::Kernel& kernel = *block.mutable_kernels(0);
    kernel.clear_longest_instances();
    for (auto exemplar = batch.kernels[0].longest.rbegin(); exemplar != batch.kernels[0].longest.rend(); ++exemplar) {
      v1::Exemplar& entry = *kernel.add_longest();
      entry.set_start_ns(exemplar->start_ns);
      entry.set_duration_ns(exemplar->duration_ns);
      if (exemplar->step != kNoStep) entry.set_step(exemplar->step);
    }
  });
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(decoded->kernels == batch.kernels);
}

TEST(BatchCodec, LongestInstancesThatNoKernelHasAreRefused) {
  const auto changed = [&](auto change) {
    return DecodeChangedTables(BatchOfLongest(20), [&](v1::TableBlock& block) {
      v1::ExemplarColumns& longest = *block.mutable_kernels(0)->mutable_longest_instances();
      longest.clear_packed();
      longest.clear_start_ns();
      for (int i = 0; i < 20; ++i) longest.add_start_ns(i == 0 ? samples::kEpochNs : 10);
      change(longest);
    });
  };
  EXPECT_TRUE(changed([](v1::ExemplarColumns&) {}).ok());
  ExpectRefused(changed([](v1::ExemplarColumns& m) { m.set_rows(257); }), "rows: value 257");
  ExpectRefused(changed([](v1::ExemplarColumns& m) { m.clear_start_ns(); }), "rows without starts");
  ExpectRefused(changed([](v1::ExemplarColumns& m) { m.set_rows(19); }), "start: 20 entries for 19 rows");
  ExpectRefused(changed([](v1::ExemplarColumns& m) { m.mutable_start_ns()->RemoveLast(); }), "19 entries for 20 rows");
  ExpectRefused(changed([](v1::ExemplarColumns& m) { m.set_start_ns(0, INT64_MAX); }), "kernel longest: start");
  ExpectRefused(changed([](v1::ExemplarColumns& m) {
                  for (int i = 0; i < 20; ++i) m.add_duration_ns(-1);
                }),
                "kernel longest: duration: value -1");
}

TEST(BatchCodec, PlacesThatNoKernelHasAreRefused) {
  const auto changed = [](auto change) {
    return DecodeChangedTables(BatchOfLongest(20), [&](v1::TableBlock& block) { change(*block.mutable_kernels(0)); });
  };
  const auto add = [](v1::Kernel& kernel, int64_t step, int places) {
    for (int i = 0; i < places; ++i) kernel.add_places(step);
  };
  const auto most = changed([&](v1::Kernel& kernel) { add(kernel, 3, 64); });
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->kernels[0].places.back(), 3U * 64);
  ExpectRefused(changed([&](v1::Kernel& kernel) { add(kernel, 3, 65); }), "kernel places: entries: value 65");
  ExpectRefused(changed([&](v1::Kernel& kernel) { add(kernel, 0, 2); }), "kernel places: 0 not ascending");
  ExpectRefused(changed([&](v1::Kernel& kernel) { add(kernel, -1, 1); }), "kernel places: value -1");
  ExpectRefused(changed([&](v1::Kernel& kernel) { add(kernel, int64_t{1} << 32, 1); }),
                "kernel places: value 4294967296");
}

// Kernels of a step that repeats nothing; those of equal layers take less.
TEST(BatchCodec, APlaceOfAKernelTakesAtMostOneAndAHalfBytes) {
  samples::Random random(11);
  Batch batch;
  batch.kernels.resize(40);
  for (uint32_t place = 0; place < 40 * kMaxPlaces; ++place) {
    std::vector<uint32_t>& places = batch.kernels[random.As<size_t>(40)].places;
    if (places.size() < kMaxPlaces) places.push_back(place);
  }
  size_t count = 0;
  for (const KernelRow& row : batch.kernels) count += row.places.size();
  const size_t with = EncodeBatch(batch).size();
  for (KernelRow& row : batch.kernels) row.places.clear();
  const double bytes = static_cast<double>(with - EncodeBatch(batch).size()) / static_cast<double>(count);
  std::printf("place of a kernel: %.2f bytes\n", bytes);
  EXPECT_LE(bytes, 1.5);
}

TEST(BatchCodec, AKernelOfABatchBeforeThereWerePlacesHasNone) {
  Batch batch = BatchOfLongest(20);
  batch.kernels[0].places = {4, 7};
  const auto decoded =
      DecodeChangedTables(batch, [](v1::TableBlock& block) { block.mutable_kernels(0)->clear_places(); });
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  batch.kernels[0].places.clear();
  EXPECT_TRUE(decoded->kernels == batch.kernels);
}

TEST(BatchCodec, ALongInstanceOfAKernelTakesAtMostFiveAndAHalfBytes) {
  const auto bytes = static_cast<double>(EncodeBatch(BatchOfLongest(256)).size());
  std::printf("longest instance of a kernel: %.2f bytes\n", bytes / 256);
  EXPECT_LE(bytes, 5.5 * 256);
}

TEST(BatchCodec, ColumnsOfUnequalLengthAreRefused) {
  ExpectRefused(DecodeChangedInstances(SmallBatch(),
                                       [](v1::InstanceBlock& b) { PlainTimes(b).mutable_duration_ns()->RemoveLast(); }),
                "duration_ns: 19 entries for 20 rows");
}

TEST(BatchCodec, PackedColumnsOfUnequalLengthAreRefused) {
  ExpectRefused(DecodeChangedInstances(SmallBatch(),
                                       [](v1::InstanceBlock& b) {
                                         v1::PackedColumn& packed = *PlainTimes(b).add_packed();
                                         packed.set_field(v1::InstanceColumns::kDurationNsFieldNumber);
                                         packed.mutable_column()->add_values(1);
                                       }),
                "duration_ns: 1 packed values for 20 rows");
}

TEST(BatchCodec, AColumnPackedTwiceIsRefused) {
  ExpectRefused(DecodeChangedInstances(SmallBatch(),
                                       [](v1::InstanceBlock& b) {
                                         v1::InstanceColumns& columns = PlainTimes(b);
                                         for (int i = 0; i < 2; ++i) {
                                           columns.add_packed()->set_field(v1::InstanceColumns::kDurationNsFieldNumber);
                                         }
                                       }),
                "packed twice");
}

TEST(BatchCodec, ANegativeDurationIsRefused) {
  ExpectRefused(
      DecodeChangedInstances(SmallBatch(), [](v1::InstanceBlock& b) { PlainTimes(b).set_duration_ns(0, -1); }),
      "duration_ns: value -1");
}

TEST(BatchCodec, AnUnknownOperationIsRefused) {
  ExpectRefused(
      DecodeChangedInstances(SmallBatch(), [](v1::InstanceBlock& b) { b.mutable_communicators(0)->set_op(0, 15); }),
      "op: value 15");
}

TEST(BatchCodec, StartsThatGoBackAreRefused) {
  Batch batch = SmallBatch();
  std::swap(batch.instances[2], batch.instances[9]);
  ExpectRefused(DecodeBatch(EncodeBatch(batch)), "starts at");
}

TEST(BatchCodec, AHugeRowCountWithoutColumnsIsRefused) {
  ExpectRefused(DecodeChangedInstances(SmallBatch(),
                                       [](v1::InstanceBlock& b) {
                                         b.clear_communicators();
                                         b.add_communicators()->set_rows(1u << 30);
                                       }),
                "instances");
}

TEST(BatchCodec, TileCountsThatDoNotAddUpAreRefused) {
  ExpectRefused(DecodeChangedInstances(
                    SmallBatch(),
                    [](v1::InstanceBlock& b) { b.mutable_communicators(0)->mutable_segment()->add_tile_instance(1); }),
                "segment.tiles");
}

TEST(BatchCodec, ACoverBeyondTheInstanceIsRefused) {
  Batch batch = SmallBatch();
  batch.instances[3].cover.emplace_back(0, batch.instances[3].duration_ns);
  ExpectRefused(DecodeBatch(EncodeBatch(batch)), "cover");
}

// Pieces at the start, in the middle and at the end, next to instances without any.
TEST(BatchCodec, CoversOfAnyShapeComeBack) {
  Batch batch = MakeDecodeBatch(21, 2'000);
  samples::Random random(22);
  for (InstanceRow& row : batch.instances) {
    row.cover.clear();
    const int64_t third = row.duration_ns / 3;
    if (random.Chance(30)) row.cover.emplace_back(0, random.Below(third + 1));
    if (random.Chance(30)) row.cover.emplace_back(random.Below(third / 2 + 1), random.Below(third / 2 + 1));
    int64_t left = row.duration_ns;
    for (const auto& [gap, length] : row.cover) left -= gap + length;
    if (random.Chance(30)) row.cover.emplace_back(left - left / 4, left / 4);
  }
  const auto decoded = DecodeBatch(EncodeBatch(batch));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->instances, batch.instances);
}

TEST(BatchCodec, CoversOfThousandsOfPiecesComeBack) {
  Batch batch = SmallBatch();
  InstanceRow& row = batch.instances[3];
  row.cover.clear();
  row.duration_ns = 1'000'000;
  for (int i = 0; i < 5'000; ++i) row.cover.emplace_back(10, 20 + i % 7);
  const auto decoded = DecodeBatch(EncodeBatch(batch));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->instances[3].cover, row.cover);
}

TEST(BatchCodec, SparseRunsThatMissTheRowsAreRefused) {
  ExpectRefused(
      DecodeChangedInstances(SmallBatch(),
                             [](v1::InstanceBlock& b) { b.mutable_communicators(0)->mutable_step()->add_runs(3); }),
      "step");
}

TEST(BatchCodec, RepeatedPositionsAreRefused) {
  Batch batch;
  for (uint32_t i = 0; i < 4; ++i) batch.instances.emplace_back().communicator = 1 - i % 2;
  ExpectRefused(DecodeChangedInstances(batch,
                                       [](v1::InstanceBlock& b) {
                                         ASSERT_EQ(b.communicators_size(), 2);
                                         *b.mutable_communicators(0)->mutable_position() =
                                             b.communicators(1).position();
                                       }),
                "position");
}

TEST(BatchCodec, ADamagedSketchIsRefused) {
  Batch batch = MakeStream(2, 1, 1)[0];
  ExpectRefused(DecodeChanged(batch,
                              [](v1::Batch& m) {
                                v1::TableBlock block;
                                ASSERT_TRUE(codec::Unpack("t", m.tables(), codec::kMaxTableBytes, &block).ok());
                                block.mutable_kernels(0)->mutable_slices(0)->set_duration_ns("\x01\x07");
                                m.clear_tables();
                                codec::Pack(block, m.mutable_tables());
                              }),
                "kernel slice");
}

// A batch whose summary has these overlaps of steps, decoded after the test changed the message.
template <typename Change>
absl::StatusOr<Batch> DecodeChangedOverlaps(Change change) {
  Batch batch;
  batch.total_batches = 1;
  batch.summary.emplace();
  batch.summary->step_overlaps = {{1, 1, {}}, {1, 2, {}}, {2, 2, {}}};
  return DecodeChanged(batch, [&](v1::Batch& message) {
    v1::TableBlock block;
    EXPECT_TRUE(codec::Unpack("tables", message.tables(), codec::kMaxTableBytes, &block).ok());
    change(*block.mutable_summary()->mutable_step_overlaps());
    message.clear_tables();
    codec::Pack(block, message.mutable_tables());
  });
}

TEST(BatchCodec, OverlapsOfStepsOutOfOrderAreRefused) {
  EXPECT_TRUE(DecodeChangedOverlaps([](v1::StepOverlapColumns&) {}).ok());
  const auto set = [](codec::Ints* column, std::initializer_list<int64_t> values) {
    column->Clear();
    codec::PutDeltas(std::vector<int64_t>(values), column);
  };
  ExpectRefused(DecodeChangedOverlaps([&](v1::StepOverlapColumns& in) {
                  set(in.mutable_upper(), {1, 0, 2});
                }),
                "step_overlaps: steps 1, 0 in row 1 are out of order");
  ExpectRefused(DecodeChangedOverlaps([&](v1::StepOverlapColumns& in) {
                  set(in.mutable_upper(), {1, 1, 2});
                }),
                "out of order");
  ExpectRefused(DecodeChangedOverlaps([&](v1::StepOverlapColumns& in) {
                  set(in.mutable_lower(), {1, 1, INT64_MIN});
                }),
                "lower");
}

TEST(BatchCodec, ANegativePeakOfTheAllocationIsRefused) {
  Batch batch;
  batch.summary.emplace();
  ExpectRefused(
      DecodeChanged(batch,
                    [](v1::Batch& message) {
                      v1::TableBlock block;
                      EXPECT_TRUE(codec::Unpack("tables", message.tables(), codec::kMaxTableBytes, &block).ok());
                      block.mutable_summary()->set_allocation_peak_bytes(-3'120);
                      message.clear_tables();
                      codec::Pack(block, message.mutable_tables());
                    }),
      "allocation_peak_bytes");
}

TEST(BatchCodec, OverlapsOfStepsBeyondTheirLimitAreRefused) {
  ExpectRefused(DecodeChangedOverlaps([](v1::StepOverlapColumns& in) { in.set_rows(kMaxStepOverlaps + 1); }),
                "step_overlaps");
  ExpectRefused(DecodeChangedOverlaps([](v1::StepOverlapColumns& in) { in.set_rows(2); }), "lower");
  ExpectRefused(DecodeChangedOverlaps([](v1::StepOverlapColumns& in) { in.mutable_measure()->add_span_ns(1); }),
                "span_ns");
}

TEST(BatchCodec, EveryPrefixOfABatchIsRefusedOrDecodesWithoutACrash) {
  const std::string bytes = EncodeBatch(MakeStream(4, 1, 30)[0]);
  size_t refused = 0;
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    if (!DecodeBatch(std::string_view(bytes).substr(0, cut)).ok()) ++refused;
  }
  EXPECT_GT(refused, bytes.size() / 2);
}

TEST(BatchCodec, DamagedColumnsNeverCrash) {
  const Batch batch = MakeStream(6, 1, 30)[0];
  samples::Random random(99);
  int refused = 0;
  for (int round = 0; round < Draws(3'000); ++round) {
    const auto damage = [&random](std::string bytes) {
      for (int64_t k = 1 + random.Below(4); k > 0; --k) {
        bytes[static_cast<size_t>(random.Below(static_cast<int64_t>(bytes.size())))] = static_cast<char>(random.Bits());
      }
      return bytes;
    };
    v1::InstanceBlock block;
    EncodeInstances(batch.instances, &block);
    v1::InstanceBlock damaged;
    if (!damaged.ParseFromString(damage(block.SerializeAsString()))) continue;
    if (!DecodeInstances(damaged.SerializeAsString()).ok()) ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST(BatchCodec, NamesOfInvalidUtf8AreRepaired) {
  Batch batch;
  batch.names.push_back({0, HashOf("x"),
                         "ab\xff"
                         "c"});
  const absl::StatusOr<Batch> decoded = DecodeBatch(EncodeBatch(batch));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->names[0].text,
            "ab\xef\xbf\xbd"
            "c");
}

}  // namespace
}  // namespace lockstep
