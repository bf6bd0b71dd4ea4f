// Dialects: which forms a kernel takes, and how it answers. The table is features.def.
//
// `check --kernel 6.12` uses the dialect of one kernel; everything else uses the superset: all forms of all kernels,
// with the newest kernel's rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kevt::dialect {

struct Version {
  std::uint8_t major = 0;
  std::uint8_t minor = 0;
  friend constexpr auto operator<=>(const Version&, const Version&) = default;
};
std::string version_text(Version version);  // "6.12"

enum class Feature : std::uint8_t {
#define KEVT_FEATURE(name, sort, since, until, text) name,
#include "compiler/dialect/features.def"
#undef KEVT_FEATURE
};

enum class Sort : std::uint8_t { Form, Rule };

struct FeatureRow {
  std::string_view name;
  Sort sort;
  Version since;  // 0.0: older than all kernels here
  Version until;  // 255.255: not ended
  std::string_view text;
};
std::size_t feature_count();
const FeatureRow& feature_row(Feature feature);
// "exists since Linux 6.5", "existed up to Linux 6.12"
std::string when_text(Feature feature);

// The kernels that can be asked for.
enum class Kernel : std::uint8_t { Linux6_1, Linux6_12, Linux7_2, Newest };
inline constexpr std::array kKernels = {Kernel::Linux6_1, Kernel::Linux6_12, Kernel::Linux7_2, Kernel::Newest};
Version version_of(Kernel kernel);
std::string_view kernel_name(Kernel kernel);  // what --kernel takes: "6.1", "newest"

// Values: copy freely.
class Dialect {
 public:
  static constexpr Dialect superset() { return {}; }
  static Dialect of(Kernel kernel) { return Dialect(version_of(kernel)); }
  // A kernel's dialect, and the kinds of probes that kevtrace itself runs on every kernel: `f`, `t`, `w`. (Names of
  // arguments on kernels before 6.9 are handled separately: engine::EventTable.)
  static Dialect extended(Kernel kernel) {
    Dialect dialect = of(kernel);
    dialect.is_extended_ = true;
    return dialect;
  }
  // The dialect of a mount over a running kernel: that of the nearest known kernel that is not newer, extended.
  static Dialect running(unsigned major, unsigned minor);
  // Whether forms are accepted that no kernel has and kevtrace runs on every kernel: `w`, `.loglinear`.
  bool has_own_forms() const { return !version_ || is_extended_; }

  bool has(Feature feature) const;
  // nullopt: the superset.
  std::optional<Version> version() const { return version_; }

 private:
  constexpr Dialect() = default;
  explicit Dialect(Version version) : version_(version) {}
  std::optional<Version> version_;
  bool is_extended_ = false;
};

// The rows as a Markdown table with a column for each kernel, as in docs/language.md.
std::string feature_table();

}  // namespace kevt::dialect
