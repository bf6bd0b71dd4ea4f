// What the command line asks for, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/options/asked_word.h"
#include "cli/options/fleet_options.h"
#include "cli/options/options_mount.h"
#include "cli/options/record_options.h"
#include "cli/options/run_options.h"
#include "common/controls.h"
#include "compiler/dialect/dialect.h"

namespace kevt::cli {

enum class When : std::uint8_t { Auto, Always, Never };
enum class Format : std::uint8_t { Text, Kernel, Json, Sarif };

struct GlobalOptions {
  When color = When::Auto;
  EscapeWhen escape = EscapeWhen::Auto;
  Format diagnostics = Format::Text;
  int quiet = 0;
};

struct CheckOptions {
  std::vector<std::string> files;  // "-": standard input
  std::vector<std::string> definitions;
  std::vector<std::string> filters;
  std::optional<dialect::Kernel> kernel;  // nullopt: the forms of all kernels
  bool running = false;                   // use version, symbols and types of the running kernel
  std::vector<std::string> btf;           // BTF files of the kernel, then of modules; empty: types unknown
  std::string kallsyms;                   // a file of symbols; empty: symbols unknown
  bool strict = false;                    // exit status 4 if something could not be checked
  bool fix = false;                       // rewrite the files
};

struct ExplainOptions {
  std::vector<std::string> definitions;
  std::vector<std::string> filters;
  enum class Part : std::uint8_t { Listing, Format, FetchIr, LlvmIr, Code, Arming, All };
  std::vector<Part> only;            // empty: a summary
  std::string runtime = "inproc";    // or "bpf": in the running kernel, without a command
  std::vector<std::string> command;  // program and arguments; empty: symbols are not looked up
};

struct CostOptions {
  std::vector<std::string> definitions;
  std::vector<std::string> filters;
  std::vector<std::string> command;  // as in ExplainOptions
};

struct CompileOptions {
  std::string script;                // "-": standard input
  std::string output;                // FILE.kevo
  std::vector<std::string> command;  // program in which argument names are looked up; empty: the script's own
  std::vector<std::string> btf;      // kernels' types, a file or folder each; empty: the running kernel's, if needed
};

struct ListOptions {
  enum class What : std::uint8_t { Functions, Usdt, Lines, Events, Registers, Types } what = What::Functions;
  std::vector<std::string> words;  // with '/': a program or library; else names to list, may have * and ?
  std::vector<std::int32_t> pids;  // processes whose program, libraries and JIT code are meant, too
  bool verbose = false;
};

struct FmtOptions {
  enum class To : std::uint8_t { Script, Boot } to = To::Script;
  std::vector<std::string> files;  // "-": standard input, to standard output
  bool check = false;              // only report which files would change
};

struct ImportOptions {
  enum class From : std::uint8_t { Shell, Boot } from = From::Shell;
  std::string file;  // "-": standard input
};

struct DoctorOptions {};

// The text of `completion` or `manual`, made while the command line is parsed.
struct ShellTextOptions {
  std::string text;
};

struct CompleteOptions {
  AskedWord word;
};

using Verb = std::variant<RunOptions, CheckOptions, ExplainOptions, CompileOptions, CostOptions, ListOptions,
                          FmtOptions, ImportOptions, DoctorOptions, RecordingVerb, MountVerbOptions, ExecOptions,
                          FleetOptions, ShellTextOptions, CompleteOptions>;

struct CommandLine {
  GlobalOptions global;
  Verb verb;
};

// Ends the process for --help and --version, and for mistakes with status 2.
CommandLine parse_command_line(int argc, char** argv);
// FILE of `--messages FILE`, which mistakes of the command line itself are written to, too; nullptr: there is none.
const char* messages_file(int argc, char** argv);

}  // namespace kevt::cli
