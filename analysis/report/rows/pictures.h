// Rows of the view pictures: what pages draw and no other view has in a form that stays small with thousands of ranks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/collectives.h"

namespace lockstep::report {

// Cells are the characters of a text, so that a document of them stays small when it is compressed.
struct PictureTile {
  Count first_row;
  Count rows;
  Count ranks_per_row;
  std::optional<std::vector<int32_t>> row_ranks;
  Count columns;
  Count columns_per_cell;
  std::string cells;

  static const Record& Fields();
};

struct PictureLayer {
  std::string name;
  std::vector<PictureTile> tiles;

  static const Record& Fields();
};

struct PictureColumns {
  std::string kind;
  Count each;
  std::vector<int64_t> starts;

  static const Record& Fields();
};

struct PictureOfPace {
  int64_t start_ns = 0;
  Count bucket_ns;
  Count buckets;
  Count rows;
  Count ranks_per_row;
  std::string busy;
  std::string compute;
  std::string comm;

  static const Record& Fields();
};

struct PictureInstance {
  Count members;
  Count wait_total_ns;
  SkewInstance instance;

  static const Record& Fields();
};

struct PictureBuckets {
  std::vector<int64_t> lower_ns;
  std::vector<int64_t> upper_ns;
  std::vector<Count> counts;

  static const Record& Fields();
};

struct PictureTailOfHost {
  std::string host;
  PictureBuckets durations;

  static const Record& Fields();
};

struct PictureTail {
  std::string name;
  std::optional<std::string> category;
  PictureBuckets durations;
  std::vector<PictureTailOfHost> by_host;

  static const Record& Fields();
};

struct Pictures {
  std::vector<int32_t> ranks;
  std::vector<std::optional<std::string>> hosts;
  std::vector<Count> blame_ns;
  PictureColumns columns;
  std::vector<PictureLayer> layers;
  std::optional<PictureOfPace> pace;
  std::vector<PictureInstance> instances;
  std::vector<PictureTail> tails;

  static const Record& Fields();
};

}  // namespace lockstep::report
