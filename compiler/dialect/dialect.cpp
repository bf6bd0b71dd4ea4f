// The table of features, as code.
//
// Problem: some forty forms and habits differ between the kernels people run, and an `if` on a version number says
// nothing to its reader. Idea: each difference has a name and one row; the parser and sema ask for the name.
//
//   Dialect::of(Kernel::Linux6_1).has(Feature::Fprobes) == false,  Dialect::superset().has(…) == true
//
// A form that ended (FprobeMaxactive) is still taken by the superset; a rule is always one kernel's, there the
// newest's. Not here: what the forms mean. Sources: kernel/trace of Debian's 6.1.192, 6.12.107, 7.2.12 and 7.3.4.
#include "compiler/dialect/dialect.h"

#include <fmt/format.h>

#include <iterator>

#include "common/assert.h"

namespace kevt::dialect {
namespace {

constexpr Version V(int major, int minor) {
  return {static_cast<std::uint8_t>(major), static_cast<std::uint8_t>(minor)};
}
constexpr Version FIRST = V(0, 0);
constexpr Version NEVER = V(255, 255);

constexpr FeatureRow kRows[] = {
#define KEVT_FEATURE(name, sort, since, until, text) {#name, Sort::sort, since, until, text},
#include "compiler/dialect/features.def"
#undef KEVT_FEATURE
};

constexpr Version kNewest = V(7, 3);

// A change that a stable kernel got, but not the releases between it and the row's.
struct Backport {
  Feature feature;
  Version to;
};
constexpr Backport kBackports[] = {
    {Feature::NamelessRefused, V(6, 12)},  // 6.12.117
};

bool has_at(Feature feature, Version version) {
  const FeatureRow& row = kRows[static_cast<std::size_t>(feature)];
  for (const Backport& backport : kBackports)
    if (backport.feature == feature && backport.to == version) return true;
  return row.since <= version && version < row.until;
}

}  // namespace

std::string version_text(Version version) { return fmt::format("{}.{}", version.major, version.minor); }

std::size_t feature_count() { return std::size(kRows); }

const FeatureRow& feature_row(Feature feature) {
  const auto index = static_cast<std::size_t>(feature);
  KEVT_ASSERT(index < std::size(kRows));
  return kRows[index];
}

std::string when_text(Feature feature) {
  const FeatureRow& row = feature_row(feature);
  if (row.until == NEVER) return fmt::format("exists since Linux {}", version_text(row.since));
  Version last = row.until;
  --last.minor;
  return fmt::format("existed up to Linux {}", version_text(last));
}

Version version_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::Linux6_1:
      return V(6, 1);
    case Kernel::Linux6_12:
      return V(6, 12);
    case Kernel::Linux7_2:
      return V(7, 2);
    case Kernel::Newest:
      return kNewest;
  }
  return kNewest;
}

std::string_view kernel_name(Kernel kernel) {
  switch (kernel) {
    case Kernel::Linux6_1:
      return "6.1";
    case Kernel::Linux6_12:
      return "6.12";
    case Kernel::Linux7_2:
      return "7.2";
    case Kernel::Newest:
      return "newest";
  }
  return "";
}

namespace {

// The features of extended(), which concern only `f` and `t`. Names of arguments are not among them: they are parsed
// with the superset when an event is defined.
bool is_extension(Feature feature) {
  return feature == Feature::Fprobes || feature == Feature::Tprobes || feature == Feature::ExitByRetval;
}

}  // namespace

Dialect Dialect::running(unsigned major, unsigned minor) {
  if (major < 6 || (major == 6 && minor < 12)) return extended(Kernel::Linux6_1);
  if (major < 7 || (major == 7 && minor < 2)) return extended(Kernel::Linux6_12);
  return extended(Kernel::Linux7_2);
}

bool Dialect::has(Feature feature) const {
  const FeatureRow& row = feature_row(feature);
  if (is_extended_ && is_extension(feature)) return true;
  if (is_extended_ && feature == Feature::OneTracepointProbe) return false;
  if (version_) return has_at(feature, *version_);
  return row.sort == Sort::Form || has_at(feature, kNewest);
}

std::string feature_table() {
  std::string table = "| what |";
  for (const Kernel kernel : kKernels) table += fmt::format(" {} |", kernel_name(kernel));
  table += " |\n|---|";
  for (std::size_t i = 0; i < kKernels.size(); ++i) table += "---|";
  table += "---|\n";
  for (std::size_t i = 0; i < feature_count(); ++i) {
    const auto feature = static_cast<Feature>(i);
    const FeatureRow& row = feature_row(feature);
    std::string text(row.text);
    const bool seen = text.starts_with("(seen) ");
    if (seen) text.erase(0, std::string_view("(seen) ").size());
    table += fmt::format("| {} |", text);
    for (const Kernel kernel : kKernels) table += has_at(feature, version_of(kernel)) ? " yes |" : " – |";
    const std::string when = row.until == NEVER ? "since " + version_text(row.since) : when_text(feature).substr(8);
    table += fmt::format(" {} |\n", seen ? "" : when);
  }
  return table;
}

}  // namespace kevt::dialect
