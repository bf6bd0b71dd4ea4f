// The problem: what a live kernel answered to generated texts is compared with what the compiler answers for it.
//
// The idea: the same cases, through the miniature tracing directory of the goldens:
//
//   kevt_replay_answers 6.12 vmlinux.btf <cases.jsonl >answers.jsonl
//
// A case says which file is written, after which others (cases.py tells the form); an answer has what in_guest.py
// answers. `unsure` marks definitions whose listing only the kernel's types complete; with its BTF there are none.
// Cases without `reset` follow on the ones before. Not here: the comparison (replay.py).
#include <fmt/format.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "compiler/layout/layout.h"
#include "compiler/sema/filter.h"
#include "compiler/sema/trigger.h"
#include "compiler/target/btf.h"
#include "grammar/parse_filter.h"
#include "tests/golden/trigger_world.h"

namespace kevt::golden {
namespace {

using nlohmann::json;

// Cases hold bytes as Latin-1; texts here are bytes.
std::string bytes_of(const std::string& utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      bytes += utf8[i];
    } else if (i + 1 < utf8.size()) {
      bytes += static_cast<char>(((c & 0x03) << 6) | (static_cast<unsigned char>(utf8[++i]) & 0x3f));
    }
  }
  return bytes;
}

std::string latin1(const std::string& bytes) {
  std::string utf8;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xc0 | (byte >> 6));
      utf8 += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return utf8;
}

json log_entry(const diag::Diagnostic& entry, diag::Kind kind, std::optional<std::uint32_t> column,
               const std::string& event) {
  std::string location(diag::location_name(entry.location));
  if (entry.location == diag::Location::Hist) location += ":" + event;
  return {location, std::string(diag::kernel_text(kind)), column ? static_cast<int>(*column) : 0,
          latin1(entry.log ? entry.log->command : entry.command)};
}

class Replay {
 public:
  Replay(dialect::Dialect dialect, std::shared_ptr<const target::TypeTable> types)
      : dialect_(dialect), types_(std::move(types)) {
    reset();
  }

  json answer(const json& test);

 private:
  void reset() {
    world_ = std::make_unique<TriggerWorld>(dialect_);
    world_->events().env().set_types(types_);
  }
  std::string write(const std::string& file, const std::string& text);
  void write_filter(const std::string& event, const std::string& text, json& answer);
  void write_trigger(const std::string& event, const std::string& text, json& answer);
  void write_events(const json& test, json& answer);

  dialect::Dialect dialect_;
  std::shared_ptr<const target::TypeTable> types_;
  std::unique_ptr<TriggerWorld> world_;
};

std::pair<std::string, std::string> file_and_event(const std::string& file) {
  const std::size_t blank = file.find(' ');
  if (blank == std::string::npos) return {file, ""};
  return {file.substr(0, blank), file.substr(blank + 1)};
}

std::string Replay::write(const std::string& file, const std::string& text) {
  const auto [kind, event] = file_and_event(file);
  if (kind == "trigger") return error_name(world_->write(event, text).errno_value);
  return error_name(world_->events().write(*events_file(kind), text).errno_value);
}

void Replay::write_filter(const std::string& event, const std::string& text, json& answer) {
  const std::size_t slash = event.find('/');
  const auto* entry = world_->catalog().find(event.substr(0, slash), event.substr(slash + 1));
  if (entry == nullptr) {
    answer["errno"] = answer["read"] = "ENOENT";
    return;
  }
  const std::string_view command = grammar::filter_command(text);
  const std::size_t digit = command.find_first_not_of(" \t");
  const bool zero = digit != std::string_view::npos && command[digit] == '0';
  if (zero && command.find_first_not_of(" \t", digit + 1) == std::string_view::npos) {
    answer["read"] = "none\n";
    return;
  }
  diag::Sink sink;
  const auto filter =
      sema::compile_filter(text, entry->layout, sink, {.dialect = dialect_, .newer_forms = sema::NewerForms::Judged});
  if (filter) {
    answer["read"] = latin1(std::string(command) + "\n");
    return;
  }
  const diag::Diagnostic& first = sink.diagnostics().front();
  answer["errno"] = error_name(first.errno_value);
  answer["read"] = first.logged ? latin1(sema::filter_file_text(first)) : "none\n";
  if (first.logged) answer["log"].push_back(log_entry(first, first.kind, first.column, ""));
}

void Replay::write_trigger(const std::string& event, const std::string& text, json& answer) {
  const TriggerResult result = world_->write(event, text);
  std::string with_colon = event;
  with_colon.replace(with_colon.find('/'), 1, ":");
  answer["errno"] = error_name(result.errno_value);
  for (auto mistake = result.mistakes.rbegin(); mistake != result.mistakes.rend(); ++mistake) {
    if (mistake->logged) answer["log"].push_back(log_entry(*mistake, mistake->kind, mistake->column, with_colon));
  }
  answer["read"] = latin1(world_->read(event));
}

// What is deleted after a case; see in_guest.py.
std::string event_of(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return "";
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

void Replay::write_events(const json& test, json& answer) {
  DefinitionWorld& events = world_->events();
  const auto before = events.listing();
  const std::set<std::string> known(before.begin(), before.end());
  const auto file = events_file(test.at("file").get<std::string>());
  const WriteResult result = events.write(*file, bytes_of(test.at("text")));
  answer["errno"] = error_name(result.errno_value);
  answer["unsure"] = result.needs_types;
  if (!result.mistakes.empty() && result.mistakes.front().logged) {
    const diag::Diagnostic& first = result.mistakes.front();
    if (first.prelude) {
      const std::uint32_t column = first.log ? first.log->prelude_column.value_or(0) : first.prelude->column;
      answer["log"].push_back(log_entry(first, first.prelude->kind, column, ""));
    }
    answer["log"].push_back(log_entry(first, first.kind, first.log ? first.log->column : first.column, ""));
  }
  const auto after = events.listing();
  const std::set<std::string> left(after.begin(), after.end());
  std::set<std::string> made;
  for (const std::string& line : after) {
    if (known.contains(line)) continue;
    answer["listing"].push_back(latin1(line));
    made.insert(event_of(line));
  }
  for (const std::string& line : before) {
    if (!left.contains(line)) answer["gone"].push_back(latin1(line));
  }
  for (const auto& [name, text] : result.format) answer["format"][latin1(name)] = latin1(text);
  if (!test.at("clean").get<bool>()) return;
  for (const std::string& name : made) write("dynamic_events", "-:" + name);
  for (const json& step : test.at("setup")) write("dynamic_events", "-:" + event_of(bytes_of(step.at(1))));
}

json Replay::answer(const json& test) {
  if (test.value("reset", false)) reset();
  json answer = {
      {"id", test.at("id")},      {"errno", ""},           {"log", json::array()},    {"setup", json::array()},
      {"listing", json::array()}, {"gone", json::array()}, {"format", json::object()}};
  for (const json& step : test.at("setup")) answer["setup"].push_back(write(step.at(0), bytes_of(step.at(1))));
  const auto [kind, event] = file_and_event(test.at("file"));
  const std::string text = bytes_of(test.at("text"));
  if (kind == "filter") {
    write_filter(event, text, answer);
  } else if (kind == "trigger") {
    write_trigger(event, text, answer);
    world_->clear_triggers();
  } else {
    write_events(test, answer);
  }
  return answer;
}

int replay(std::string_view kernel, const char* btf) {
  std::shared_ptr<const target::TypeTable> types;
  if (btf != nullptr) {
    auto table = target::read_btf_file(btf);
    if (!table) {
      fmt::print(stderr, "{}\n", table.error().message());
      return 2;
    }
    types = std::make_shared<const target::TypeTable>(*std::move(table));
  }
  for (const dialect::Kernel known : dialect::kKernels) {
    if (dialect::kernel_name(known) != kernel) continue;
    Replay replay(dialect::Dialect::of(known), types);
    for (std::string line; std::getline(std::cin, line);) fmt::print("{}\n", replay.answer(json::parse(line)).dump());
    return 0;
  }
  fmt::print(stderr, "no kernel `{}`\n", kernel);
  return 2;
}

}  // namespace
}  // namespace kevt::golden

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: kevt_replay_answers KERNEL [BTF] <CASES >ANSWERS\n");
    return 2;
  }
  return kevt::golden::replay(argv[1], argc == 3 ? argv[2] : nullptr);
}
