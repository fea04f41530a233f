// Who made the file, on which machine, when, and how its times are to be read: the metadata tables, the session start
// and the target's key-value rows.
//
// Of the environment of the traced program only the few keys of environment.h are looked at, and none is kept in the
// context; command lines are never read.
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

// Fills versions, options, host, base time, capture window and session of the context. First of all readers.
absl::Status ReadMetadata(ReadSession& session);

// The discriminator of the capture session. Last of all readers: without a session start it is made of what was read.
void SetSessionId(ReadSession& session);

}  // namespace lockstep::nsys
