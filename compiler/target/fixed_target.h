// A world of fixed facts: TargetEnv and EventCatalog for tests and for checking scripts offline.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

class FixedTargetEnv : public TargetEnv {
 public:
  // Adds a function or data object. Names may repeat: then a lookup without a module is NotUnique.
  void add_function(Symbol symbol) { functions_.push_back(std::move(symbol)); }
  void add_data(Symbol symbol) { data_.push_back(std::move(symbol)); }
  void add_file(std::string path, FileStatus status) { files_[std::move(path)] = status; }
  // Byte 0 of `path` lies at `address`.
  void map_file(std::string path, std::uint64_t address) { mapped_[std::move(path)] = address; }
  // Adds a line of the source; find_line() gives all its variables, whatever is asked for.
  void add_line(std::string source, std::uint32_t line, LinePlaces places) {
    lines_[{std::move(source), line}] = std::move(places);
  }
  // Sets what probeability() answers for one address; all other addresses are Ok.
  void set_probeability(std::uint64_t address, Probeability answer) { probeability_[address] = answer; }
  void set_possible_cpus(unsigned cpus) { cpus_ = cpus; }
  // Types of the kernel image; a function that is named with its module has no types.
  void set_types(std::shared_ptr<const TypeTable> types) { types_ = std::move(types); }

  std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                   std::string_view name) const override;
  std::vector<std::string> functions_matching(std::optional<std::string_view> module,
                                              std::string_view glob) const override;
  std::expected<Symbol, LookupError> find_data(std::string_view name) const override;
  std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                             std::uint64_t offset) const override;
  std::expected<LinePlaces, LookupError> find_line(const LineQuestion& question) const override;
  Probeability probeability(std::uint64_t address) const override;
  FileStatus file_status(std::string_view path) const override;
  std::optional<Symbol> symbolize(std::uint64_t address) const override;
  TypeSource type_source() const override { return types_ ? TypeSource::Kernel : TypeSource::None; }
  std::expected<FunctionTypes, TypesError> function_types(std::optional<std::string_view> module,
                                                          std::string_view name) const override;
  std::expected<FunctionTypes, TypesError> tracepoint_types(std::string_view name) const override;
  const TypeTable* named_types() const override { return types_.get(); }
  unsigned possible_cpus() const override { return cpus_; }
  std::uint32_t max_stack_slots() const override { return 2048; }  // 16 KiB stacks

 private:
  std::vector<Symbol> functions_;
  std::vector<Symbol> data_;
  std::map<std::string, FileStatus, std::less<>> files_;
  std::map<std::string, std::uint64_t, std::less<>> mapped_;
  std::map<std::pair<std::string, std::uint32_t>, LinePlaces> lines_;
  std::map<std::uint64_t, Probeability> probeability_;
  std::shared_ptr<const TypeTable> types_;
  unsigned cpus_ = 1;
};

// An environment that knows nothing: every lookup answers NotChecked, so only the text is judged.
class UncheckedTargetEnv : public TargetEnv {
 public:
  std::expected<Symbol, LookupError> find_function(std::optional<std::string_view> module,
                                                   std::string_view name) const override;
  std::expected<Symbol, LookupError> find_data(std::string_view name) const override;
  std::expected<std::uint64_t, LookupError> find_file_offset(std::string_view path,
                                                             std::uint64_t offset) const override;
  Probeability probeability(std::uint64_t) const override { return Probeability::NotChecked; }
  FileStatus file_status(std::string_view) const override { return FileStatus::NotChecked; }
  std::optional<Symbol> symbolize(std::uint64_t) const override { return std::nullopt; }
  unsigned possible_cpus() const override { return 1; }
  std::uint32_t max_stack_slots() const override { return 2048; }
};

class FixedCatalog : public EventCatalog {
 public:
  // Adds an entry, or replaces the one of the same name. A pointer from find() is valid until its entry is replaced or
  // removed.
  void add(CatalogEntry entry);
  // Adds a probe to its event, and the event if it is new: definitions that are checked later see both.
  void add_probe(std::shared_ptr<const model::Definition> definition, const model::RecordLayout& layout);
  void add_probe(model::Definition definition, const model::RecordLayout& layout) {
    add_probe(std::make_shared<const model::Definition>(std::move(definition)), layout);
  }
  bool remove(std::string_view group, std::string_view event);
  const CatalogEntry* find(std::string_view group, std::string_view event) const override;
  CatalogEntry* find(std::string_view group, std::string_view event);
  std::vector<const model::Definition*> probes_of(model::EventKind kind) const override;

 private:
  std::unordered_map<std::string, CatalogEntry> entries_;  // by "GROUP/EVENT"
};

}  // namespace kevt::target
