#include "web/api/openapi.h"

#include "analysis/base/version.h"
#include "analysis/report/json.h"

namespace lockstep {
namespace {

Json Text(const char* description) { return {{"type", "string"}, {"description", description}}; }

Json Parameter(const char* name, const char* in, const char* description) {
  return {{"name", name},
          {"in", in},
          {"required", std::string_view(in) == "path"},
          {"description", description},
          {"schema", {{"type", "string"}}}};
}

Json ManyTimes(Json parameter) {
  parameter["schema"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  parameter["style"] = "form";
  parameter["explode"] = true;
  return parameter;
}

Json Run() { return {{"$ref", "#/components/parameters/run"}}; }

Json Content(const char* description, const char* type, Json schema) {
  return {{"description", description}, {"content", {{type, {{"schema", std::move(schema)}}}}}};
}

Json Answered(Json schema, const char* description) {
  return Content(description, "application/json", std::move(schema));
}

Json Error(const char* description) { return Answered({{"$ref", "#/components/schemas/Error"}}, description); }

// The answers that any question about data may get.
Json WithErrors(Json ok) {
  Json responses;
  responses["200"] = std::move(ok);
  responses["304"] = {{"description", "Not changed since the answer whose ETag came as If-None-Match."}};
  responses["400"] = Error("The question is malformed: a parameter, a view or a percent-encoding.");
  responses["401"] = Error("A token is needed, or the one that came is not known.");
  responses["403"] =
      Error("The role or the prefix of the token does not allow it, whether or not there is such a run.");
  responses["404"] = Error("There is no such run.");
  responses["409"] = Error("The sources of the run are several runs: no report can be made of them.");
  responses["421"] = Error("The Host header is no name of this server.");
  responses["503"] =
      Error("Busy, going down, or the aggregator behind this server cannot be reached; see Retry-After.");
  return responses;
}

Json Get(const char* id, const char* summary, const char* description, Json parameters, Json responses) {
  Json get;
  get["operationId"] = id;
  get["summary"] = summary;
  get["description"] = description;
  if (!parameters.empty()) get["parameters"] = std::move(parameters);
  get["responses"] = std::move(responses);
  return {{"get", std::move(get)}};
}

Json PathsOfRuns() {
  Json paths;
  paths["/api/v1/runs"] =
      Get("listRuns", "List the runs", "By name; only those that the token may read.", Json::array(),
          WithErrors(Answered({{"$ref", "#/components/schemas/Runs"}}, "lockstep.runs/1")));
  paths["/api/v1/runs/{name}/page"] =
      Get("getRunPage", "What the page of a run draws",
          "The document lockstep.page/1, the same as a page of --format html holds: the views summary, ranks, quality, "
          "families, collectives, tails, clock, stragglers, findings, imbalance, profile and pictures of the report, "
          "long lists by column, and the definition of each field.",
          Json::array({Run()}), WithErrors(Answered({{"$ref", "#/components/schemas/Page"}}, "lockstep.page/1")));
  paths["/api/v1/runs/{name}/report"] =
      Get("getRunReport", "The report of a run",
          "As `lockstep show RUN --format json` prints it; docs/report.schema.json describes it.",
          Json::array({Run(), Parameter("view", "query", "Views, separated by commas, or all. Default: summary.")}),
          WithErrors(Answered({{"type", "object"}}, "lockstep.report/1")));
  Json events = WithErrors(Content(
      "An event `run` at once and after each change, at most one a second; an event `gone` once there is no "
      "such run. A comment every 15 s keeps the connection open.",
      "text/event-stream", Text("data: {\"run\": name, \"state\": \"open\" or \"complete\", \"version\": text}")));
  events.erase("304");
  events.erase("404");
  paths["/api/v1/runs/{name}/events"] =
      Get("followRun", "When a run has changed",
          "Server-sent events. A changed version says that the other answers about the run may have changed.",
          Json::array({Run()}), std::move(events));
  return paths;
}

Json PathsOfSeveralRuns() {
  Json paths;
  paths["/api/v1/compare"] = Get(
      "compareRuns", "Compare two runs, or two sides of several",
      "The document lockstep.page/1 of kind comparison; its part `comparison` is what `lockstep compare BASE NEW "
      "--format json` prints (docs/comparison.schema.json).",
      Json::array({ManyTimes(Parameter("base", "query", "Name of a run of the base side; repeats are several runs.")),
                   ManyTimes(Parameter("new", "query", "Name of a run of the new side."))}),
      WithErrors(Answered({{"$ref", "#/components/schemas/Page"}}, "lockstep.page/1")));
  paths["/api/v1/history"] =
      Get("followMetric", "A metric over the runs of one context",
          "The document lockstep.history/1, as `lockstep history --format json` prints it.",
          Json::array({Parameter("metric", "query", "step_time (default), or a part of the step such as exposed_wait."),
                       ManyTimes(Parameter("context", "query", "KEY=VALUE: only runs with this value."))}),
          WithErrors(Answered({{"type", "object"}}, "lockstep.history/1")));
  return paths;
}

Json PathsOfServer() {
  Json paths;
  Json none = {{"description", "Done; a cookie came along if tokens are needed here."}};
  paths["/api/v1/login"] =
      Get("logIn", "Exchange a token for a cookie",
          "For browsers. The token comes as `Authorization: Bearer TOKEN`; the answer sets a cookie that no script can "
          "read, that no other site can make the browser send, and that ends after 12 hours.",
          Json::array(),
          {{"204", none}, {"401", Error("The token is not known.")}, {"403", Error("Its role may not read.")}});
  paths["/api/v1/logout"] = Get("logOut", "End the session of the cookie", "Whether there is one or not.",
                                Json::array(), {{"204", {{"description", "Done."}}}});
  paths["/api/v1/openapi.json"] = Get("describe", "This description", "Needs no token.", Json::array(),
                                      {{"200", Answered({{"type", "object"}}, "OpenAPI 3.1")}});
  paths["/api/v1/openapi.json"]["get"]["security"] = Json::array();
  return paths;
}

Json Schemas() {
  Json run = {
      {"type", "object"},
      {"required", {"name", "path", "state", "sources", "complete_sources", "version"}},
      {"properties",
       {{"name", Text("Name of the run. Bytes that are not UTF-8 are shown as U+FFFD.")},
        {"path", Text("The name percent-encoded, to be written for {name} in a path.")},
        {"state", {{"enum", {"open", "complete", "analysed"}}, {"description", "open: more may come."}}},
        {"expected_ranks", {{"type", {"integer", "null"}}, {"description", "--expect-ranks; null = not said."}}},
        {"finished_by_hand", {{"type", "boolean"}, {"description", "By `lockstep runs --finish`."}}},
        {"sources", {{"type", "integer"}, {"description", "Captures of ranks that were announced."}}},
        {"complete_sources", {{"type", "integer"}, {"description", "Those that are there whole."}}},
        {"changed_unix_ns",
         {{"type", {"string", "null"}},
          {"description", "When it last changed, nanoseconds since 1970 as digits; null = not known."}}},
        {"version", Text("Changes whenever the answers about the run may.")}}}};
  Json schemas;
  schemas["Error"] = {{"type", "object"},
                      {"required", {"error", "reason"}},
                      {"properties",
                       {{"error", Text("A word for programs, such as not_found.")},
                        {"reason", Text("A sentence for people: what is wrong, and what to do.")}}}};
  schemas["Run"] = std::move(run);
  schemas["Runs"] = {{"type", "object"},
                     {"required", {"schema", "runs"}},
                     {"properties",
                      {{"schema", {{"const", "lockstep.runs/1"}}},
                       {"runs", {{"type", "array"}, {"items", {{"$ref", "#/components/schemas/Run"}}}}}}}};
  schemas["Page"] = {
      {"type", "object"},
      {"required", {"schema", "kind", "title", "tool", "headline", "definitions"}},
      {"properties",
       {{"schema", {{"const", "lockstep.page/1"}}},
        {"kind", {{"enum", {"report", "comparison"}}}},
        {"title", Text("Name of the run, or of both sides.")},
        {"tool", Text("Name and version of the program.")},
        {"headline", {{"type", "array"}, {"items", Text("A sentence, the most important first.")}}},
        {"report", {{"type", "object"}, {"description", "Views of lockstep.report/1."}}},
        {"comparison", {{"type", "object"}, {"description", "lockstep.comparison/1."}}},
        {"definitions", {{"type", "object"}, {"additionalProperties", Text("What the field of that path means.")}}}}}};
  return schemas;
}

}  // namespace

std::string OpenApiText() {
  Json document;
  document["openapi"] = "3.1.0";
  document["info"] = {
      {"title", "lockstep"},
      {"version", std::string(Version())},
      {"summary", "Runs of multi-GPU jobs: who makes the others wait."},
      {"description",
       "Read-only: GET and HEAD. Answers carry an ETag, and gzip where the asker takes it. The name of a "
       "run in a path is percent-encoded, a slash as well. Served by `lockstep serve` and by "
       "`lockstep-aggregator --web`."}};
  document["security"] = Json::array({Json::object(), {{"token", Json::array()}}, {{"session", Json::array()}}});
  Json& paths = document["paths"] = Json::object();
  for (Json part : {PathsOfRuns(), PathsOfSeveralRuns(), PathsOfServer()}) {
    for (auto& [path, item] : part.items()) paths[path] = std::move(item);
  }
  Json parameter = Parameter("name", "path", "Name of the run, percent-encoded byte by byte.");
  document["components"] = {
      {"parameters", {{"run", std::move(parameter)}}},
      {"schemas", Schemas()},
      {"securitySchemes",
       {{"token", {{"type", "http"}, {"scheme", "bearer"}, {"description", "A token of role reader or admin."}}},
        {"session",
         {{"type", "apiKey"},
          {"in", "cookie"},
          {"name", "lockstep-7780"},
          {"description", "Set by /api/v1/login; over TLS its name begins with __Host-. The number is the port."}}}}}};
  return RenderJson(document);
}

}  // namespace lockstep
