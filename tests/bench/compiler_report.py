"""What compiler_times says in JSON, beside its goals; status 1 where something went wrong. What is measured for all CPUs is real time."""

import json
import sys


def rows(benchmarks):
    for one in benchmarks:
        name, is_real = one["name"].removesuffix("/real_time"), one["name"].endswith("/real_time")
        if "goal_ms" in one:
            yield name, one["real_time" if is_real else "cpu_time"], one["goal_ms"], "ms"
        if "event_bytes" in one:
            yield "event_bytes", one["event_bytes"], one["goal_bytes"], "bytes"


def main():
    benchmarks = json.load(sys.stdin)["benchmarks"]
    for name, value, goal, unit in rows(benchmarks):
        print(f"  {name:18} {value:9.1f} {unit:5}  goal <= {goal:<6.0f} {'holds' if value <= goal else 'MISSED'}")
    wrong = [f"{one['name']}: {one['error_message']}" for one in benchmarks if one.get("error_occurred")]
    for text in wrong:
        print(f"  {text}")
    return 1 if wrong else 0


sys.exit(main())
