// Code that was made earlier, found by what it does: the text of its fetch program.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/bpf.h"
#include "compiler/codegen/native.h"
#include "compiler/model/bpf_code.h"
#include "compiler/model/compiled_event.h"

namespace kevt::pipeline {

// Asked from any thread, unless somebody adds to it.
class CodeStore {
 public:
  struct Place {
    std::uint32_t image = 0;  // index into images()
    codegen::NativeEvent event;
    std::uint32_t register_reads = 0;
  };

  // For the kernel: who may run it, and for so many CPUs at most.
  struct Bpf {
    model::BpfCode code;
    codegen::BpfUsers users = codegen::BpfUsers::One;
  };

  CodeStore() = default;
  explicit CodeStore(std::vector<model::NativeImage> images) : images_(std::move(images)) {}
  std::uint32_t add_image(model::NativeImage image) {
    images_.push_back(std::move(image));
    return static_cast<std::uint32_t>(images_.size() - 1);
  }
  void add(std::string program, Place place) { places_.emplace(std::move(program), place); }

  const Place* find(const std::string& program) const {
    const auto found = places_.find(program);
    return found == places_.end() ? nullptr : &found->second;
  }
  void add_bpf(std::string program, Bpf bpf) { bpf_.emplace(std::move(program), std::move(bpf)); }
  // What runs `program` there, for these users, on a machine of so many CPUs.
  const model::BpfCode* find_bpf(const std::string& program, model::BpfContext context, codegen::BpfUsers users,
                                 unsigned cpus) const {
    const auto [first, last] = bpf_.equal_range(program);
    for (auto it = first; it != last; ++it) {
      const auto& [code, made_for] = it->second;
      if (code.context == context && made_for == users && code.cpus >= cpus) return &code;
    }
    return nullptr;
  }
  // The `format` file (id 0) of an event whose types were another kernel's; of several kernels the first one's.
  void add_format(std::string group_and_event, std::string format) {
    formats_.emplace(std::move(group_and_event), std::move(format));
  }
  const std::string* find_format(const std::string& group_and_event) const {
    const auto found = formats_.find(group_and_event);
    return found == formats_.end() ? nullptr : &found->second;
  }
  const std::vector<model::NativeImage>& images() const { return images_; }

 private:
  std::vector<model::NativeImage> images_;
  std::unordered_map<std::string, Place> places_;
  std::unordered_multimap<std::string, Bpf> bpf_;
  std::unordered_map<std::string, std::string> formats_;
};

// Where code comes from that need not be compiled.
struct MadeCode {
  const CodeStore* precompiled = nullptr;  // by compiled scripts
  CodeStore* kept = nullptr;               // compiled earlier; native code that is compiled now is added
};

}  // namespace kevt::pipeline
