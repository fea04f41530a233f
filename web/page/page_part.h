// One piece of the data of a page.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct PagePart {
  std::string path;  // where it belongs in "lockstep.page/1", such as "report.clock.hosts"
  std::string json;
};

// What the first picture of a page shows, and the parts that are read after it is drawn.
struct PageParts {
  std::string first;  // "lockstep.page/1" without what `later` has, JSON
  std::vector<PagePart> later;
};

}  // namespace lockstep
