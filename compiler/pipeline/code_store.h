// Code that was made earlier. It is found by the text of its fetch program, which says what the code does.
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

// Several threads may look code up, as long as no thread adds any.
class CodeStore {
 public:
  struct Place {
    std::uint32_t image = 0;  // index into images()
    codegen::NativeEvent event;
    std::uint32_t register_reads = 0;
  };

  // Code for the kernel, and whether one event or several may run it. It runs on at most `code.cpus` CPUs.
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
  // The code that runs `program` in that context, for these users, on a machine with `cpus` CPUs. nullptr: there is
  // none.
  const model::BpfCode* find_bpf(const std::string& program, model::BpfContext context, codegen::BpfUsers users,
                                 unsigned cpus) const {
    const auto [first, last] = bpf_.equal_range(program);
    for (auto it = first; it != last; ++it) {
      const auto& [code, made_for] = it->second;
      if (code.context == context && made_for == users && code.cpus >= cpus) return &code;
    }
    return nullptr;
  }
  // Adds the `format` file (id 0) of an event whose code was made with another kernel's types. Of several kernels the
  // first one's is kept.
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

// Where code comes from that need not be compiled again. Each pointer may be nullptr.
struct MadeCode {
  const CodeStore* precompiled = nullptr;  // code of compiled scripts
  CodeStore* kept = nullptr;               // code that was compiled earlier; native code compiled now is added
};

}  // namespace kevt::pipeline
