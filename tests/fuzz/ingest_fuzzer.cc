// Messages of several agents in any order, with any sequence, hash and body, over a store that now and then fails:
// nothing is acknowledged that is not durable, what is durable stays as it was when it is sent again, a stream holds no
// more sources than it may, and every error is one that an agent is told.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/ingest/ingest_session.h"
#include "aggregator/store/forwarding_store.h"
#include "aggregator/store/memory/memory_store.h"
#include "analysis/base/check.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

namespace lockstep {
namespace {

constexpr size_t kAgents = 3;
constexpr size_t kMaxSources = 2;
constexpr size_t kMaxMessages = 256;
// Few runs and sources, so that agents meet.
constexpr std::array<const char*, 5> kRuns = {"one", "one", "one", "two", "bad\nname"};

// Takes values off the input; zeros at its end.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  size_t Below(size_t n) {
    if (rest_.empty()) return 0;
    const size_t value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value % n;
  }
  bool OneIn(size_t n) { return Below(n) == n - 1; }

 private:
  std::string_view rest_;
};

struct Held {
  std::vector<Hash128> hashes;  // by sequence
  bool complete = false;
};
// What a plain reader of the protocol says must be in the store: run -> source -> batches.
using Durable = std::map<std::string, std::map<Hash128, Held>>;

// Fails when told to, and writes down what succeeded.
class WatchedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  absl::Status DropRun(const std::string& run) override {
    durable.erase(run);
    return ForwardingStore::DropRun(run);
  }
  absl::StatusOr<StoredSource> PutSource(const std::string& run, const SourceContext& context) override {
    auto stored = ForwardingStore::PutSource(run, context);
    if (stored.ok()) durable[run].try_emplace(context.source_id);
    return stored;
  }
  absl::Status PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                        const ReceivedBatch& batch) override {
    if (fails) return absl::ResourceExhaustedError("the disk is full");
    absl::Status put = ForwardingStore::PutBatch(run, source, hash, batch);
    if (put.ok()) Note(durable[run][source], hash, batch.batch);
    return put;
  }

  bool fails = false;
  Durable durable;

 private:
  static void Note(Held& held, const Hash128& hash, const Batch& batch) {
    LOCKSTEP_CHECK(batch.sequence >= 0);
    const auto at = static_cast<size_t>(batch.sequence);
    LOCKSTEP_CHECK(at <= held.hashes.size());
    if (at == held.hashes.size()) {
      held.hashes.push_back(hash);
      held.complete = batch.total_batches.has_value();
    }
    LOCKSTEP_CHECK(held.hashes[at] == hash);
  }
};

// Bodies: sequence, whether it is the last one, and a letter that makes another content.
absl::StatusOr<Batch> Decode(std::string_view body) {
  if (body.size() != 3) return absl::InvalidArgumentError("a body of another length");
  Batch batch;
  batch.sequence = body[0];
  if (body[1] == 1) {
    batch.total_batches = batch.sequence + 1;
    batch.summary.emplace();
  }
  NameDef name{.id = static_cast<uint32_t>(batch.sequence), .hash = HashOf(body), .text = std::string(1, body[2])};
  batch.names.push_back(std::move(name));
  return batch;
}

Hash128 IdOf(size_t source) { return {0, source}; }

class Aggregator {
 public:
  explicit Aggregator(std::string_view bytes) : choices_(bytes) {}

  void Run() {
    for (size_t i = 0; i < kMaxMessages && !choices_.empty(); ++i) {
      const size_t agent = choices_.Below(kAgents);
      if (!sessions_[agent] || choices_.OneIn(16)) {
        sessions_[agent] = std::make_unique<IngestSession>(environment_);
        announced_[agent].clear();
        Say(agent, Hello());
      } else {
        SayAnything(agent);
      }
    }
    CheckStore();
  }

 private:
  IngestHello Hello() {
    return {.protocol_version = choices_.OneIn(16) ? 2U : 1U,
            .run = kRuns[choices_.Below(kRuns.size())],
            .agent = "agent",
            .agent_version = "0",
            .expected_ranks = static_cast<int32_t>(choices_.Below(3)) - 1,
            .replace = choices_.OneIn(4)};
  }

  void SayAnything(size_t agent) {
    switch (choices_.Below(10)) {
      case 0:
        return Say(agent, Hello());
      case 1:
      case 2: {
        SourceContext context;
        context.source_id = IdOf(choices_.Below(kMaxSources + 1));
        return Say(agent, context);
      }
      case 3:
        return Say(agent, FileNote{.path = std::string(1, static_cast<char>('a' + choices_.Below(3)))});
      case 4:
        return Say(agent, choices_.OneIn(4) ? IngestMessage(IngestFinish()) : IngestMessage(IngestDrain()));
      default:
        return SayBatch(agent);
    }
  }

  void SayBatch(size_t agent) {
    const Hash128 id = IdOf(choices_.Below(kMaxSources + 1));
    // Mostly the one that comes next, so that streams grow.
    const Held held = HeldOf(agent, id);
    const size_t next = held.hashes.size();
    const size_t sequence = choices_.OneIn(4) ? choices_.Below(8) : std::min<size_t>(next, 100);
    std::string body = {static_cast<char>(sequence), static_cast<char>(choices_.Below(8) == 7 ? 1 : 0),
                        static_cast<char>('a' + choices_.Below(2))};
    if (choices_.OneIn(16)) body.pop_back();
    IngestBatch batch{.source_id = id,
                      .sequence = static_cast<int64_t>(choices_.OneIn(16) ? sequence + 1 : sequence),
                      .content_hash = choices_.OneIn(16) ? Hash128{} : HashOf(body),
                      .body = body};
    if (choices_.OneIn(32)) batch.sequence = -batch.sequence;
    store_.fails = choices_.OneIn(16);
    Say(agent, batch);
    store_.fails = false;
  }

  [[nodiscard]] Held HeldOf(size_t agent, const Hash128& id) {
    const auto run = store_.durable.find(sessions_[agent]->run());
    if (run == store_.durable.end()) return {};
    const auto source = run->second.find(id);
    return source == run->second.end() ? Held() : source->second;
  }

  // An error ends the stream, as the service does.
  void Say(size_t agent, const IngestMessage& message) {
    const auto reply = sessions_[agent]->On(message);
    if (!reply.ok()) {
      LOCKSTEP_CHECK(!reply.status().message().empty());
      sessions_[agent].reset();
      return;
    }
    CheckReply(agent, *reply);
  }

  void CheckReply(size_t agent, const IngestReply& reply) {
    if (const auto* ack = std::get_if<IngestAck>(&reply)) {
      CheckDurable(agent, ack->source_id, ack->sequence, ack->complete);
    } else if (const auto* welcome = std::get_if<IngestSourceWelcome>(&reply)) {
      CheckDurable(agent, welcome->source_id, welcome->last_sequence, welcome->complete);
      announced_[agent][welcome->source_id] = true;
      LOCKSTEP_CHECK(announced_[agent].size() <= kMaxSources);
    }
  }

  // Acknowledged means there, and all before it.
  void CheckDurable(size_t agent, const Hash128& id, int64_t sequence, bool complete) {
    const Held held = HeldOf(agent, id);
    LOCKSTEP_CHECK(sequence < static_cast<int64_t>(held.hashes.size()));
    LOCKSTEP_CHECK(!complete || held.complete);
  }

  // The store holds what was acknowledged and nothing else.
  void CheckStore() {
    for (const auto& [run, sources] : store_.durable) {
      const auto loaded = memory_.LoadRun(run);
      if (!loaded.ok()) continue;  // dropped since
      LOCKSTEP_CHECK(loaded->data.sources.size() == sources.size());
      for (const SourceData& source : loaded->data.sources) {
        LOCKSTEP_CHECK(source.complete == sources.at(source.context.source_id).complete);
      }
    }
  }

  Choices choices_;
  MemoryStore memory_;
  WatchedStore store_{memory_};
  RunOpener opener_{store_};
  const IngestEnvironment environment_{
      .store = store_, .opener = opener_, .limits = {.max_sources = kMaxSources}, .decode = Decode, .on_drained = {}};
  std::array<std::unique_ptr<IngestSession>, kAgents> sessions_;
  std::array<std::map<Hash128, bool>, kAgents> announced_;
};

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::Aggregator(std::string_view(reinterpret_cast<const char*>(data), size)).Run();
  return 0;
}
