// The run that a report is of, and the notices beside it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct NoticeRow {
  std::string view;
  std::string reason;

  static const Record& Fields();
};

struct CaptureOfRun {
  Count ranks;
  Digits start_unix_ns;
  Digits end_unix_ns;

  static const Record& Fields();
};

struct CapturesOfRun {
  std::vector<CaptureOfRun> all;
  Count chosen;
  bool asked = false;

  static const Record& Fields();
};

struct LeftOutOfRun {
  Count count;
  std::string path;
  std::string reason;

  static const Record& Fields();
};

// What --capture asks for: a number, or "last".
struct CaptureChoice {
  int32_t number = 0;
  bool last = false;  // then there is no number
};
template <>
struct TypeFor<CaptureChoice> {
  static const Type& Get();
};

struct SelectionOfRun {
  std::optional<std::pair<int64_t, int64_t>> steps;
  std::optional<std::pair<int64_t, int64_t>> time;
  std::optional<std::vector<int32_t>> ranks;
  std::optional<std::string> kernels;
  std::optional<std::string> nvtx;
  std::optional<CaptureChoice> capture;

  static const Record& Fields();
};

struct LayoutOfRun {
  std::optional<Count> tp;
  std::optional<Count> pp;
  std::optional<Count> dp;
  std::optional<Count> ep;
  std::optional<Count> cp;
  std::optional<std::string> order;

  static const Record& Fields();
};

struct Run {
  std::string name;
  std::string state;
  Count ranks;
  std::optional<Count> hosts;
  std::optional<Count> world_size;
  std::vector<int32_t> missing_ranks;
  Digits start_unix_ns;
  Count span_ns;
  std::string lockstep_version;
  std::optional<CapturesOfRun> captures;
  std::optional<LeftOutOfRun> left_out;
  std::optional<Count> clocks_apart_ns;
  std::optional<SelectionOfRun> analysed;
  std::optional<LayoutOfRun> layout;
  std::optional<std::string> layout_source;

  static const Record& Fields();
};

}  // namespace lockstep::report
