// CLI11's side of `fleet`.
#include "cli/options/fleet_options.h"

#include <CLI/CLI.hpp>

#include "cli/options/option_parts.h"

namespace kevt::cli {

void add_fleet(CLI::App& app, FleetOptions& fleet) {
  static std::string task;  // until it has parsed
  CLI::App* verb =
      app.add_subcommand("fleet", "recordings of many machines in a ClickHouse database, every hit accounted for");
  verb->add_option("TASK", task, "init, ship, status, check or purge")
      ->type_name("")
      ->required()
      ->check(member({"init", "ship", "status", "check", "purge"}));
  verb->add_option(
          "ADDRESS", fleet.address,
          "ch://SERVER[:PORT][,SERVER…]/DATABASE[/HOST-GLOB[/RECORDING]], or ch+http:// for a server of this machine")
      ->type_name("")
      ->required();
  verb->add_option("FILE", fleet.files, "recordings to ship, or folders of them (*.dat)")->type_name("");
  verb->add_option("--as", fleet.host, "the host that the records are filed under, instead of the recording's own")
      ->type_name("HOST");
  verb->add_flag("--follow", fleet.follow,
                 "go on until every FILE is finished; a server that does not answer is asked again");
  verb->add_option("--before", fleet.before,
                   "purge: give back the days before this one, 2026-11-01 in UTC, of all hosts")
      ->type_name("DAY");
  verb->add_option("-f,--format", fleet.format, "of status and check: text or json")
      ->type_name("FORMAT")
      ->check(member({"text", "json"}));
  verb->final_callback([&fleet] {
    using Task = FleetOptions::Task;
    fleet.task = task == "init"    ? Task::Init
                 : task == "ship"  ? Task::Ship
                 : task == "check" ? Task::Check
                 : task == "purge" ? Task::Purge
                                   : Task::Status;
    if (fleet.task == Task::Purge && fleet.before.empty()) throw CLI::RequiredError("--before");
    if (fleet.task != Task::Purge && !fleet.before.empty())
      throw CLI::ValidationError("--before", "belongs to `purge`");
    if (fleet.task == Task::Ship && fleet.files.empty()) throw CLI::RequiredError("FILE");
    if (fleet.task != Task::Ship && !fleet.files.empty())
      throw CLI::ValidationError("FILE", "only `ship` takes recordings");
    if (fleet.task != Task::Ship && (fleet.follow || !fleet.host.empty()))
      throw CLI::ValidationError(fleet.follow ? "--follow" : "--as", "belongs to `ship`");
  });
  add_footer(
      *verb,
      R"(init makes the database and its tables. ship sends records, each once, whatever ends meanwhile: the server says what it
has, and the rest is sent. status lists hosts and recordings. check proves that rows + spooled + spool_lost = recorded,
and hits = recorded + aggregated + filtered + lost + missed, for every host, recording and event. purge gives days back,
and what went stays in the balance.
What was shipped is read as a recording is: report, stat, count, hist, lat, flame, diff and the window take ADDRESS for FILE.
Certificates and passwords stand in fleet.conf (`kevtrace help fleet`), never on the command line.

examples:
  kevtrace fleet init ch+http://127.0.0.1/kev
  kevtrace run -o open.dat -e 'p:open libc:open64 path=+0(%di):string' -- python3 -c 'open("/etc/hostname")'
  kevtrace fleet ship ch+http://127.0.0.1/kev open.dat
  kevtrace report ch+http://127.0.0.1/kev
  kevtrace fleet check ch+http://127.0.0.1/kev

exit status: 0 ok, 1 the server or a file is in the way, or a balance does not hold, 2 usage)");
}

}  // namespace kevt::cli
