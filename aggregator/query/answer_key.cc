#include "aggregator/query/answer_key.h"

#include "lockstep/source_digest.h"
#include "proto/query_codec.h"

namespace lockstep {

Hash128 AnswerKey(const AnalysisOptions& options) {
  v1::ViewsRequest request;
  ToProto("", options, &request);
  return HashBuilder().Add(kSourceDigest).Add(request.SerializeAsString()).Finish();
}

}  // namespace lockstep
