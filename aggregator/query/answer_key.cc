#include "aggregator/query/answer_key.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "aggregator/query/answering_digest.h"
#include "analysis/base/version.h"
#include "analysis/report/report.h"
#include "proto/query_codec.h"

namespace lockstep {

Hash128 AnswerKey(const AnalysisOptions& options) {
  AnalysisOptions canonical = options;
  canonical.views.clear();
  const auto is_asked = [&](const std::string& view) {
    const auto names_it = [&](const std::string& asked) { return asked == view || (asked == "all" && IsInAll(view)); };
    return std::any_of(options.views.begin(), options.views.end(), names_it);
  };
  std::copy_if(KnownViews().begin(), KnownViews().end(), std::back_inserter(canonical.views), is_asked);
  const auto is_unknown = [](const std::string& view) { return view != "all" && !IsView(view); };
  std::copy_if(options.views.begin(), options.views.end(), std::back_inserter(canonical.views), is_unknown);
  v1::ViewsRequest request;
  ToProto("", canonical, &request);
  return HashBuilder().Add(Version()).Add(AnsweringDigest()).Add(request.SerializeAsString()).Finish();
}

Hash128 PublishedRanksKey() {
  return HashBuilder().Add(Version()).Add(AnsweringDigest()).Add("published ranks").Finish();
}

}  // namespace lockstep
