// What the command line asks for, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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
  std::optional<dialect::Kernel> kernel;  // absent: all forms of all kernels
  bool running = false;                   // version, symbols and types of the running kernel
  std::vector<std::string> btf;           // the kernel's types, then modules'; empty: not known
  std::string kallsyms;                   // its symbols; empty: not known
  bool strict = false;                    // what could not be checked is status 4
  bool fix = false;                       // rewrite the files
};

struct ExplainOptions {
  std::vector<std::string> definitions;
  std::vector<std::string> filters;
  enum class Part : std::uint8_t { Listing, Format, FetchIr, LlvmIr, Code, Arming };
  std::vector<Part> only;            // empty: all
  std::string runtime = "inproc";    // or "bpf": in the running kernel, without a command
  std::vector<std::string> command;  // program and arguments; empty: symbols are not looked up
};

struct CostOptions {
  std::vector<std::string> definitions;
  std::vector<std::string> filters;
  std::vector<std::string> command;  // as of `explain`
};

struct CompileOptions {
  std::string script;                // "-": standard input
  std::string output;                // FILE.kevo
  std::vector<std::string> command;  // where names of arguments are looked up; empty: the script's own program
  std::vector<std::string> btf;      // types of kernels: of each a file or folder; empty: this one's where asked
};

struct ListOptions {
  enum class What : std::uint8_t { Functions, Usdt, Events, Registers, Types } what = What::Functions;
  std::vector<std::string> words;  // with a '/': a program or library; without: names to list, * and ? allowed
  bool verbose = false;
};

struct FmtOptions {
  enum class To : std::uint8_t { Script, Boot } to = To::Script;
  std::vector<std::string> files;  // "-": standard input, to standard output
  bool check = false;              // only say which would change
};

struct ImportOptions {
  enum class From : std::uint8_t { Shell, Boot } from = From::Shell;
  std::string file;  // "-": standard input
};

struct DoctorOptions {};

// What shells and man(1) read: made when the command line is read.
struct ShellTextOptions {
  std::string text;
};

using Verb =
    std::variant<RunOptions, CheckOptions, ExplainOptions, CompileOptions, CostOptions, ListOptions, FmtOptions,
                 ImportOptions, DoctorOptions, RecordingVerb, MountVerbOptions, ExecOptions, ShellTextOptions>;

struct CommandLine {
  GlobalOptions global;
  Verb verb;
};

// Exits by itself for --help, --version and mistakes (status 2).
CommandLine parse_command_line(int argc, char** argv);

}  // namespace kevt::cli
