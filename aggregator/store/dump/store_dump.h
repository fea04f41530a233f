// The canonical text of a SQLite store: for telling whether two stores hold the same.
//
// Equal data give equal bytes, whatever the order of arrival and however often a process was killed in between;
// different data differ. Left out is the bookkeeping that aggregator/store/README.md lists. One row of a table a line,
// tables in the order of the schema, rows in the order of their keys; what a blob holds follows in indented lines. The
// form is for comparing and reading: it may change between releases.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

// Takes a piece of the text, whole lines; its error ends the dump.
using DumpSink = std::function<absl::Status(std::string_view)>;

// Writes one snapshot of the store, which may be in use by an aggregator meanwhile; memory is that of the largest row.
// A file of an older schema is migrated as by every other opening. kNotFound when there is no file, kDataLoss when rows
// belong to nothing or a blob does not decode, else what OpenStoreForWriting says.
[[nodiscard]] absl::Status DumpStore(const std::string& path, const DumpSink& sink);

}  // namespace lockstep
