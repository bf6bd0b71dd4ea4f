// The pattern of `field ~ "pattern"`.
#pragma once

#include <string>
#include <string_view>

#include "compiler/model/filter.h"

namespace kevt::sema {

struct FilterGlob {
  model::GlobKind kind = model::GlobKind::Full;
  bool negated = false;
  std::string text;  // without the '*' that `kind` stands for; the whole pattern for GlobKind::Glob
};

FilterGlob classify_glob(std::string_view pattern);

}  // namespace kevt::sema
