// Values of a store as text: exact, on one line, harmless to a terminal. Equal values give equal text, different ones
// differ. Pure, thread safe.
#pragma once

#include <string>
#include <string_view>

#include "analysis/model/instance_row.h"
#include "analysis/model/step_row.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// In double quotes; everything but printable ASCII as \xNN.
void AppendQuoted(std::string_view text, std::string* out);
// Lower-case hexadecimal digits; "-" for nothing.
void AppendHex(std::string_view bytes, std::string* out);
// "exact count=3 sum=.. squares=.. min=.. max=.. values 10x2 12x1", or "histogram ... buckets ...".
void AppendSketch(const Sketch& sketch, std::string* out);
// " field=value" for every field that has not its default.
void AppendInstance(const InstanceRow& row, std::string* out);
// All fields.
void AppendMeasure(const IntervalMeasure& measure, std::string* out);

}  // namespace lockstep
