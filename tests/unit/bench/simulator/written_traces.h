// Reading the traces that the simulator wrote.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "platform/sqlite.h"

namespace lockstep {

using Json = nlohmann::json;

inline Database OpenExport(const std::string& path) {
  auto db = Database::Open(path, Database::Mode::kImmutableReadOnly);
  EXPECT_TRUE(db.ok()) << db.status();
  return *std::move(db);
}

}  // namespace lockstep
