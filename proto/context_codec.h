// Contexts, file notes and drop counters between the model and the wire.
//
// ToProto repairs texts to valid UTF-8 (a path may be any bytes). FromProto checks everything and gives
// kInvalidArgument naming the field; a drop reason that this version does not know is refused, because a silent loss
// would be worse. Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <google/protobuf/repeated_ptr_field.h>

#include "analysis/model/drop_reason.h"
#include "analysis/model/run_data.h"
#include "analysis/model/source.h"
#include "lockstep/v1/batch.pb.h"
#include "lockstep/v1/ingest.pb.h"

namespace lockstep {

void ToProto(const SourceContext& context, v1::SourceContext* out);
[[nodiscard]] absl::StatusOr<SourceContext> FromProto(const v1::SourceContext& in);

void ToProto(const FileNote& note, v1::FileNote* out);
[[nodiscard]] absl::StatusOr<FileNote> FromProto(const v1::FileNote& in);

// Only counts above zero travel, in the order of the catalogue.
void ToProto(const DropCounters& drops, google::protobuf::RepeatedPtrField<v1::DropCount>* out);
[[nodiscard]] absl::StatusOr<DropCounters> FromProto(const google::protobuf::RepeatedPtrField<v1::DropCount>& in);

// A process group; absent numbers stand for the model's -1.
void ToProto(const GroupConfig& group, v1::GroupConfig* out);
[[nodiscard]] absl::StatusOr<GroupConfig> FromProto(const v1::GroupConfig& in);

}  // namespace lockstep
