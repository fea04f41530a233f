#include "aggregator/query/stable_names.h"

#include <memory>
#include <utility>

#include "aggregator/store/memory/run_assembly.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"

namespace lockstep {
namespace {

using Numbers = std::shared_ptr<const std::vector<uint32_t>>;  // by number in the snapshot

class RenumberedStream final : public InstanceStream {
 public:
  RenumberedStream(std::unique_ptr<InstanceStream> stream, Numbers numbers)
      : stream_(std::move(stream)), numbers_(std::move(numbers)) {}

  absl::StatusOr<std::vector<InstanceRow>> Take() override {
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<InstanceRow> rows, stream_->Take());
    LOCKSTEP_RETURN_IF_ERROR(TranslateNames(*numbers_, &rows));
    return rows;
  }
  [[nodiscard]] InstancePosition Position() const override { return stream_->Position(); }
  [[nodiscard]] bool InMidst() const override { return stream_->InMidst(); }

 private:
  const std::unique_ptr<InstanceStream> stream_;
  const Numbers numbers_;
};

class RenumberedInstances final : public InstanceSource {
 public:
  RenumberedInstances(std::unique_ptr<InstanceSource> instances, Numbers numbers)
      : instances_(std::move(instances)), numbers_(std::move(numbers)) {}

  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override { return OpenBehind(source, {}); }

  absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) override {
    LOCKSTEP_ASSIGN_OR_RETURN(auto stream, instances_->OpenBehind(source, position));
    return std::make_unique<RenumberedStream>(std::move(stream), numbers_);
  }

 private:
  const std::unique_ptr<InstanceSource> instances_;
  const Numbers numbers_;
};

}  // namespace

uint32_t StableNames::NumberOf(const std::string& text) {
  const auto [at, added] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (added) texts_.push_back(text);
  return at->second;
}

absl::Status StableNames::Apply(LoadedRun& loaded) {
  std::vector<uint32_t> numbers;
  bool same = true;
  for (const std::string& text : loaded.data.names) {
    numbers.push_back(NumberOf(text));
    same = same && numbers.back() + 1 == numbers.size();
  }
  loaded.data.names = texts_;
  if (same) return absl::OkStatus();
  for (SourceData& source : loaded.data.sources) LOCKSTEP_RETURN_IF_ERROR(TranslateNames(numbers, &source));
  loaded.instances = std::make_unique<RenumberedInstances>(
      std::move(loaded.instances), std::make_shared<const std::vector<uint32_t>>(std::move(numbers)));
  return absl::OkStatus();
}

}  // namespace lockstep
