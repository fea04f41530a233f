// ReportSchema: assembled from the views' fields. docs/report.schema.json is its output; a test compares them.
#include "analysis/model/instance_row.h"
#include "analysis/report/json.h"
#include "analysis/report/schema/report_schema.h"
#include "analysis/report/schema/schema_builder.h"
#include "analysis/report/schema/schema_views.h"

namespace lockstep {
namespace {

Json Definitions() {
  return {{"pct", schema::Percentiles()},
          {"culprit", schema::CulpritRow()},
          {"rank", schema::RankRow()},
          {"gate", schema::GateRow()},
          {"kernel", schema::KernelRow()},
          {"family", schema::FamilyRow()},
          {"collective", schema::CollectiveRow()},
          {"skew_rank", schema::SkewRankRow()},
          {"instance", schema::InstanceRow()},
          {"member", schema::MemberRow()},
          {"overlap", schema::OverlapRow()},
          {"quantity", schema::QuantityRow()},
          {"tail", schema::TailRow()},
          {"idle", schema::IdleRow()},
          {"host", schema::HostRow()},
          {"launch", schema::LaunchRow()},
          {"range", schema::NvtxRow()},
          {"memory", schema::MemoryRow()},
          {"allocation", schema::AllocationRow()},
          {"step", schema::StepRow()},
          {"pace_rank", schema::PaceRankRow()},
          {"clock_host", schema::ClockHostRow()},
          {"straggler", schema::StragglerRow()},
          {"finding", schema::FindingRow()}};
}

Json Rows(std::string_view definition) { return schema::List(schema::Reference(definition)); }

Json DocumentSchema() {
  return schema::Object({{"schema", {{"const", "lockstep.report/1"}}},
                         {"notices", schema::List(schema::NoticeRow())},
                         {"run", schema::Run()},
                         {"summary?", schema::OrEmpty(schema::Summary())},
                         {"ranks?", Rows("rank")},
                         {"quality?", schema::OrEmpty(schema::Quality())},
                         {"kernels?", Rows("kernel")},
                         {"families?", Rows("family")},
                         {"collectives?", Rows("collective")},
                         {"skew?", schema::OrEmpty(schema::Skew())},
                         {"overlap?", Rows("overlap")},
                         {"imbalance?", schema::OrEmpty(schema::Imbalance())},
                         {"tails?", Rows("tail")},
                         {"idle?", Rows("idle")},
                         {"host?", Rows("host")},
                         {"launches?", Rows("launch")},
                         {"nvtx?", Rows("range")},
                         {"memory?", Rows("memory")},
                         {"allocation?", Rows("allocation")},
                         {"steps?", Rows("step")},
                         {"pace?", schema::OrEmpty(schema::Pace())},
                         {"clock?", schema::OrEmpty(schema::Clock())},
                         {"stragglers?", Rows("straggler")},
                         {"findings?", Rows("finding")}});
}

Json BuildSchema() {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = "urn:lockstep:report:1";
  schema["title"] = "lockstep.report/1";
  schema["description"] =
      "The answer of lockstep. Units are in the names; null is absent knowledge; times of events are ns since the "
      "run's "
      "start. Only the views asked for are present. Further fields may be added at any time.";
  const Json document = DocumentSchema();
  for (const auto& [key, value] : document.items()) schema[key] = value;
  schema["$defs"] = Definitions();
  return schema;
}

}  // namespace

const Json& ReportSchemaJson() {
  static const Json schema = BuildSchema();
  return schema;
}

const Json& SchemaDefinition(std::string_view name) {
  static const Json none = Json::object();
  const Json& definitions = ReportSchemaJson().at("$defs");
  const auto found = definitions.find(std::string(name));
  return found == definitions.end() ? none : *found;
}

std::string ReportSchema() { return RenderJson(ReportSchemaJson()); }

}  // namespace lockstep
