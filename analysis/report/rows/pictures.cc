#include "analysis/report/rows/pictures.h"

namespace lockstep::report {

const Record& PictureTile::Fields() {
  using R = PictureTile;
  static const Record record{
      "picture_tile",
      "A rectangle of the map rank by column.",
      {
          F<&R::first_row>("first_row", "First row of the map that the tile covers, where row_ranks is null."),
          F<&R::rows>("rows", "Number of rows of cells."),
          F<&R::ranks_per_row>("ranks_per_row",
                               "Rows of the map that one row of cells covers: the largest of them is shown."),
          F<&R::row_ranks>("row_ranks",
                           "The ranks of the rows, where they are not in the order of the map. Null where "
                           "they are."),
          F<&R::columns>("columns", "Number of columns of cells."),
          F<&R::columns_per_cell>("columns_per_cell",
                                  "Columns of the map that one cell covers: the largest of them is shown."),
          F<&R::cells>("cells",
                       "One character a cell, row by row. Its code is the code point less 32, or less 288 from U+0120 "
                       "on. Code 0 is nothing, 1 is less than the clocks can resolve, and any other code q is 1 us * "
                       "2^((q - 2) / 8)."),
      }};
  return record;
}

const Record& PictureLayer::Fields() {
  using R = PictureLayer;
  static const Record record{
      "picture_layer",
      "One quantity of the map rank by column.",
      {
          F<&R::name>("name",
                      "caused_wait: GPU time that other ranks lost because of this one, traced back to its origin. "
                      "lateness: by how much the rank came later to a collective than the mean of its group, the "
                      "largest of the column.")
              .OneOf({"caused_wait", "lateness"}),
          F<&R::tiles>("tiles",
                       "The whole map first; then, where that is too coarse for a single rank, the ranks that "
                       "caused the most waiting."),
      }};
  return record;
}

const Record& PictureColumns::Fields() {
  using R = PictureColumns;
  static const Record record{
      "",
      "What the columns of the map are. Columns in which nothing was measured do not exist.",
      {
          F<&R::kind>("kind", "Whether a column is a number of steps or a stretch of time.").OneOf({"step", "time"}),
          F<&R::each>("each", "Steps, or ns, that one column covers."),
          F<&R::starts>("starts", "The first step of each column, or its begin in ns since the run's start."),
      }};
  return record;
}

const Record& PictureOfPace::Fields() {
  using R = PictureOfPace;
  static const Record record{
      "picture_of_pace",
      "Utilisation of the ranks over time. Each character of busy, compute and comm is a cell, rank by rank: its code, "
      "as in a tile, is the share of the bucket in percent, the mean over the ranks of the row.",
      {
          F<&R::start_ns>("start_ns", "Begin of the first bucket."),
          F<&R::bucket_ns>("bucket_ns", "Length of a bucket."),
          F<&R::buckets>("buckets", "Number of buckets."),
          F<&R::rows>("rows", "Number of rows of cells."),
          F<&R::ranks_per_row>("ranks_per_row", "Ranks that one row of cells covers."),
          F<&R::busy>("busy", "Share of time in which anything runs on the device."),
          F<&R::compute>("compute", "Share of time in which kernels compute."),
          F<&R::comm>("comm", "Share of time in which communication kernels run."),
      }};
  return record;
}

const Record& PictureInstance::Fields() {
  using R = PictureInstance;
  static const Record record{
      "picture_instance",
      "A collective in which much time was spent waiting.",
      {
          F<&R::members>("members", "Number of ranks that took part."),
          F<&R::wait_total_ns>("wait_total_ns", "Sum of the waiting times of all of them."),
          F<&R::instance>("instance",
                          "The collective, with at most 128 of its members: the first, the last, those that waited "
                          "longest, and others at equal distances in the order of arrival."),
      }};
  return record;
}

const Record& PictureBuckets::Fields() {
  using R = PictureBuckets;
  static const Record record{
      "picture_buckets",
      "A distribution of durations. Every value of a bucket is above its lower and at most its upper bound.",
      {
          F<&R::lower_ns>("lower_ns", "Lower bounds."),
          F<&R::upper_ns>("upper_ns", "Upper bounds."),
          F<&R::counts>("counts", "Number of instances in each bucket."),
      }};
  return record;
}

const Record& PictureTailOfHost::Fields() {
  using R = PictureTailOfHost;
  static const Record record{"picture_tail_of_host",
                             "The distribution on the ranks of one host.",
                             {
                                 F<&R::host>("host", "Name of the host."),
                                 F<&R::durations>("durations", "Distribution of the durations."),
                             }};
  return record;
}

const Record& PictureTail::Fields() {
  using R = PictureTail;
  static const Record record{
      "picture_tail",
      "The distribution behind a row of the view tails.",
      {
          F<&R::name>("name", "Name of the kernel."),
          F<&R::category>("category", "Category of the kernel. Null where it is not known."),
          F<&R::durations>("durations", "Distribution of the durations over all ranks."),
          F<&R::by_host>("by_host", "The same for the hosts with the largest shares of the tail, at most 8."),
      }};
  return record;
}

const Record& Pictures::Fields() {
  using R = Pictures;
  static const Record record{
      "",
      "What pages draw: the map rank by step, utilisation over time, single collectives and distributions.",
      {
          F<&R::ranks>("ranks", "Rank of each row of the map."),
          F<&R::hosts>("hosts", "Host of each row. Null where it is not known."),
          F<&R::blame_ns>("blame_ns",
                          "GPU time that other ranks lost because of the rank of each row, over the whole run, traced "
                          "back to its origin."),
          F<&R::columns>("columns", "The columns of the map."),
          F<&R::layers>("layers", "The quantities of the map. Empty where no collective could be matched."),
          F<&R::pace>("pace", "Utilisation over time. Null where the captures have no time in common."),
          F<&R::instances>("instances", "The 50 collectives with the most waiting, by group and index."),
          F<&R::tails>("tails", "Distributions of the first 12 rows of the view tails."),
      }};
  return record;
}

}  // namespace lockstep::report
