// The pattern of `field ~ "pattern"`.
#pragma once

#include <string>
#include <string_view>

#include "compiler/model/filter.h"

namespace kevt::sema {

struct FilterGlob {
  model::GlobKind kind = model::GlobKind::Full;
  bool negated = false;
  std::string text;  // without '!' and the '*' that `kind` implies; for GlobKind::Glob with all its '*'
};

FilterGlob classify_glob(std::string_view pattern);

}  // namespace kevt::sema
