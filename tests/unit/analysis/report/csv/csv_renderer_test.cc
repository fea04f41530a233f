#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "analysis/report/csv/csv_writer.h"
#include "analysis/report/json.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

// RFC 4180, read by other rules than it was written with.
std::vector<std::vector<std::string>> ReadCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

Json Golden(const std::string& name) {
  std::ifstream file("tests/golden/" + name + ".json");
  return Json::parse(file);
}

Json BareViewOf(const Json& document, const std::string& view) {
  return {{"schema", document.at("schema")}, {"run", document.at("run")}, {view, document.at(view)}};
}

std::string CellOf(const std::vector<std::vector<std::string>>& rows, size_t row, const std::string& column) {
  for (size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == column) return rows[row + 1][i];
  }
  ADD_FAILURE() << "no column " << column;
  return "";
}

void ExpectCells(const std::vector<std::vector<std::string>>& rows, size_t row, const std::string& name,
                 const Json& value) {
  if (value.is_object()) {
    for (const auto& [inner, scalar] : value.items()) ExpectCells(rows, row, name + "_" + inner, scalar);
  } else if (!value.is_array() && !value.is_null()) {
    EXPECT_EQ(CellOf(rows, row, name), PlainText(value)) << name;
  }
}

TEST(CsvRenderer, EveryScalarOfEveryRowIsInItsColumn) {
  const Json document = Golden("all_views");
  for (const std::string view :
       {"ranks", "kernels", "collectives", "overlap", "tails", "idle", "host", "memory", "steps"}) {
    const auto rows = ReadCsv(*RenderCsv(BareViewOf(document, view), view, ""));
    ASSERT_EQ(rows.size(), document[view].size() + 1) << view;
    for (size_t i = 0; i < document[view].size(); ++i) {
      ASSERT_EQ(rows[i + 1].size(), rows[0].size());
      for (const auto& [key, value] : document[view][i].items()) ExpectCells(rows, i, key, value);
    }
  }
}

TEST(CsvRenderer, TheColumnsDoNotDependOnTheRows) {
  const Json document = Golden("all_views");
  for (const std::string view : {"overlap", "steps", "collectives", "skew", "clock", "quality", "pace"}) {
    Json empty = BareViewOf(document, view);
    empty[view] = empty[view].is_array() ? Json::array() : Json::object();
    const auto without = ReadCsv(*RenderCsv(empty, view, ""));
    if (view == "skew") continue;  // rows of ranks or of instances
    EXPECT_EQ(without[0], ReadCsv(*RenderCsv(BareViewOf(document, view), view, ""))[0]) << view;
  }
}

TEST(CsvRenderer, SkewIsOneRowPerRank) {
  Json document = BareViewOf(Golden("all_views"), "skew");
  document["skew"]["instances"] = Json::array();
  const auto rows = ReadCsv(*RenderCsv(document, "skew", ""));
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(CellOf(rows, 2, "caused_wait_total_ns"), "12345678");
  EXPECT_EQ(CellOf(rows, 2, "lateness_ns_count"), "120");
  EXPECT_EQ(CellOf(rows, 3, "last_arrival_ratio"), "");
}

TEST(CsvRenderer, WithInstancesSkewIsOneRowPerInstanceAndMember) {
  const Json document = BareViewOf(Golden("all_views"), "skew");
  const auto rows = ReadCsv(*RenderCsv(document, "skew", ""));
  ASSERT_EQ(rows.size(), 1U + 5U * 4U);
  const Json& instance = document["skew"]["instances"][1];
  EXPECT_EQ(CellOf(rows, 6, "seq"), instance["seq"].get<std::string>());
  EXPECT_EQ(CellOf(rows, 6, "rank"), "2");
  EXPECT_EQ(CellOf(rows, 6, "wait_ns"), PlainText(instance["members"][2]["wait_ns"]));
}

TEST(CsvRenderer, ImbalanceIsOneRowPerQuantityAndRank) {
  const auto rows = ReadCsv(*RenderCsv(BareViewOf(Golden("all_views"), "imbalance"), "imbalance", ""));
  ASSERT_EQ(rows.size(), 1U + 4U * 4U);
  EXPECT_EQ(CellOf(rows, 2, "quantity"), "compute");
  EXPECT_EQ(CellOf(rows, 2, "value"), "31600000");
}

TEST(CsvRenderer, PaceIsOneRowPerRankAndBucket) {
  const auto rows = ReadCsv(*RenderCsv(BareViewOf(Golden("all_views"), "pace"), "pace", ""));
  ASSERT_EQ(rows.size(), 1U + 4U * 256U);
  EXPECT_EQ(CellOf(rows, 257, "bucket"), "1");
  EXPECT_EQ(CellOf(rows, 257, "rank"), "1");
  EXPECT_EQ(CellOf(rows, 257, "start_ns"), "307049");
}

TEST(CsvRenderer, NamesThatLookLikeFormulasAreDefused) {
  const auto rows = ReadCsv(*RenderCsv(Golden("hostile_names"), "kernels", ""));
  EXPECT_EQ(CellOf(rows, 0, "name").substr(0, 5), "'=cmd");
  EXPECT_EQ(CellOf(rows, 1, "name").substr(0, 5), "'@sum");
  EXPECT_EQ(CellOf(rows, 2, "name"), "'-1+1");
  EXPECT_EQ(CellOf(rows, 3, "name"), "");
}

TEST(CsvRenderer, NamesMoveNoCursorAndHideNothing) {
  EXPECT_EQ(CsvCell(Json("\x1b[2Jevil\u202e")), "?[2Jevil?");
  EXPECT_EQ(CsvCell(Json("tall\nname")), "tall?name");
}

TEST(CsvRenderer, NegativeNumbersAreNoFormulas) { EXPECT_EQ(CsvCell(Json(-5)), "-5"); }

TEST(CsvRenderer, CellsAreQuotedOnlyWhereTheyMustBe) {
  EXPECT_EQ(QuoteCell("plain text"), "plain text");
  EXPECT_EQ(QuoteCell("a,b"), "\"a,b\"");
  EXPECT_EQ(QuoteCell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(QuoteCell("two\nlines"), "\"two\nlines\"");
}

TEST(CsvRenderer, ListsOfScalarsAreJoinedByBlanksAndNullIsEmpty) {
  EXPECT_EQ(CsvCell(Json::array({0, 1, 5})), "0 1 5");
  EXPECT_EQ(CsvCell(Json::array()), "");
  EXPECT_EQ(CsvCell(Json(nullptr)), "");
}

TEST(CsvRenderer, RealsHaveTheDigitsOfTheJson) { EXPECT_EQ(CsvCell(Json(1.0 / 3)), "0.333333333"); }

TEST(CsvRenderer, ADocumentOfWrongTypesIsRenderedAllTheSame) {
  const Json odd = Json::array({1, "x", nullptr, Json::array(), Json::object()});
  for (const std::string& view : AllViews()) {
    for (const Json& content :
         {Json(7), odd, Json({{"ranks", odd}, {"instances", odd}, {"quantities", odd}, {"gates", 1}})}) {
      EXPECT_TRUE(RenderCsv({{view, content}}, view, "").ok()) << view;
    }
  }
}

TEST(CsvRenderer, SeveralViewsAreRefused) {
  EXPECT_EQ(RenderCsv(Golden("all_views"), "kernels", "").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CsvRenderer, AViewThatIsNotInTheReportIsRefused) {
  EXPECT_EQ(RenderCsv(Golden("hostile_names"), "steps", "").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CsvRenderer, AnUnknownStyleIsRefused) {
  EXPECT_EQ(RenderCsv(Golden("hostile_names"), "kernels", "excel").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(NsysCsv, AViewThatNsysDoesNotHaveIsRefused) {
  EXPECT_EQ(RenderCsv(BareViewOf(Golden("all_views"), "overlap"), "overlap", "nsys").status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Figures of `nsys stats` on a public two-GPU report.
TEST(NsysCsv, AKernelIsWrittenAsNsysWritesIt) {
  const Json row = {
      {"name", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"},
      {"instances", 66},
      {"total_ns", 25401752},
      {"share_ratio", 0.0474803},
      {"duration_ns",
       {{"mean", 25401752.0 / 66}, {"median", 168208}, {"min", 89440}, {"max", 3603569}, {"stddev", 633670.5712}}}};
  const auto csv = RenderCsv({{"kernels", Json::array({row})}}, "kernels", "nsys");
  EXPECT_EQ(*csv,
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            "4.7,25401752,66,384875.0,168208.0,89440,3603569,633670.6,"
            "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)\n");
}

TEST(NsysCsv, ByShapeTheGridAndTheBlockHaveColumnsOfTheirOwn) {
  const Json row = {{"name", "gemm<(int)4> <<<(244,1,6),(1024,1,1)>>>"},
                    {"instances", 2},
                    {"total_ns", 10},
                    {"duration_ns", Json::object()}};
  const auto rows = ReadCsv(*RenderCsv({{"kernels", Json::array({row})}}, "kernels", "nsys"));
  EXPECT_EQ(std::vector(rows[0].end() - 3, rows[0].end()), (std::vector<std::string>{"GridXYZ", "BlockXYZ", "Name"}));
  EXPECT_EQ(std::vector(rows[1].end() - 3, rows[1].end()),
            (std::vector<std::string>{" 244    1    6", "1024    1    1", "gemm<(int)4>"}));
}

// The mean of the document has nine digits.
TEST(NsysCsv, AveragesComeFromTheExactSums) {
  const Json row = {{"api", "cudaStreamSynchronize"},
                    {"calls", 3},
                    {"total_ns", 3703703703701},
                    {"duration_ns", {{"mean", 1234567900000.0}}}};
  const auto rows = ReadCsv(*RenderCsv({{"host", Json::array({row})}}, "host", "nsys"));
  EXPECT_EQ(rows[1][3], "1234567901233.7");
}

TEST(NsysCsv, KernelsOfEqualTotalAreInNsysOrder) {
  const auto row = [](const char* name, int instances, int total) {
    return Json{{"name", name}, {"instances", instances}, {"total_ns", total}, {"duration_ns", Json::object()}};
  };
  const auto csv = RenderCsv(
      {{"kernels", Json::array({row("b", 2, 5), row("a", 2, 5), row("c", 1, 5), row("d", 9, 6)})}}, "kernels", "nsys");
  const auto rows = ReadCsv(*csv);
  EXPECT_EQ(rows[1].back() + rows[2].back() + rows[3].back() + rows[4].back(), "dcab");
}

// cuda_gpu_mem_size_sum: megabytes of 10^6 bytes with three decimals, most bytes first.
TEST(NsysCsv, SizesOfCopiesAreWrittenAsNsysWritesThem) {
  const Json rows = {
      {{"kind", "host_to_device"},
       {"bytes", 1'500},
       {"size_bytes", {{"count", 2}, {"mean", 750}, {"median", 750}, {"min", 500}, {"max", 1'000}, {"stddev", 353.6}}}},
      {{"kind", "memset"}, {"bytes", nullptr}, {"size_bytes", Json::object()}},
      {{"kind", "device_to_device"},
       {"bytes", 12'345'678'900},
       {"size_bytes",
        {{"count", 3},
         {"mean", 4'115'226'300.0},
         {"median", nullptr},
         {"min", 1},
         {"max", 9'000'000'000},
         {"stddev", 5e9}}}}};
  EXPECT_EQ(*RenderCsv({{"memory", rows}}, "memory", "nsys-size"),
            "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
            "12345.679,3,4115.226,,0.000,9000.000,5000.000,[CUDA memcpy Device-to-Device]\n"
            "0.002,2,0.001,0.001,0.001,0.001,0.000,[CUDA memcpy Host-to-Device]\n");
  EXPECT_EQ(RenderCsv({{"kernels", Json::array()}}, "kernels", "nsys-size").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NsysCsv, ALaunchHasItsThread) {
  const auto rows = ReadCsv(*RenderCsv(BareViewOf(Golden("all_views"), "launches"), "launches", "nsys"));
  EXPECT_EQ(rows[0][1], "TID");
  EXPECT_EQ(rows[1][1], "");  // not known
  EXPECT_EQ(rows[2][1], "77");
}

TEST(NsysCsv, MarksAreInNoSumOfRanges) {
  const auto rows = ReadCsv(*RenderCsv(BareViewOf(Golden("all_views"), "nvtx"), "nvtx", "nsys"));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].back(), "NCCL:ncclAllReduce");
}

}  // namespace
}  // namespace lockstep
