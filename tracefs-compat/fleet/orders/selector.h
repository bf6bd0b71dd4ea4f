// Selector: which hosts an order is for, by the labels that they have in fleet.conf:
//
//   role=web              role=web,zone=eu*            host=web1            *
//
// Words between commas must all fit; values are globs; `host` is the host's own name; `*` alone: every host.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace kevt::fleet {

struct Label {
  std::string name, value;
  bool operator==(const Label&) const = default;
};

// "NAME=VALUE". Names have letters, digits, `_`, `-` and `.`; values have what is printed, but no blanks and commas.
Result<Label> parse_label(std::string_view text);
// "role=web,zone=eu1"
std::string text_of(std::span<const Label> labels);

class Selector {
 public:
  static Result<Selector> parse(std::string_view text);
  bool fits(std::string_view host, std::span<const Label> labels) const;

 private:
  std::vector<Label> words_;  // their values are globs
};

}  // namespace kevt::fleet
