// Files that could be read in part only.
#pragma once

#include <set>
#include <string>

#include "analysis/model/run_data.h"

namespace lockstep {

class CutFiles {
 public:
  explicit CutFiles(const RunData& run) {
    for (const FileNote& file : run.files) {
      if (file.status == "partial") paths_.insert(file.path);
    }
  }

  [[nodiscard]] bool Hold(const SourceContext& source) const { return paths_.contains(source.path); }

 private:
  std::set<std::string> paths_;
};

}  // namespace lockstep
