// The canonical text of a store: equal data give equal bytes, different data differ.
#include "aggregator/store/dump/store_dump.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/dump/value_text.h"
#include "aggregator/store/sqlite/schema_sql.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/received_batch.h"
#include "analysis/model/row_values.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"
#include "tests/unit/proto/batch_samples.h"

namespace lockstep {
namespace {

using samples::MakeContext;
using samples::MakeStream;
using testing::HasSubstr;
using testing::Not;

class StoreDumpTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "store-dump-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
  }

  [[nodiscard]] std::string Path(const std::string& file) const { return dir_->path() + "/" + file; }

  std::unique_ptr<SqliteStore> OpenFile(const std::string& file) {
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(Path(file));
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  std::string Dump(const std::string& file) {
    std::string text;
    const absl::Status dumped = DumpStore(Path(file), [&](std::string_view piece) {
      text += piece;
      return absl::OkStatus();
    });
    EXPECT_TRUE(dumped.ok()) << dumped;
    return text;
  }

  void Change(const std::string& file, const std::string& sql) {
    absl::StatusOr<Database> db = Database::Open(Path(file), Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db.ok()) << db.status();
    const absl::Status done = db->Execute(sql);
    ASSERT_TRUE(done.ok()) << done << ": " << sql;
  }

  std::optional<TempDir> dir_;
};

void Put(SqliteStore& store, const std::string& run, uint64_t seed, const Batch& batch) {
  const absl::Status put = store.PutBatch(run, MakeContext(seed).source_id, HashOf(EncodeBatch(batch)), batch);
  ASSERT_TRUE(put.ok()) << put;
}

FileNote NoteOf(const std::string& path) {
  FileNote note = {path, "kineto", "used"};
  note.host = "node0";
  return note;
}

// --- whatever the order of arrival ---

TEST_F(StoreDumpTest, TheOrderOfArrivalChangesNoByte) {
  const std::vector<std::vector<Batch>> streams = {MakeStream(1, 4, 60), MakeStream(2, 4, 60), MakeStream(3, 4, 60)};
  const auto first = OpenFile("first.db");
  for (const std::string run : {"a", "b"}) {
    ASSERT_TRUE(first->OpenRun(run, 3).ok());
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      ASSERT_TRUE(first->PutSource(run, MakeContext(seed)).ok());
      for (const Batch& batch : streams[seed - 1]) Put(*first, run, seed, batch);
      ASSERT_TRUE(first->PutFileNote(run, NoteOf("file" + std::to_string(seed))).ok());
    }
  }
  const auto second = OpenFile("second.db");
  ASSERT_TRUE(second->OpenRun("dropped", -1).ok());
  ASSERT_TRUE(second->PutSource("dropped", MakeContext(2)).ok());
  Put(*second, "dropped", 2, streams[1][0]);
  for (const std::string run : {"b", "a"}) {
    ASSERT_TRUE(second->OpenRun(run, 3).ok());
    for (uint64_t seed = 3; seed >= 1; --seed) {
      ASSERT_TRUE(second->PutFileNote(run, NoteOf("file" + std::to_string(seed))).ok());
      ASSERT_TRUE(second->PutSource(run, MakeContext(seed)).ok());
    }
    for (size_t batch = 0; batch < 4; ++batch) {
      for (uint64_t seed = 3; seed >= 1; --seed) {
        Put(*second, run, seed, streams[seed - 1][batch]);
        Put(*second, run, seed, streams[seed - 1][batch / 2]);  // and some again
      }
    }
    ASSERT_TRUE(second->PutRanks(run, {{MakeContext(1).source_id, 5}}).ok());
    ASSERT_TRUE(second->MarkAnalysed(run).ok());
  }
  ASSERT_TRUE(second->DropRun("dropped").ok());
  EXPECT_EQ(Dump("first.db"), Dump("second.db"));
}

TEST_F(StoreDumpTest, WhetherABatchWasSentOrMadeHereChangesNoByte) {
  for (const bool was_sent : {false, true}) {
    const auto store = OpenFile(was_sent ? "sent.db" : "made.db");
    ASSERT_TRUE(store->OpenRun("run", -1).ok());
    ASSERT_TRUE(store->PutSource("run", MakeContext(1)).ok());
    for (const Batch& batch : MakeStream(1, 3, 50)) {
      const std::string body = EncodeBatch(batch);
      const Hash128 id = MakeContext(1).source_id;
      ASSERT_TRUE(
          store->PutBatch("run", id, HashOf(body), was_sent ? *DecodeForStore(body) : ReceivedBatch(batch)).ok());
    }
  }
  EXPECT_EQ(Dump("sent.db"), Dump("made.db"));
}

TEST_F(StoreDumpTest, LaunchesStoredAsSketchesAreToldAndLoadedLikeNewerOnes) {
  Sketch times;
  for (int64_t i = 0; i < 300; ++i) times.Add(i * i);
  Batch batch = MakeStream(1, 1, 10)[0];
  batch.launches.resize(1);
  LaunchRow& row = batch.launches.front();
  row.total = row.api_time = row.queue = row.kernel_time = QuantileSummary(times);
  v1::Launches older;
  older.set_api(row.api);
  older.set_kernel(row.kernel);
  older.set_queue_count(row.queue_count);
  if (row.tid >= 0) older.set_tid(row.tid);
  for (std::string* sketch :
       {older.mutable_total_ns(), older.mutable_api_ns(), older.mutable_queue_ns(), older.mutable_kernel_ns()}) {
    times.EncodeTo(*sketch);
  }
  for (const std::string file : {"newer.db", "older.db"}) {
    const auto store = OpenFile(file);
    ASSERT_TRUE(store->OpenRun("run", -1).ok());
    ASSERT_TRUE(store->PutSource("run", MakeContext(1)).ok());
    Put(*store, "run", 1, batch);
  }
  std::string hex;
  AppendHex(older.SerializeAsString(), &hex);
  Change("older.db", fmt::format("UPDATE launch SET row = x'{}'", hex));
  EXPECT_EQ(Dump("older.db"), Dump("newer.db"));
  const auto loaded = OpenFile("older.db")->LoadRun("run");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::vector<LaunchRow>& launches = loaded->data.sources[0].launches;
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_TRUE(launches[0].queue == row.queue && launches[0].total == row.total);
}

TEST_F(StoreDumpTest, NoTextOfTheDumpDependsOnWhenItWasWritten) {
  for (const std::string file : {"a.db", "b.db"}) {
    const auto store = OpenFile(file);
    ASSERT_TRUE(store->OpenRun("run", -1).ok());
    ASSERT_TRUE(store->PutSource("run", MakeContext(1)).ok());
    Put(*store, "run", 1, MakeStream(1, 1, 10)[0]);
  }
  Change("b.db",
         "UPDATE run SET revision = 99, analysed_revision = 99, changed_unix_ns = 1, sources = 9, names = 9, files = 9;"
         "UPDATE source SET rank = 7; UPDATE batch SET instance_bytes = 1");
  EXPECT_EQ(Dump("a.db"), Dump("b.db"));
}

// --- every datum ---

class OneRunTest : public StoreDumpTest {
 protected:
  // All batches have one hash, so that only what is inside tells them apart.
  void Fill(const std::string& file, const std::vector<Batch>& stream, const SourceContext& context,
            const FileNote& note) {
    const auto store = OpenFile(file);
    ASSERT_TRUE(store->OpenRun("run", 4).ok());
    ASSERT_TRUE(store->PutSource("run", context).ok());
    for (const Batch& batch : stream) {
      const absl::Status put = store->PutBatch("run", context.source_id, HashOf("same"), batch);
      ASSERT_TRUE(put.ok()) << put;
    }
    ASSERT_TRUE(store->PutFileNote("run", note).ok());
  }

  const std::vector<Batch> stream_ = MakeStream(7, 2, 12);
  const SourceContext context_ = MakeContext(1);
};

TEST_F(OneRunTest, AChangeOfAnyColumnThatIsNoBookkeepingShows) {
  Fill("base.db", stream_, context_, NoteOf("f"));
  const std::string want = Dump("base.db");
  const std::set<std::string> keeping = {
      "run.id",      "run.revision",     "run.analysed_revision", "run.changed_unix_ns", "source.id",
      "source.rank", "name.id",          "batch.instance_bytes",  "run.sources",         "run.names",
      "run.files",   "file_note.note_id"};
  std::vector<std::pair<std::string, std::string>> columns;
  {
    absl::StatusOr<Database> db = Database::Open(Path("base.db"), Database::Mode::kReadWriteCreate);
    for (const std::string_view table : kStoreTables) {
      // What is no content is told by nobody; instances by communicator and kernels of steps one by one are in older
      // stores only (store_migration_test).
      if (!HoldsContent(table) || table == "instance_block" || table == "step_kernel") continue;
      absl::StatusOr<Statement> names = db->Prepare(fmt::format("SELECT name FROM pragma_table_info('{}')", table));
      while (*names->Step()) columns.emplace_back(table, names->Text(0));
    }
  }
  ASSERT_GT(columns.size(), 150U);
  for (const auto& [table, column] : columns) {
    // Which run or source a row belongs to is told by a row id: the orders of arrival above are about those.
    const bool owner = column == "source" || column == "run";
    if (owner || keeping.contains(table + "." + column)) continue;
    std::filesystem::copy_file(Path("base.db"), Path("changed.db"), std::filesystem::copy_options::overwrite_existing);
    Change(
        "changed.db",
        fmt::format("UPDATE \"{0}\" SET \"{1}\" = CASE typeof(\"{1}\") WHEN 'integer' THEN \"{1}\" + "
                    "1000000 WHEN 'text' THEN \"{1}\" || 'x' WHEN 'null' THEN 1 ELSE CAST(\"{1}\" || 'x' AS BLOB) END",
                    table, column));
    std::string text;
    const absl::Status dumped = DumpStore(Path("changed.db"), [&](std::string_view piece) {
      text += piece;
      return absl::OkStatus();
    });
    EXPECT_TRUE(!dumped.ok() || text != want) << table << "." << column;
    EXPECT_TRUE(dumped.ok() || absl::IsDataLoss(dumped)) << table << "." << column << " " << dumped;
  }
}

template <typename What>
struct Mutation {
  const char* name;
  std::function<void(What&)> apply;
};

const std::vector<Mutation<InstanceRow>>& InstanceMutations() {
  static const std::vector<Mutation<InstanceRow>> all = {
      {"duration_ns", [](InstanceRow& r) { ++r.duration_ns; }},
      {"launch_start_ns", [](InstanceRow& r) { r.launch_start_ns = 5; }},
      {"launch_end_ns", [](InstanceRow& r) { r.launch_end_ns = 6; }},
      {"seq", [](InstanceRow& r) { r.seq = r.seq + 12345; }},
      {"bytes", [](InstanceRow& r) { r.bytes = r.bytes + 12345; }},
      {"step", [](InstanceRow& r) { r.step = 12345; }},
      {"graph_launch", [](InstanceRow& r) { r.graph_launch += 12345; }},
      {"graph_position", [](InstanceRow& r) { r.graph_position += 12345; }},
      {"comms_id", [](InstanceRow& r) { r.has_comms_id = true, r.comms_id += 1; }},
      {"has_comms_id", [](InstanceRow& r) { r.has_comms_id = !r.has_comms_id, r.comms_id = 0; }},
      {"name", [](InstanceRow& r) { r.name = r.name == 0 ? 1 : 0; }},
      {"communicator", [](InstanceRow& r) { r.communicator = r.communicator == 0 ? 1 : 0; }},
      {"stream", [](InstanceRow& r) { r.stream += 100; }},
      {"peer", [](InstanceRow& r) { r.peer += 100; }},
      {"root", [](InstanceRow& r) { r.root += 100; }},
      {"op",
       [](InstanceRow& r) {
         r.op = r.op == CollectiveOp::kAllReduce ? CollectiveOp::kUnknown : CollectiveOp::kAllReduce;
       }},
      {"dtype",
       [](InstanceRow& r) { r.dtype = r.dtype == DataType::kBfloat16 ? DataType::kUnknown : DataType::kBfloat16; }},
      {"library",
       [](InstanceRow& r) {
         r.library = r.library == CollectiveLibrary::kNccl ? CollectiveLibrary::kNone : CollectiveLibrary::kNccl;
       }},
      {"begin_ns", [](InstanceRow& r) { r.segment = {.begin_ns = 17}; }},
      {"compute_ns", [](InstanceRow& r) { ++r.segment.compute_ns; }},
      {"copy_ns", [](InstanceRow& r) { ++r.segment.copy_ns; }},
      {"other_comm_ns", [](InstanceRow& r) { ++r.segment.other_comm_ns; }},
      {"host_ns", [](InstanceRow& r) { ++r.segment.host_ns; }},
      {"launch_ns", [](InstanceRow& r) { ++r.segment.launch_ns; }},
      {"dependency_ns", [](InstanceRow& r) { ++r.segment.dependency_ns; }},
      {"rest_ns", [](InstanceRow& r) { ++r.segment.rest_ns; }},
      {"second_slack_ns", [](InstanceRow& r) { r.segment.second_slack_ns += 3; }},
      {"tile.instance",
       [](InstanceRow& r) {
         r.segment.tiles.push_back({0, 1, 2});
       }},
      {"tile.offset",
       [](InstanceRow& r) {
         r.segment.tiles = {{0, 9, 2}};
       }},
      {"cover",
       [](InstanceRow& r) {
         r.duration_ns += 10, r.cover = {{0, 1}};
       }},
  };
  return all;
}

TEST_F(OneRunTest, AChangeOfAnyFieldOfAnInstanceShows) {
  std::vector<Batch> base = stream_;
  InstanceRow& plain = base[1].instances[8];
  plain.segment = {.begin_ns = plain.start_ns - 100, .compute_ns = 100};
  plain.cover.clear();
  Fill("base.db", base, context_, NoteOf("f"));
  const std::string want = Dump("base.db");
  for (const Mutation<InstanceRow>& mutation : InstanceMutations()) {
    std::vector<Batch> changed = base;
    mutation.apply(changed[1].instances[8]);
    const std::string file = std::string(mutation.name) + ".db";
    Fill(file, changed, context_, NoteOf("f"));
    EXPECT_NE(Dump(file), want) << mutation.name;
  }
}

TEST_F(OneRunTest, AChangeInsideAnyBlobShows) {
  const std::vector<Mutation<Batch>> mutations = {
      {"name", [](Batch& b) { b.names[0].text += "x"; }},
      {"communicator", [](Batch& b) { b.communicators[0].elided_unresolved = !b.communicators[0].elided_unresolved; }},
      {"communicator known", [](Batch& b) { b.communicators[0].known = !b.communicators[0].known; }},
      {"members", [](Batch& b) { b.communicators[0].members.back() += 1; }},
      {"kernel mangled", [](Batch& b) { b.kernels[0].mangled = b.kernels[0].mangled == 1 ? 0 : 1; }},
      {"kernel range", [](Batch& b) { b.kernels[0].range = b.kernels[0].range == 1 ? 0 : 1; }},
      {"kernel graph", [](Batch& b) { b.kernels[0].from_graph = !b.kernels[0].from_graph; }},
      {"kernel shape",
       [](Batch& b) {
         b.kernels[0].has_shape = true, b.kernels[0].shape = {{7, 7, 7}, {64, 1, 1}};
       }},
      {"kernel phase", [](Batch& b) { b.kernels[0].phase = "other"; }},
      {"kernel rest", [](Batch& b) { b.kernels[0].is_rest = !b.kernels[0].is_rest; }},
      {"kernel dtype", [](Batch& b) { b.kernels[0].kind.dtype = DataType::kBfloat16; }},
      {"kernel slice index", [](Batch& b) { b.kernels[0].slices.back().first += 1; }},
      {"kernel duration", [](Batch& b) { b.kernels[0].slices[0].second.Add(77); }},
      {"kernel longest",
       [](Batch& b) {
         b.kernels[0].longest = {{1, 2'000'000, 3}};
       }},
      {"kernel longest step",
       [](Batch& b) {
         b.kernels[0].longest = {{1, 2'000'000, kNoStep}};
       }},
      {"kernel places",
       [](Batch& b) {
         b.kernels[0].places = {7, 9};
       }},
      {"bucket", [](Batch& b) { b.buckets[1].measure.idle_other_ns += 1; }},
      {"bucket index", [](Batch& b) { b.buckets.back().index += 1; }},
      {"memory source",
       [](Batch& b) {
         b.memory[0].source = b.memory[0].source == MemoryKind::kUnknown ? MemoryKind::kDevice : MemoryKind::kUnknown;
       }},
      {"memory device", [](Batch& b) { b.memory[0].on_device = !b.memory[0].on_device; }},
      {"memory blocking", [](Batch& b) { b.memory[0].blocking += 1; }},
      {"memory bandwidth", [](Batch& b) { b.memory[0].bandwidth_bytes_per_s.Add(5); }},
      {"api kind",
       [](Batch& b) { b.apis[0].kind = b.apis[0].kind == ApiKind::kOther ? ApiKind::kLaunch : ApiKind::kOther; }},
      {"api delay", [](Batch& b) { b.apis[0].launch_delay.Add(5); }},
      {"range style",
       [](Batch& b) {
         b.ranges[0].style = b.ranges[0].style == HostKind::kRange ? HostKind::kMark : HostKind::kRange;
       }},
      {"range projected", [](Batch& b) { b.ranges[0].projected.Add(5); }},
      {"launch queue count", [](Batch& b) { b.launches[0].queue_count += 1; }},
      {"launch queue",
       [](Batch& b) { b.launches[0].queue = QuantileSummary(Sketch::OfSorted(std::vector<int64_t>{5})); }},
      {"summary drops",
       [](Batch& b) {
         if (b.summary) b.summary->drops.Add(DropReason::kZeroTime, 1);
       }},
      {"summary gaps",
       [](Batch& b) {
         if (b.summary) b.summary->gaps.Add(3);
       }},
      {"summary streams",
       [](Batch& b) {
         if (b.summary) b.summary->streams[0].other_ns += 1;
       }},
      {"summary allocation",
       [](Batch& b) {
         if (b.summary) b.summary->allocation[1].level_bytes += 1;
       }},
      {"summary peak time",
       [](Batch& b) {
         if (b.summary) b.summary->allocation_peak_at_ns += 1;
       }},
  };
  Fill("base.db", stream_, context_, NoteOf("f"));
  std::set<std::string> dumps = {Dump("base.db")};
  for (const Mutation<Batch>& mutation : mutations) {
    std::vector<Batch> changed = stream_;
    mutation.apply(changed[1]);
    const std::string file = std::string(mutation.name) + ".db";
    Fill(file, changed, context_, NoteOf("f"));
    EXPECT_TRUE(dumps.insert(Dump(file)).second) << mutation.name;
  }
}

TEST_F(OneRunTest, AChangeOfAContextOrANoteShows) {
  Fill("base.db", stream_, context_, NoteOf("f"));
  std::set<std::string> dumps = {Dump("base.db")};
  const std::vector<Mutation<SourceContext>> contexts = {
      {"option", [](SourceContext& c) { c.options["with_stack"] = "true"; }},
      {"group member", [](SourceContext& c) { c.groups[0].members[1] = 9; }},
      {"diagnostic", [](SourceContext& c) { c.diagnostics[0] += "!"; }},
      {"second claim", [](SourceContext& c) { c.claims[1].rank += 1; }},
      {"base time", [](SourceContext& c) { c.base_unix_ns += 1; }},
      {"overhead", [](SourceContext& c) { c.overhead_ns += 1; }},
  };
  for (const Mutation<SourceContext>& mutation : contexts) {
    SourceContext changed = context_;
    mutation.apply(changed);
    const std::string file = std::string(mutation.name) + ".db";
    Fill(file, stream_, changed, NoteOf("f"));
    EXPECT_TRUE(dumps.insert(Dump(file)).second) << mutation.name;
  }
  FileNote note = NoteOf("f");
  note.drops.Add(DropReason::kResync, 2);
  Fill("note.db", stream_, context_, note);
  EXPECT_TRUE(dumps.insert(Dump("note.db")).second);
}

// --- readable, harmless, whole or an error ---

TEST_F(OneRunTest, NamesOfATraceCannotReachTheTerminal) {
  std::vector<Batch> stream = stream_;
  stream[0].names[0].text = "evil\x1b[31m\nrow \"quoted\" \xc3\xa9";
  Fill("base.db", stream, context_, NoteOf("f"));
  const std::string text = Dump("base.db");
  EXPECT_THAT(text, HasSubstr(R"("evil\x1b[31m\x0arow \"quoted\" \xc3\xa9")"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(OneRunTest, ADumpOfAStoreInUseIsOneSnapshot) {
  const auto store = OpenFile("live.db");
  ASSERT_TRUE(store->OpenRun("run", -1).ok());
  ASSERT_TRUE(store->PutSource("run", context_).ok());
  Put(*store, "run", 1, stream_[0]);
  const std::string before = Dump("live.db");
  std::string during;
  bool written = false;
  const absl::Status dumped = DumpStore(Path("live.db"), [&](std::string_view piece) {
    during += piece;
    if (!written && piece.starts_with("run ")) {
      written = true;
      Put(*store, "run", 1, stream_[1]);
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(dumped.ok()) << dumped;
  ASSERT_TRUE(written);
  EXPECT_EQ(during, before);
  EXPECT_NE(Dump("live.db"), before);
}

TEST_F(OneRunTest, ADumpComesInPieces) {
  Fill("base.db", MakeStream(7, 30, 40), context_, NoteOf("f"));
  size_t whole = 0;
  size_t largest = 0;
  const absl::Status dumped = DumpStore(Path("base.db"), [&](std::string_view piece) {
    whole += piece.size();
    largest = std::max(largest, piece.size());
    EXPECT_TRUE(piece.ends_with('\n'));
    return absl::OkStatus();
  });
  ASSERT_TRUE(dumped.ok()) << dumped;
  EXPECT_LT(largest * 20, whole);
}

TEST_F(OneRunTest, RowsThatBelongToNothingAreADamage) {
  Fill("base.db", stream_, context_, NoteOf("f"));
  Change("base.db", "UPDATE batch SET source = 77 WHERE sequence = 1");
  const absl::Status dumped = DumpStore(Path("base.db"), [](std::string_view) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsDataLoss(dumped)) << dumped;
  EXPECT_THAT(std::string(dumped.message()), HasSubstr("1 rows of table batch"));
}

TEST_F(OneRunTest, ABlobThatDoesNotDecodeIsADamage) {
  Fill("base.db", stream_, context_, NoteOf("f"));
  Change("base.db", "UPDATE kernel SET rows = x'ff00ff'");
  const absl::Status dumped = DumpStore(Path("base.db"), [](std::string_view) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsDataLoss(dumped)) << dumped;
  EXPECT_THAT(std::string(dumped.message()), HasSubstr("kernel.rows"));
}

TEST_F(StoreDumpTest, AFileThatIsNotThereIsToldAndNotMade) {
  const absl::Status dumped = DumpStore(Path("no.db"), [](std::string_view) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsNotFound(dumped)) << dumped;
  EXPECT_FALSE(std::filesystem::exists(Path("no.db")));
}

TEST_F(OneRunTest, AnErrorOfTheReaderEndsTheDump) {
  Fill("base.db", stream_, context_, NoteOf("f"));
  int pieces = 0;
  const absl::Status dumped = DumpStore(Path("base.db"), [&](std::string_view) {
    return ++pieces == 3 ? absl::CancelledError("enough") : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsCancelled(dumped)) << dumped;
  EXPECT_EQ(pieces, 3);
}

}  // namespace
}  // namespace lockstep
