// TargetContext: what is known about the target: functions, their types, their code.
#pragma once

#include <QElapsedTimer>
#include <QString>
#include <memory>
#include <optional>
#include <string>

#include "compiler/author/symbol_index.h"
#include "compiler/target/kernel/kernel_types.h"
#include "compiler/target/process/process_env.h"
#include "gui/model/definition_check.h"

namespace kevt::gui {

// The sources of this knowledge. Nothing set: nothing is known, and only texts are checked.
struct WorldSources {
  int pid = 0;        // a process; 0: none
  QString functions;  // text of available_filter_functions
  QString kallsyms;   // paths of a kernel's files, of this machine or another one
  QString btf;
  bool has_kernel_beside = false;  // the running kernel is traced beside the process
  QString blacklist = {};          // of kprobes, "0xBEGIN-0xEND<tab>NAME" a line: functions that are not offered
};

// Reads the sources when first asked. Used by one thread at a time.
class TargetContext {
 public:
  explicit TargetContext(WorldSources sources) : sources_(std::move(sources)) {}

  // nullptr: no places are known.
  const target::TargetEnv* env();
  const target::ProcessEnv* process();  // nullptr: a kernel, or nothing
  std::shared_ptr<const author::SymbolIndex> symbols();
  bool isKernel() const { return sources_.pid == 0 && !(sources_.functions.isEmpty() && sources_.kallsyms.isEmpty()); }
  ParsedLines& parsed() { return parsed_; }
  // nullptr: the kernel is not traced beside the process.
  const target::PlaceSides* sides();
  const QString& trouble() const { return trouble_; }  // why something could not be read; empty: no error

 private:
  void read();
  void readKernel();
  void readProcess();

  WorldSources sources_;
  bool is_read_ = false;
  std::optional<target::ProcessEnv> process_;
  std::optional<target::TypedKernel> kernel_;
  std::shared_ptr<const author::SymbolIndex> symbols_ = std::make_shared<author::SymbolIndex>();
  QElapsedTimer since_look_;
  QString trouble_;
  std::optional<target::PlaceSides> sides_;
  ParsedLines parsed_;
};

}  // namespace kevt::gui
