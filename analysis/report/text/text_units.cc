#include "analysis/report/text/text_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/base/time.h"
#include "analysis/base/unit_text.h"
#include "analysis/report/fields/type.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

constexpr std::string_view kNull = "-";

std::vector<double> MagnitudesOf(const std::vector<Cell>& values) {
  std::vector<double> magnitudes;
  for (const Cell& value : values) {
    const double magnitude = std::abs(value.Real().value_or(0));
    if (std::isfinite(magnitude) && magnitude > 0) magnitudes.push_back(magnitude);
  }
  std::sort(magnitudes.begin(), magnitudes.end());
  return magnitudes;
}

// A column of nothing but dashes has no unit.
bool HasNumber(const std::vector<Cell>& values) {
  return std::any_of(values.begin(), values.end(), [](const Cell& value) { return value.IsNumber(); });
}

// By the middle value, so that most of the column reads well; but no value needs more than six digits before the point.
template <size_t n>
NamedUnit UnitOfColumn(const std::array<NamedUnit, n>& units, const std::vector<double>& magnitudes) {
  if (magnitudes.empty()) return units.front();
  size_t chosen = UnitOf(units, magnitudes[(magnitudes.size() - 1) / 2]);
  while (chosen + 1 < n && magnitudes.back() / units[chosen].size >= 1e6) ++chosen;
  return units[chosen];
}

int DecimalsFor(double largest) {
  if (largest < 10) return 3;
  if (largest < 100) return 2;
  return largest < 1e4 ? 1 : 0;
}

// Enough for the largest value to show four digits; none when all values are whole.
int DecimalsOf(const std::vector<double>& magnitudes, double unit) {
  if (magnitudes.empty()) return 0;
  const bool whole =
      std::all_of(magnitudes.begin(), magnitudes.end(), [&](double value) { return std::fmod(value, unit) == 0; });
  return whole ? 0 : DecimalsFor(magnitudes.back() / unit);
}

template <typename Format>
std::vector<std::string> FormatEach(const std::vector<Cell>& values, Format format) {
  std::vector<std::string> cells;
  cells.reserve(values.size());
  for (const Cell& value : values) {
    const std::optional<double> real = value.Real();
    cells.push_back(real ? format(*real) : std::string(kNull));
  }
  return cells;
}

// What would be shown as zero, but is not, says so.
std::string Fixed(double value, int decimals) {
  const double least = std::pow(10.0, -decimals);
  if (value > 0 && value < least / 2) return fmt::format("<{:.{}f}", least, decimals);
  return fmt::format("{:.{}f}", value, decimals);
}

template <size_t n>
FormattedColumn InUnits(const std::array<NamedUnit, n>& units, const std::vector<Cell>& values) {
  const std::vector<double> magnitudes = MagnitudesOf(values);
  const NamedUnit unit = UnitOfColumn(units, magnitudes);
  const int decimals = DecimalsOf(magnitudes, unit.size);
  return {HasNumber(values) ? std::string(unit.name) : "",
          FormatEach(values, [&](double value) { return Fixed(value / unit.size, decimals); })};
}

FormattedColumn Percents(const std::vector<Cell>& values) {
  const std::vector<double> magnitudes = MagnitudesOf(values);
  const int decimals = !magnitudes.empty() && magnitudes.back() < 0.01 ? 2 : 1;
  return {HasNumber(values) ? "%" : "", FormatEach(values, [&](double value) { return Fixed(100 * value, decimals); })};
}

FormattedColumn Bandwidths(const std::vector<Cell>& values) {
  const std::vector<double> magnitudes = MagnitudesOf(values);
  const int decimals = magnitudes.empty() ? 0 : DecimalsFor(magnitudes.back());
  return {HasNumber(values) ? "GB/s" : "", FormatEach(values, [&](double value) { return Fixed(value, decimals); })};
}

std::vector<std::string> TextCells(const std::vector<Cell>& values) {
  std::vector<std::string> cells;
  cells.reserve(values.size());
  for (const Cell& value : values) {
    cells.push_back(value.IsNothing() ? std::string(kNull) : Printable(value.Text()));
  }
  return cells;
}

std::vector<std::string> CountCells(const std::vector<Cell>& values) {
  std::vector<std::string> cells;
  cells.reserve(values.size());
  for (const Cell& value : values) cells.push_back(FormatCount(value));
  return cells;
}

// Year, month and day of a day number since 1970-01-01 in the Gregorian calendar, by counting eras of 400 years.
struct Date {
  int64_t year;
  int64_t month;
  int64_t day;
};

Date DateOf(int64_t days_since_epoch) {
  constexpr int64_t kDaysToMarchOfYear0 = 719468;
  constexpr int64_t kDaysOfEra = 146097;
  const int64_t days = days_since_epoch + kDaysToMarchOfYear0;
  const int64_t era = days / kDaysOfEra;
  const int64_t of_era = days % kDaysOfEra;
  const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * of_year + 2) / 153;
  const int64_t day = of_year - (153 * month_from_march + 2) / 5 + 1;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}

}  // namespace

FormattedColumn FormatColumn(CellKind kind, const std::vector<Cell>& values) {
  switch (kind) {
    case CellKind::kCount:
      return {"", CountCells(values)};
    case CellKind::kTime:
      return InUnits(kTimeUnits, values);
    case CellKind::kInstant:
      return {HasNumber(values) ? "ms" : "",
              FormatEach(values, [](double value) { return fmt::format("{:.3f}", value / 1e6); })};
    case CellKind::kPercent:
      return Percents(values);
    case CellKind::kBytes:
      return InUnits(kByteUnits, values);
    case CellKind::kBandwidth:
      return Bandwidths(values);
    case CellKind::kText:
    case CellKind::kKernel:
    case CellKind::kName:
    case CellKind::kPath:
    case CellKind::kNumber:
      break;
  }
  return {"", TextCells(values)};
}

std::string FormatTime(const Cell& ns) {
  const std::optional<double> value = ns.Real();
  return value ? TimeText(*value) : std::string(kNull);
}

std::string FormatSinceStart(const Cell& ns) {
  const std::optional<double> value = ns.Real();
  if (!value) return std::string(kNull);
  if (*value == 0) return "the run's start";
  return fmt::format("{} {} the run's start", TimeText(std::abs(*value)), *value < 0 ? "before" : "after");
}

std::string StepsWord(const Cell& block_ns) {
  return block_ns.Real() ? fmt::format("blocks of {}", FormatTime(block_ns)) : "steps";
}

std::string FormatPercent(const Cell& ratio) {
  const std::optional<double> value = ratio.Real();
  return value ? PercentText(*value) : std::string(kNull);
}

std::string FormatBytes(const Cell& bytes) {
  const std::optional<double> value = bytes.Real();
  return value ? BytesText(*value) : std::string(kNull);
}

std::string FormatCount(const Cell& count) {
  const std::optional<int64_t> value = count.Whole();
  if (value) return CountText(*value);
  return count.IsNumber() ? count.Text() : std::string(kNull);
}

std::string FormatUtc(int64_t unix_ns) {
  constexpr int64_t kFirstYear = 2000;
  constexpr int64_t kUsPerSecond = 1'000'000;
  constexpr int64_t kSecondsPerDay = 86'400;
  const int64_t us = std::max<int64_t>(unix_ns, 0) / kNsPerUs;
  const int64_t seconds = us / kUsPerSecond;
  const Date date = DateOf(seconds / kSecondsPerDay);
  if (date.year < kFirstYear) return "";
  const int64_t of_day = seconds % kSecondsPerDay;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06} UTC", date.year, date.month, date.day, of_day / 3600,
                     of_day / 60 % 60, of_day % 60, us % kUsPerSecond);
}

std::string FormatUtc(const Json& unix_ns) {
  report::Digits ns;
  return report::TypeOf<report::Digits>().FromJson(unix_ns, &ns) ? FormatUtc(ns.value) : "";
}

}  // namespace lockstep
