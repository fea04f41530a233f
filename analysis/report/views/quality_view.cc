#include "analysis/report/views/quality_view.h"

#include "analysis/report/json.h"

namespace lockstep {
namespace {

Json Counters(const DropCounters& counters) {
  Json json = Json::object();
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (counters.count[i] != 0) json[std::string(kDropReasonNames[i])] = counters.count[i];
  }
  return json;
}

}  // namespace

Json QualityView(const ViewInput& input, const Quality& quality) {
  Json gates = Json::array();
  for (const Gate& gate : quality.gates) {
    gates.push_back(
        {{"name", gate.name}, {"ok", OrNull(gate.ok)}, {"detail", gate.detail}, {"fix", TextOrNull(gate.fix)}});
  }
  Json ranks = Json::array();
  for (const CountersOfRank& rank : quality.ranks) {
    ranks.push_back({{"rank", input.RankOf(rank.member)}, {"counters", Counters(rank.counters)}});
  }
  Json files = Json::array();
  for (const FileNote& file : quality.files) {
    files.push_back({{"path", file.path},
                     {"status", file.status},
                     {"reason", TextOrNull(file.reason)},
                     {"offset", file.offset >= 0 ? Json(file.offset) : Json(nullptr)},
                     {"counters", Counters(file.drops)}});
  }
  return {{"gates", std::move(gates)}, {"ranks", std::move(ranks)}, {"files", std::move(files)}};
}

}  // namespace lockstep
