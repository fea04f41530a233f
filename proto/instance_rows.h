// Rows of the checked columns of instances. Pure; functions are thread safe, objects are not.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "analysis/model/instance_row.h"
#include "proto/instance_group.h"

namespace lockstep::codec {

// Of a batch, in their places.
[[nodiscard]] std::vector<InstanceRow> RowsOf(const InstanceGroups& all);
// Of one communicator, in the order of its columns.
[[nodiscard]] std::vector<InstanceRow> RowsOf(const InstanceGroup& group);

// The rows of a batch a piece at a time, in their places: those that are not made yet take a quarter of the room.
class RowPieces {
 public:
  RowPieces();  // of no rows
  // At once.
  explicit RowPieces(std::vector<InstanceRow> rows);
  // Of so many rows each; in one where the columns of a communicator are not in the order of their places, or where
  // communicators have few rows.
  RowPieces(const InstanceGroups& all, size_t piece_rows);
  ~RowPieces();
  RowPieces(RowPieces&&) noexcept;
  RowPieces& operator=(RowPieces&&) noexcept;

  // Empty: none are left.
  [[nodiscard]] std::vector<InstanceRow> Next();
  [[nodiscard]] bool done() const;

 private:
  struct Groups;

  std::vector<InstanceRow> rows_;  // the one piece, or
  std::unique_ptr<Groups> rest_;
};

}  // namespace lockstep::codec
