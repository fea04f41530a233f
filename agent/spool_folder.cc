#include "agent/spool_folder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "agent/watch/folder_watch.h"
#include "analysis/base/status_macros.h"
#include "platform/log.h"
#include "proto/context_codec.h"

namespace lockstep {
namespace {

template <typename Message, typename Value>
std::string Encode(const Value& value) {
  Message message;
  ToProto(value, &message);
  return message.SerializeAsString();
}

template <typename Message, typename Value>
absl::StatusOr<Value> Decode(std::string_view bytes, std::string_view what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(fmt::format("{} in the spool cannot be parsed", what));
  }
  return FromProto(message);
}

SpoolCodec MakeCodec() {
  return {.encode_context = Encode<v1::SourceContext, SourceContext>,
          .decode_context =
              [](std::string_view bytes) { return Decode<v1::SourceContext, SourceContext>(bytes, "a source"); },
          .encode_note = Encode<v1::FileNote, FileNote>,
          .decode_note = [](std::string_view bytes) { return Decode<v1::FileNote, FileNote>(bytes, "a file note"); }};
}

void LogDamage(const std::string& folder, const SpoolDamage& damage) {
  if (damage.places > 0) {
    LogWarning("{}: {} bytes in {} places of the spool are damaged", folder, damage.bytes, damage.places);
  }
  for (const LostBatches& lost : damage.lost) {
    LogWarning("{}: batches {} to {} of source {} are not in the spool, or behind such ones", folder, lost.first,
               lost.last, lost.source_id.Hex());
  }
}

}  // namespace

std::vector<std::string> StillThere(const std::vector<std::string>& paths, std::string_view why) {
  std::vector<std::string> there;
  for (const std::string& path : paths) {
    if (KeyOf(path)) {
      LogWarning("{} is condensed again: {}", path, why);
      there.push_back(path);
    } else {
      LogError("{} is lost ({}): it is gone and cannot be condensed again", path, why);
    }
  }
  return there;
}

std::vector<std::string> SpoolFolder::ForgetWhatIsNotWhole() const {
  return ledger->ForgetUnless([this](const Hash128& id, int64_t batches) { return spool->Holds(id, batches); });
}

absl::StatusOr<std::unique_ptr<SpoolFolder>> OpenSpoolFolder(const std::string& folder, int64_t max_bytes,
                                                             const std::string& run) {
  LOCKSTEP_RETURN_IF_ERROR(MakeFolder(folder));
  absl::StatusOr<FileLock> lock = FileLock::Take(folder + "/lock");
  if (absl::IsAlreadyExists(lock.status())) {
    return absl::AlreadyExistsError(
        fmt::format("another agent uses the spool {}: give each agent a folder of its own", folder));
  }
  LOCKSTEP_RETURN_IF_ERROR(lock.status());
  LOCKSTEP_ASSIGN_OR_RETURN(
      std::unique_ptr<Ledger> ledger,
      Ledger::Open(folder + "/ledger", run, [](const std::string& path) { return KeyOf(path).has_value(); }));
  SpoolOptions options{.folder = folder, .max_bytes = max_bytes};
  options.first_segment = ledger->last_segment() + 1;
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<Spool> spool, Spool::Open(options, ledger->acknowledged()));
  LogDamage(folder, spool->damage());
  auto opened = std::make_unique<SpoolFolder>(
      SpoolFolder{*std::move(lock), std::move(ledger), std::move(spool), MakeCodec(), {}});
  const std::vector<std::string> in_work = opened->ledger->LeftInWork();
  opened->again = StillThere(in_work, "it was in work when the agent ended");
  for (const std::string& path : in_work) {
    if (!KeyOf(path)) {
      opened->ledger->Gone(path);
    }
  }
  const std::vector<std::string> lost =
      StillThere(opened->ForgetWhatIsNotWhole(), "not all of it is in the spool any more");
  opened->again.insert(opened->again.end(), lost.begin(), lost.end());
  return opened;
}

}  // namespace lockstep
