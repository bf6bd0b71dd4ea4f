// Code that was made earlier, found by what it does: the text of its fetch program.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/native.h"
#include "compiler/model/compiled_event.h"

namespace kevt::pipeline {

// Filled once, then only asked: from any thread.
class CodeStore {
 public:
  struct Place {
    std::uint32_t image = 0;  // index into images()
    codegen::NativeEvent event;
    std::uint32_t register_reads = 0;
  };

  explicit CodeStore(std::vector<model::NativeImage> images) : images_(std::move(images)) {}
  void add(std::string program, Place place) { places_.emplace(std::move(program), place); }

  const Place* find(const std::string& program) const {
    const auto found = places_.find(program);
    return found == places_.end() ? nullptr : &found->second;
  }
  const std::vector<model::NativeImage>& images() const { return images_; }

 private:
  std::vector<model::NativeImage> images_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace kevt::pipeline
