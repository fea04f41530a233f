// The processes of a file that a tool merged from the traces of several ranks.
//
// Such tools write a label before the process id of every row ("[TP02] 2", as SGLang's merge_profiles does), so that
// rows of different ranks stay apart, whose process, device, stream and correlation numbers are otherwise the same. A
// file without labels is one process. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/readers/kineto/json_scanner.h"
#include "agent/readers/record_sink.h"

namespace lockstep::kineto {

// "TP02", "rank 2" and "TP-2" are of rank 2; labels of several numbers ("TP02-DP01") do not tell one.
[[nodiscard]] std::optional<int32_t> RankOfLabel(std::string_view label);

class ProcessLabels {
 public:
  // The sink must outlive the labels. Its first process is that of rows without a label.
  explicit ProcessLabels(RecordSink& sink);

  struct Place {
    uint32_t process = 0;     // index into FileContext::processes
    std::string_view number;  // what stands behind the label
  };
  // nullopt: the file has more labels than there can be ranks in one file.
  [[nodiscard]] std::optional<Place> Of(const JsonToken& pid);

  [[nodiscard]] size_t processes() const { return labels_.empty() ? 1 : labels_.size(); }
  // After the last row: every labelled process gets the claim of its label. What the file says of one process only
  // (distributedInfo) is of none of several, but for what they have in common: the world and its groups.
  void Finish(FileContext& context) const;

 private:
  RecordSink& sink_;
  uint32_t first_;  // process
  std::map<std::string, uint32_t, std::less<>> labels_;
  std::string last_label_;
  uint32_t last_process_ = 0;
};

}  // namespace lockstep::kineto
