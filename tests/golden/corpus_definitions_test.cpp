// The problem: definitions must be taken, refused, listed and explained as Debian's 6.1 does.
//
// The idea: replay what that kernel answered. Each record of def.jsonl.gz is a text written to one of the four
// files of events, with errno, the error_log entry, the listing afterwards and the format files of new events.
// Agreement is measured for each of these and must not fall.
//
// The folder comes from KEVT_CORPUS; without it nothing is tested here (definitions_test.cpp always runs).
// KEVT_CORPUS_VERBOSE=1 shows every difference. Records that depend on how that kernel was compiled are counted;
// the facts they need are taken from themselves (supply_facts).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/golden/corpus_reader.h"
#include "tests/golden/definition_world.h"

namespace kevt::golden {
namespace {

using nlohmann::json;

constexpr double kLeastPercent = 100.0;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A kernel symbol's address, in the corpus `@KSYM:vfs_read@`.
struct AddressHolder {
  std::string holder;
  std::string address;
};

// Place-holders of the corpus → our world.
std::string to_world(std::string text, DefinitionWorld& world, std::vector<AddressHolder>& holders) {
  replace_all(text, "@DIR@", kFolder);
  static const std::regex symbol("@KSYM:([a-z_]+)@");
  for (std::smatch match; std::regex_search(text, match, symbol);) {
    const auto found = world.env().find_function({}, match[1].str());
    holders.push_back({match[0].str(), fmt::format("0x{:016x}", found ? found->address : 0)});
    text = match.prefix().str() + holders.back().address + match.suffix().str();
  }
  return text;
}

// … and back, for listings. Kernel addresses are hashed in them.
std::string listing_from_world(std::string text) {
  replace_all(text, kFolder, "@DIR@");
  static const std::regex by_address("^([pr][0-9]*:[^ ]*) 0x[0-9a-f]{16}( .*)?$");
  std::smatch match;
  if (!std::regex_match(text, match, by_address)) return text;
  static const std::regex generated("_0x[0-9a-f]{16}$");
  return std::regex_replace(match[1].str(), generated, "_0xHASHED") + " 0xHASHED" + match[2].str();
}

// The caret counts in the text with its place-holders.
std::string log_from_world(const diag::Diagnostic& diagnostic, const std::vector<AddressHolder>& holders) {
  std::string command = diagnostic.command;
  int column = diagnostic.column ? static_cast<int>(*diagnostic.column) : -1;
  for (const AddressHolder& holder : holders) {
    const std::size_t at = command.find(holder.address);
    if (at == std::string::npos) continue;
    if (column > static_cast<int>(at)) {
      column += static_cast<int>(holder.holder.size()) - static_cast<int>(holder.address.size());
    }
    command.replace(at, holder.address.size(), holder.holder);
  }
  replace_all(command, kFolder, "@DIR@");
  return fmt::format("{}: error: {} | {} | {}", location_name(diagnostic.location), kernel_text(diagnostic.kind),
                     column, command);
}

// The corpus shows bytes that are no UTF-8 as \xNN.
std::string printable(const std::string& text) {
  if (json(text).dump(-1, ' ', false, json::error_handler_t::replace).find("\xef\xbf\xbd") == std::string::npos)
    return text;
  std::string shown;
  for (const char c : text) {
    shown += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c)
                                                  : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// What a write left behind, as texts that are compared whole.
struct Answer {
  std::string verdict;
  std::string listing;
  std::string format;
  std::string log;  // location, message, caret, command
};

std::string masked_format(const std::string& format) {
  static const std::regex hashed("0x[0-9a-f]{16}\n");
  return std::regex_replace(std::regex_replace(format, std::regex("ID: [0-9N]+"), "ID: N"), hashed, "0xHASHED\n");
}

Answer kernel_answer(const json& record) {
  const json& result = record.at("result");
  Answer answer{.verdict = result.at("errno")};
  if (result.contains("dynamic_events")) answer.listing = joined(result.at("dynamic_events"));
  if (result.contains("format")) {
    std::map<std::string, std::string> formats = result.at("format");
    for (const auto& [name, text] : formats) answer.format += masked_format(text);
  }
  if (result.contains("error")) {
    const json& error = result.at("error");
    answer.log = fmt::format(
        "{} entries: {} | {} | {}", result.at("errors").get<int>(), error.at("msg").get<std::string>(),
        error.at("caret").is_null() ? -1 : error.at("caret").get<int>(), error.at("cmd").get<std::string>());
  }
  return answer;
}

// What a record says of the kernel it was made on: where instructions begin, what cannot be probed, what is there
// twice. Only the way such a fact is reported is tested then.
void supply_facts(const json& record, DefinitionWorld& world) {
  static const std::regex place("^[pr]:[a-z]+ ([a-z_]+)(\\+([0-9]+))?");
  const std::string text = record.at("text");
  std::smatch match;
  if (!std::regex_search(text, match, place)) return;
  const std::string verdict = record.at("result").at("errno");
  const bool known = world.env().find_function({}, match[1].str()).has_value();
  constexpr std::uint64_t kFirst = 0xffffffff81f00000;
  if (!known && verdict != "ENOENT") world.env().add_function({.name = match[1], .address = kFirst, .size = 64});
  if (verdict == "EADDRNOTAVAIL") world.env().add_function({.name = match[1], .address = kFirst + 64, .size = 64});
  const auto function = world.env().find_function({}, match[1].str());
  if (!function) return;
  const std::uint64_t address = function->address + (match[3].matched ? std::stoull(match[3].str()) : 0);
  if (verdict == "EILSEQ") world.env().set_probeability(address, target::Probeability::NotInstructionBoundary);
  if (verdict == "EINVAL") world.env().set_probeability(address, target::Probeability::Blacklisted);
}

Answer our_answer(const json& record) {
  DefinitionWorld world;
  if (record.value("kernel_specific", false)) supply_facts(record, world);
  std::vector<AddressHolder> holders;
  if (record.contains("setup")) {
    for (const json& step : record.at("setup")) {
      world.write(*events_file(step[0].get<std::string>()), to_world(step[1], world, holders));
    }
  }
  const auto file = events_file(record.at("file").get<std::string>());
  const WriteResult result = world.write(*file, to_world(record.at("text"), world, holders));
  Answer answer{.verdict = error_name(result.errno_value)};
  std::vector<std::string> lines = world.listing();
  for (std::string& line : lines) line = printable(listing_from_world(std::move(line)));
  answer.listing = joined(lines);
  for (const auto& [name, text] : result.format) answer.format += masked_format(text);
  if (!result.mistakes.empty() && result.mistakes.front().logged) {
    const diag::Diagnostic& first = result.mistakes.front();
    answer.log = fmt::format("{} entries: {}", first.prelude ? 2 : 1, log_from_world(first, holders));
  }
  return answer;
}

struct Score {
  int all = 0;
  int same = 0;
  void count(bool agrees) {
    ++all;
    same += agrees ? 1 : 0;
  }
  double percent() const { return all == 0 ? 100.0 : 100.0 * same / all; }
};

struct Scores {
  Score whole, verdict, listing, format, log;
  std::map<std::string, Score> categories;
};

void compare(const json& record, Scores& scores, bool verbose) {
  const Answer kernel = kernel_answer(record);
  const Answer ours = our_answer(record);
  const bool verdict = kernel.verdict == ours.verdict;
  const bool listing = kernel.listing == ours.listing;
  // An event whose folder holds a file of the same name, or whose name is too long, has no format file.
  const bool format = kernel.format == ours.format || kernel.format.starts_with("<open:");
  const bool log = kernel.log == ours.log;
  scores.verdict.count(verdict);
  scores.listing.count(listing);
  if (!kernel.format.empty()) scores.format.count(format);
  if (!kernel.log.empty() || !ours.log.empty()) scores.log.count(log);
  const bool whole = verdict && listing && format && log;
  scores.whole.count(whole);
  scores.categories[record.at("cat")].count(whole);
  if (whole || !verbose) return;
  fmt::print("DIFFERS {} [{}] {}: {}\n", record.at("id").get<std::string>(), record.at("cat").get<std::string>(),
             record.at("file").get<std::string>(),
             record.at("text").dump(-1, ' ', false, json::error_handler_t::replace));
  if (record.contains("setup")) fmt::print("  setup  {}\n", record.at("setup").dump());
  if (!verdict) fmt::print("  errno  kernel {:?} ours {:?}\n", kernel.verdict, ours.verdict);
  if (!log) fmt::print("  log    kernel {}\n         ours   {}\n", kernel.log, ours.log);
  if (!listing) fmt::print("  list   kernel {}         ours   {}", kernel.listing, ours.listing);
  if (!format) fmt::print("  format kernel {}\n         ours   {}\n", kernel.format, ours.format);
}

TEST(CorpusDefinitions, AgreesWithTheKernel) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  const bool verbose = std::getenv("KEVT_CORPUS_VERBOSE") != nullptr;
  Scores scores;
  int supplied = 0;
  for (const json& record : read_corpus(*folder + "/def.jsonl.gz")) {
    if (record.value("kernel_specific", false)) ++supplied;
    compare(record, scores, verbose);
  }
  for (const auto& [category, score] : scores.categories) {
    if (score.same != score.all) fmt::print("  {:<22} {} of {}\n", category, score.same, score.all);
  }
  const auto show = [](std::string_view what, const Score& score) {
    fmt::print("{:<10} {:6.2f} %  ({} of {})\n", what, score.percent(), score.same, score.all);
  };
  show("all", scores.whole);
  show("errno", scores.verdict);
  show("listing", scores.listing);
  show("format", scores.format);
  show("error_log", scores.log);
  fmt::print("{} of them with facts of that kernel's text supplied\n", supplied);
  EXPECT_GT(scores.whole.all, 0);
  EXPECT_GE(scores.whole.percent(), kLeastPercent);
}

}  // namespace
}  // namespace kevt::golden
