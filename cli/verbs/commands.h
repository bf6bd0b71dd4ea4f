// The verbs. Each returns the exit status.
#pragma once

#include "cli/options/options.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

// `make`: makes the writer of the records, in place of a file in options.format.
int run(const RunOptions& options, const GlobalOptions& global, const session::MakeWriter& make = {});
int check(const CheckOptions& options, const GlobalOptions& global);
int explain(const ExplainOptions& options, const GlobalOptions& global);
int compile(const CompileOptions& options, const GlobalOptions& global);
int cost(const CostOptions& options, const GlobalOptions& global);
int list(const ListOptions& options, const GlobalOptions& global);
int format_scripts(const FmtOptions& options, const GlobalOptions& global);
int import_events(const ImportOptions& options, const GlobalOptions& global);
int doctor(const DoctorOptions& options, const GlobalOptions& global);
int mount(const MountVerbOptions& options, const GlobalOptions& global);
int exec(const ExecOptions& options, const GlobalOptions& global);
int ask_fleet(const FleetOptions& options, const GlobalOptions& global);

}  // namespace kevt::cli
