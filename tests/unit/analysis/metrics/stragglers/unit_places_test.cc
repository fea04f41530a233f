#include "analysis/metrics/stragglers/unit_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/analysis/metrics/stragglers/paced_run.h"

namespace lockstep {
namespace {

// The places of the instances of the first communicator in each step.
std::vector<std::vector<size_t>> PlacesOf(const PacedRun& run, UnitPlaces& places) {
  const Chapter chapter{run.match};
  UnitNumbers numbers{RunExtent{}};
  numbers.Open(chapter, run.graph);
  places.Open(chapter, run.graph, numbers);
  std::vector<std::vector<size_t>> by_step;
  for (const uint32_t index : run.graph.order) {
    const MatchedInstance& instance = run.match.instances[index];
    const auto unit = static_cast<size_t>(numbers.NumberOf(instance));
    const size_t place = places.Next(instance, unit);
    if (instance.communicator != 0) continue;
    by_step.resize(std::max(by_step.size(), unit + 1));
    by_step[unit].push_back(place);
  }
  return by_step;
}

PacedRun RunOfLayers(int layers) {
  PacedShape shape = Cluster(2, 2, 6);
  shape.layers = layers;
  return MakePacedRun(shape, 1);
}

TEST(UnitPlaces, FewInstancesAreEachAPlaceOfTheirOwn) {
  UnitPlaces places(4);
  for (const std::vector<size_t>& step : PlacesOf(RunOfLayers(5), places)) {
    EXPECT_EQ(step, (std::vector<size_t>{0, 1, 2, 3, 4}));
  }
}

TEST(UnitPlaces, ManyInstancesShareThePlacesEvenlyAndInTheirOrder) {
  UnitPlaces places(4);
  for (const std::vector<size_t>& step : PlacesOf(RunOfLayers(37), places)) {
    ASSERT_EQ(step.size(), 37U);
    for (size_t i = 0; i < step.size(); ++i) EXPECT_EQ(step[i], i / 3);
    EXPECT_LT(step.back(), places.count());
  }
}

TEST(UnitPlaces, WhatAStepHasMoreThanTheFirstChapterShowedIsOfItsLastPlace) {
  UnitPlaces places(4);
  (void)PlacesOf(RunOfLayers(16), places);
  const std::vector<std::vector<size_t>> by_step = PlacesOf(RunOfLayers(40), places);
  EXPECT_EQ(by_step.back().back(), places.count() - 1);
}

TEST(UnitPlaces, AFleetHasFewerPlacesPerRankAndAtLeastOne) {
  EXPECT_EQ(UnitPlaces(16'384).count(), 4U);
  EXPECT_EQ(UnitPlaces(1'000'000).count(), 1U);
}

}  // namespace
}  // namespace lockstep
