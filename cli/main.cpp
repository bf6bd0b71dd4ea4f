// kevtrace: reads the command line and calls the verb. Verbs live in cmd_<verb>.cpp.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/complete/complete.h"
#include "cli/exit_status.h"
#include "cli/options/options.h"
#include "cli/verbs/cmd_recordings.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "common/standard_descriptors.h"

namespace kevt::cli {
namespace {

struct Call {
  const GlobalOptions& global;
  int operator()(const RunOptions& options) const { return run(options, global); }
  int operator()(const CheckOptions& options) const { return check(options, global); }
  int operator()(const ExplainOptions& options) const { return explain(options, global); }
  int operator()(const CompileOptions& options) const { return compile(options, global); }
  int operator()(const CostOptions& options) const { return cost(options, global); }
  int operator()(const ListOptions& options) const { return list(options, global); }
  int operator()(const FmtOptions& options) const { return format_scripts(options, global); }
  int operator()(const ImportOptions& options) const { return import_events(options, global); }
  int operator()(const DoctorOptions& options) const { return doctor(options, global); }
  int operator()(const RecordingVerb& verb) const { return recordings(verb, global); }
  int operator()(const MountVerbOptions& options) const { return mount(options, global); }
  int operator()(const ExecOptions& options) const { return exec(options, global); }
  int operator()(const FleetOptions& options) const { return ask_fleet(options, global); }
  int operator()(const CompleteOptions& options) const { return print_candidates(options.word); }
  int operator()(const ShellTextOptions& options) const {
    print("{}", options.text);
    return kOk;
  }
};

}  // namespace
}  // namespace kevt::cli

int main(int argc, char** argv) {
  kevt::reserve_standard_descriptors();
  if (const char* file = kevt::cli::messages_file(argc, argv); file != nullptr && !kevt::send_messages_to(file)) {
    std::fprintf(stderr, "kevtrace: error: --messages %s: %s\n", file, std::strerror(errno));
    return kevt::cli::kUsage;
  }
  const kevt::cli::CommandLine line = kevt::cli::parse_command_line(argc, argv);
  kevt::choose_escaping(line.global.escape);
  const int status = std::visit(kevt::cli::Call{line.global}, line.verb);
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  std::fprintf(stderr, "kevtrace: error: writing standard output: %s\n", std::strerror(errno));
  return status == kevt::cli::kOk ? kevt::cli::kFailed : status;
}
