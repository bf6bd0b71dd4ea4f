// CLI11's side of `fleet`.
#include "cli/options/fleet_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/options/option_parts.h"

namespace kevt::cli {

void add_fleet(CLI::App& app, FleetOptions& fleet) {
  static std::string task;  // until it has parsed
  CLI::App* verb =
      app.add_subcommand("fleet", "recordings of many machines in a ClickHouse database, every hit accounted for");
  verb->add_option("TASK", task, "init, ship, status, rates, clocks, check, purge; run, obey, hosts")
      ->type_name("")
      ->required()
      ->check(member({"init", "ship", "status", "rates", "clocks", "check", "purge", "run", "obey", "hosts"}));
  verb->add_option(
          "ADDRESS", fleet.address,
          "ch://SERVER[:PORT][,SERVER…]/DATABASE[/HOST-GLOB[/RECORDING]], or ch+http:// for a server of this machine")
      ->type_name("")
      ->required();
  verb->add_option("FILE", fleet.files,
                   "ship: recordings, or folders of them (*.dat); run: the script; obey: the folder for recordings")
      ->type_name("");
  verb->add_option("--as", fleet.host,
                   "ship, obey: the host that records are filed under, instead of the recording's or machine's own")
      ->type_name("HOST");
  verb->add_flag("--follow", fleet.follow,
                 "go on until every FILE is finished; a server that does not answer is asked again");
  verb->add_option("--before", fleet.before,
                   "purge: give back the days before this one, 2026-11-01 in UTC, of all hosts")
      ->type_name("DAY");
  verb->add_option("--older-than", fleet.older_than,
                   "purge: give back the days that were over so many days ago, by the server's clock")
      ->type_name("DAYS")
      ->excludes("--before")
      ->check(CLI::Range(1u, 10000u).description(""));
  verb->add_option("--on", fleet.on, "run: the hosts, by their labels: role=web, role=web,zone=eu*, host=web1, or *")
      ->type_name("HOSTS");
  verb->add_option("-d,--duration", fleet.seconds, "run: how long hosts trace, a week at most")
      ->type_name("SEC")
      ->check(CLI::Range(0.001, 604800.0).description(""))
      ->default_str("60");
  verb->add_option("--begin-within", fleet.begin_within,
                   "run: hosts that see the order later than so many seconds leave it; a day at most")
      ->type_name("SEC")
      ->check(CLI::Range(1.0, 86400.0).description(""))
      ->default_str("600");
  verb->add_option("--every", fleet.every,
                   "obey, ship --follow: how often it is looked what is wanted, or what has come")
      ->type_name("SEC")
      ->check(CLI::Range(0.1, 3600.0).description(""))
      ->default_str("5");
  verb->add_option(
          "--remove-after", fleet.remove_after,
          "ship --follow: a recording that is finished, whole in the database and unchanged for so long is removed")
      ->type_name("SEC")
      ->check(CLI::Range(0.0, 1e9).description(""));
  verb->add_option("--max-bytes", fleet.max_bytes, "obey: a recording that is so long ends; 500K, 20M, 1G")
      ->type_name("SIZE")
      ->transform(CLI::Validator(CLI::AsSizeValue(false)).description(""))
      ->default_str("1G");
  verb->add_option("--by", fleet.by, "rates: a line for each event, or for each host")
      ->type_name("WHAT")
      ->check(member({"event", "host"}));
  verb->add_option("--bars", fleet.bars, "rates: into how many bars time is cut, at most")
      ->type_name("N")
      ->check(CLI::Range(2, 10000).description(""))
      ->default_str("60");
  verb->add_option("--last", fleet.last, "rates: of so many seconds before the last record, instead of all times")
      ->type_name("SEC")
      ->check(CLI::Range(0.001, 1e9).description(""));
  verb->add_option("--sent", fleet.sent,
                   "clocks: the field by which messages are known where they are sent, net_send.id")
      ->type_name("EVENT.FIELD");
  verb->add_option("--received", fleet.received, "clocks: and where they are received")
      ->type_name("EVENT.FIELD")
      ->needs("--sent");
  verb->get_option("--sent")->needs("--received");
  verb->add_flag("--forget", fleet.forget, "clocks: first forget what messages have said of all hosts of the database");
  verb->add_option("-f,--format", fleet.format, "of status, rates, clocks, check, hosts and run: text or json")
      ->type_name("FORMAT")
      ->check(member({"text", "json"}));
  verb->final_callback([&fleet, verb] {
    using Task = FleetOptions::Task;
    constexpr std::pair<std::string_view, Task> kTasks[] = {
        {"init", Task::Init},   {"ship", Task::Ship},    {"status", Task::Status}, {"check", Task::Check},
        {"purge", Task::Purge}, {"run", Task::Run},      {"obey", Task::Obey},     {"hosts", Task::Hosts},
        {"rates", Task::Rates}, {"clocks", Task::Clocks}};
    fleet.task = std::ranges::find(kTasks, task, &std::pair<std::string_view, Task>::first)->second;
    const bool takes_files = fleet.task == Task::Ship || fleet.task == Task::Run || fleet.task == Task::Obey;
    if (takes_files && fleet.files.empty())
      throw CLI::RequiredError(fleet.task == Task::Ship ? "FILE" : fleet.task == Task::Run ? "SCRIPT" : "FOLDER");
    if (!takes_files && !fleet.files.empty()) throw CLI::ValidationError("FILE", "belongs to `ship`, `run` and `obey`");
    if (fleet.task != Task::Ship && fleet.files.size() > 1)
      throw CLI::ValidationError("FILE", "one is enough for `" + task + "`");
    for (const auto& [option, tasks] : {std::pair("--follow", "ship"),
                                        {"--as", "ship, obey"},
                                        {"--before", "purge"},
                                        {"--older-than", "purge"},
                                        {"--on", "run"},
                                        {"--duration", "run"},
                                        {"--begin-within", "run"},
                                        {"--every", "ship, obey"},
                                        {"--remove-after", "ship"},
                                        {"--max-bytes", "obey"},
                                        {"--by", "rates"},
                                        {"--bars", "rates"},
                                        {"--last", "rates"},
                                        {"--sent", "clocks"},
                                        {"--received", "clocks"},
                                        {"--forget", "clocks"}})
      if (verb->count(option) && !std::string_view(tasks).contains(task))
        throw CLI::ValidationError(option, "belongs to `" + std::string(tasks) + "`");
    if (fleet.remove_after && !fleet.follow) throw CLI::ValidationError("--remove-after", "needs --follow");
    if (fleet.task == Task::Purge && fleet.before.empty() && !fleet.older_than)
      throw CLI::RequiredError("--before or --older-than");
    if (fleet.task == Task::Run && fleet.on.empty()) throw CLI::RequiredError("--on");
  });
  add_footer(
      *verb,
      R"(init makes the database and its tables. ship sends records, each once, whatever ends meanwhile: the server says what it
has, and the rest is sent. status lists hosts and recordings, rates shows how many records they have when. clocks says how wrong
their times may be; what one host has sent and another received (--sent, --received) says it better than the hosts' own clocks. check proves that rows + spooled + spool_lost = recorded,
and hits = recorded + aggregated + filtered + lost + missed, for every host, recording and event. purge gives days back,
and what went stays in the balance.
obey makes a host trace what is wanted: orders that a key has signed which fleet.conf trusts. run signs such an order for the
hosts that --on chooses, and waits for their answers and records. hosts lists those that obey.
What was shipped is read as a recording is: report, stat, count, hist, lat, flame, diff and the window take ADDRESS for FILE.
Certificates and passwords stand in fleet.conf (`kevtrace help fleet`), never on the command line.

examples:
  kevtrace fleet init ch+http://127.0.0.1/kev
  kevtrace run -o open.dat -e 'p:open libc:open64 path=+0(%di):string' -- python3 -c 'open("/etc/hostname")'
  kevtrace fleet ship ch+http://127.0.0.1/kev open.dat
  kevtrace report ch+http://127.0.0.1/kev
  kevtrace fleet check ch+http://127.0.0.1/kev
  kevtrace fleet clocks ch://db.example/kev --sent net_send.id --received net_recv.id
  kevtrace fleet obey ch://db.example/kev /var/spool/kevtrace
  kevtrace fleet run ch://db.example/kev opens.kev --on role=web -d 30

exit status: 0 ok, 1 the server or a file is in the way, a balance does not hold, or a host did not trace, 2 usage)");
}

}  // namespace kevt::cli
