#include "analysis/report/views/picture_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace lockstep {
namespace {

// Reads the text of a tile as a page does.
std::vector<int> CodesOf(const std::string& text) {
  std::vector<int> codes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      codes.push_back(byte - 0x20);
    } else {
      const auto next = static_cast<unsigned char>(text[++i]);
      codes.push_back(((byte & 0x1F) << 6 | (next & 0x3F)) - 0x120);
    }
  }
  return codes;
}

TEST(TextOfCodes, EveryCodeIsReadBackAndNoneNeedsAnEscapeInJson) {
  std::vector<uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  const std::string text = TextOfCodes(codes);
  const std::vector<int> read = CodesOf(text);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), codes.begin(), codes.end()));
  EXPECT_EQ(text.find('"'), std::string::npos);
  EXPECT_EQ(text.find('\\'), std::string::npos);
  EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char c) { return c == 0x7F || (c >= 0 && c < 0x20); }));
}

// A map drawn at random, with what it was made from.
class RandomMap {
 public:
  RandomMap(size_t ranks, int64_t steps, unsigned seed)
      : axis_(true, ranks), caused_(axis_.Grid<CausedWaitCell>()), lateness_(axis_), ranks_(ranks), steps_(steps) {
    std::mt19937 draw(seed);
    for (size_t row = 0; row < ranks; ++row) {
      rows_.push_back(row);
      numbers_.push_back(static_cast<int32_t>(100 + row));
      blame_.push_back(0);
    }
    for (size_t i = 0; i < 4 * ranks + 2 * static_cast<size_t>(steps); ++i) {
      const int64_t step = draw() % static_cast<unsigned>(steps);
      const size_t row = draw() % ranks;
      const auto ns = static_cast<float>(draw() % 100'000);
      caused_.At(step, row).ns += ns;
      blame_[row] += static_cast<int64_t>(ns);
    }
    for (int64_t step = 0; step < steps; ++step) lateness_.grid().At(step, 0).code = kUnresolvedCode;
  }

  PictureMap Map() { return MapOf({caused_, lateness_, rows_, numbers_, blame_, false, 0}); }
  // The code that cells of a range of rows and steps must show.
  [[nodiscard]] int Largest(size_t first_row, size_t rows, int64_t first_step, int64_t steps) const {
    int largest = 0;
    for (int64_t step = first_step; step < std::min(steps_, first_step + steps); ++step) {
      const auto column = caused_.columns().find(step);
      for (size_t row = first_row; row < std::min(ranks_, first_row + rows); ++row) {
        const int code = column == caused_.columns().end() ? 0 : DurationCode(column->second[row].ns);
        largest = std::max(largest, code == 0 && row == 0 ? kUnresolvedCode : code);
      }
    }
    return largest;
  }
  [[nodiscard]] const std::vector<int64_t>& blame() const { return blame_; }

 private:
  MapAxis axis_;
  CausedWaitGrid caused_;
  LatenessMap lateness_;
  size_t ranks_;
  int64_t steps_;
  std::vector<size_t> rows_;
  std::vector<int32_t> numbers_;
  std::vector<int64_t> blame_;
};

void ExpectLargest(const RandomMap& map, const report::PictureTile& tile) {
  const std::vector<int> codes = CodesOf(tile.cells);
  ASSERT_EQ(codes.size(), static_cast<size_t>(tile.rows.value * tile.columns.value));
  for (int64_t row = 0; row < tile.rows.value; ++row) {
    const auto first = tile.row_ranks ? static_cast<size_t>((*tile.row_ranks)[static_cast<size_t>(row)] - 100)
                                      : static_cast<size_t>(row * tile.ranks_per_row.value);
    for (int64_t column = 0; column < tile.columns.value; ++column) {
      const int expected = map.Largest(first, static_cast<size_t>(tile.ranks_per_row.value),
                                       column * tile.columns_per_cell.value, tile.columns_per_cell.value);
      ASSERT_EQ(codes[static_cast<size_t>(row * tile.columns.value + column)], expected) << row << "," << column;
    }
  }
}

TEST(MapOf, EachCellIsTheLargestOfTheRanksAndStepsThatItCovers) {
  struct Size {
    size_t ranks;
    int64_t steps;
    size_t tiles;  // a coarse map has a second one with its culprits
  };
  for (const Size& size : {Size{1, 1, 1}, Size{8, 24, 1}, Size{1024, 1000, 1}, Size{3, 2'500, 2}, Size{2'100, 7, 2}}) {
    RandomMap random(size.ranks, size.steps, static_cast<unsigned>(size.ranks));
    const PictureMap map = random.Map();
    ASSERT_EQ(map.layers.size(), 2U);
    EXPECT_EQ(map.columns.starts.size(), static_cast<size_t>(size.steps));
    EXPECT_EQ(map.columns.each.value, 1);
    ASSERT_EQ(map.layers[0].tiles.size(), size.tiles);
    EXPECT_LE(map.layers[0].tiles[0].rows.value, 1024);
    EXPECT_LE(map.layers[0].tiles[0].columns.value, 1000);
    for (const report::PictureTile& tile : map.layers[0].tiles) ExpectLargest(random, tile);
  }
}

TEST(MapOf, TheRanksWithTheMostBlameAreShownInFullDetail) {
  RandomMap random(2'100, 7, 5);
  const PictureMap map = random.Map();
  const std::vector<int32_t>& shown = *map.layers[0].tiles.at(1).row_ranks;
  ASSERT_EQ(shown.size(), 32U);
  std::vector<int64_t> blame = random.blame();
  std::sort(blame.rbegin(), blame.rend());
  for (size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(random.blame()[static_cast<size_t>(shown[i] - 100)], blame[i]);
  }
}

TEST(MapOf, ARunWithoutCollectivesHasNoLayers) {
  const MapAxis axis(true, 4);
  CausedWaitGrid caused = axis.Grid<CausedWaitCell>();
  LatenessMap lateness(axis);
  const PictureMap map = MapOf({caused, lateness, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 0, 0, 0}, false, 0});
  EXPECT_TRUE(map.layers.empty());
  EXPECT_TRUE(map.columns.starts.empty());
}

}  // namespace
}  // namespace lockstep
