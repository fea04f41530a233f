// From what size on a run is taken through in chapters, and how large they are. Counted in collective instances.
#pragma once

#include <cstdint>

namespace lockstep {

struct ChapterLimits {
  int64_t whole_rows = int64_t{4} << 20;    // a run of so many instances is one chapter
  int64_t chapter_rows = int64_t{1} << 19;  // else chapters have about so many, and
  int64_t least_of_rank = 512;              // on average so many of a rank
  // What-ifs are of a stretch of about so many, and of up to three times as many where these are not several steps: so
  // many it takes to tell what is usual in one.
  int64_t sample_rows = int64_t{1} << 20;
  // Ranks that have nothing to do with the others are taken through alone, in chapters of so many rows of each.
  bool apart = true;
  int64_t rows_of_rank_apart = 12'288;
  int64_t least_rows_apart = int64_t{96} << 10;
};

}  // namespace lockstep
