"""Ratios, their spread, what they are held against, and whether the runs are worth anything."""

import statistics

CONTROL_LIMIT_NS = 0.1  # the unprobed twin against itself; more than this and the run is void

# name, numerator, denominator, how to read it, bound, who has to be on
RATIOS = [
    ("accepted hit / hand-written", "accepted", "limit_accepted", "max", 1.15, ("kevtrace",)),
    ("rejected hit / hand-written", "rejected", "limit_rejected", "info", None, ("kevtrace",)),
    ("counted hit / rejected hit", "counted", "rejected", "max", 1.4, ("kevtrace",)),
    ("hit counted by log2, with a sum / rejected hit", "measured", "rejected", "max", 1.8, ("kevtrace",)),
    ("hit counted by a log-linear bucket / rejected hit", "loglinear", "rejected", "max", 1.8, ("kevtrace",)),
    ("hit counted with its least and greatest / rejected hit", "extremes", "rejected", "max", 1.8, ("kevtrace",)),
    ("hit counted by a text / rejected hit", "named", "rejected", "max", 3.5, ("kevtrace",)),
    ("hit counted by a stack of 20 frames / rejected hit", "stacked", "rejected", "max", 60, ("kevtrace",)),
    ("LTTng tracepoint / accepted hit", "lttng_accepted", "accepted", "min", 6, ("kevtrace", "lttng")),
    ("LTTng rejected / rejected hit", "lttng_rejected", "rejected", "info", None, ("kevtrace", "lttng")),
    ("return probe / entry probe", "return", "entry", "max", 1.3, ("kevtrace",)),
    ("std::string argument / char * argument", "object", "text", "max", 1.3, ("kevtrace",)),
    ("floating point argument / integer argument", "floating", "integer", "max", 1.1, ("kevtrace",)),
    ("int3 hit / SIGTRAP round trip", "int3", "sigtrap", "max", 1.1, ("kevtrace",)),
    ("kernel uprobe / accepted hit", "kernel_accepted", "accepted", "min", 60, ("kevtrace", "kernel")),
    ("kernel uprobe rejected / rejected hit", "kernel_rejected", "rejected", "info", None, ("kevtrace", "kernel")),
    ("kernel uretprobe / return probe", "kernel_return", "return", "info", None, ("kevtrace", "kernel")),
    ("LTTng tracepoint / hand-written", "lttng_accepted", "limit_accepted", "info", None, ("lttng",)),
    ("kernel uprobe / hand-written", "kernel_accepted", "limit_accepted", "info", None, ("kernel",)),
]
STARTUP_LIMIT_MS = 150
INSTRUCTION_LIMITS = {"accepted": 200, "rejected": 60, "counted": 90}
PAIR_LIMIT = 1.1  # two threads at once against one alone
BATCH_LIMIT_MS = 1500  # to the first armed probe of 1,000
KEVTRACE = ("accepted", "rejected", "counted", "measured", "loglinear", "extremes", "named", "stacked", "entry", "return", "text", "object", "integer", "floating", "int3")


def is_valid(run):
    return abs(run["variants"]["control"]["median_ns"]) <= CONTROL_LIMIT_NS


def summarize(runs, active, instruction_counts):
    valid = [run for run in runs if is_valid(run)]
    used = valid or runs
    variants = {}
    for name in runs[0]["variants"]:
        medians = [run["variants"][name]["median_ns"] for run in used]
        variants[name] = {
            "median_ns": statistics.median(medians),
            "min_ns": min(medians),
            "max_ns": max(medians),
            "armed": runs[0]["variants"][name]["armed"],
            "instructions": instruction_counts.get(name),
        }
    ratios = []
    for name, over, under, kind, bound, needs in RATIOS:
        if not all(active[need] for need in needs) or over not in variants or under not in variants:
            continue
        values = [run["variants"][over]["median_ns"] / max(run["variants"][under]["median_ns"], 1e-3) for run in used]
        median = statistics.median(values)
        holds = {"max": lambda: median <= bound, "min": lambda: median >= bound, "info": lambda: None}[kind]()
        spread = (max(values) - min(values)) / median if median else 0
        ratios.append({"name": name, "median": median, "min": min(values), "max": max(values), "spread": spread, "kind": kind, "bound": bound, "holds": holds})
    summary = {"runs": len(runs), "valid_runs": len(valid), "variants": variants, "ratios": ratios}
    return summary


def check_counts(runs, active, kernel_hits, lttng_sample):
    """What a tracer that drops, or was never armed, would get wrong. [] is good."""
    complaints = []
    if active["kevtrace"]:
        for number, run in enumerate(runs, 1):
            complaints += [f"run {number}: {text}" for text in check_kevtrace(run)]
    if active["kernel"]:
        for event in ("accepted", "rejected", "return"):
            hits = kernel_hits.get(event, 0)
            calls = sum(run["variants"][f"kernel_{event}"]["calls"] for run in runs)
            if hits != calls:
                complaints.append(f"kernel {event}: {hits} hits for {calls} calls")
    if active["lttng"] and 's = "hello-world-123"' not in lttng_sample:
        complaints.append(f"LTTng's last record is not ours: {lttng_sample!r}")
    for number, run in enumerate(runs, 1):
        if run["limit"]["dropped"]:
            complaints.append(f"run {number}: the hand-written writer dropped {run['limit']['dropped']}")
    return complaints


def check_kevtrace(run):
    for name in KEVTRACE:
        variant, count = run["variants"][name], run["accounting"].get(name)
        wanted = "int3" if name == "int3" else "jump"
        if variant["armed"] != wanted:
            yield f"{name}: armed as {variant['armed']}, not {wanted}"
        if not count:
            yield f"{name}: no accounting line"
            continue
        if count["hits"] != variant["calls"]:
            yield f"{name}: {count['hits']} hits for {variant['calls']} calls"
        if count["hits"] != count["recorded"] + count["aggregated"] + count["filtered"] + count["lost"] + count["missed"]:
            yield f"{name}: the accounting does not add up"
        if count["lost"] + count["missed"] > count["hits"] / 1000:
            yield f"{name}: {count['lost']} lost, {count['missed']} missed: its time is not a recording's; use --pause or --burst"


def verdict(holds, summary):
    if summary["checks"] or not summary["valid_runs"]:
        return "void, see below"
    return "holds" if holds else "MISSED"


def print_startup(summary):
    if not summary["startup"]:
        return
    print("\nstart with one event (ms)")
    for step, ms in summary["startup"].items():
        print(f"  {step:<32}{'failed' if ms is None else f'{ms:.1f}':>8}")
    total = list(summary["startup"].values())[-1]
    if total is not None:
        print(f"  goal <= {STARTUP_LIMIT_MS}: {'holds' if total <= STARTUP_LIMIT_MS else 'MISSED'}")


def print_pair(pair):
    if not pair:
        return
    ratio = pair["together"] / max(pair["alone"], 1e-3)
    print(f"\ntwo threads at once: {pair['together']:.2f} ns/hit, one alone {pair['alone']:.2f}: {ratio:.2f}"
          f"  <= {PAIR_LIMIT}: {'holds' if ratio <= PAIR_LIMIT else 'MISSED'}")


def print_batches(batches):
    for (count, kind), steps in batches.items():
        to_armed = sum(steps[step] for step in ("prepare", "check", "compile", "install", "arm"))
        goal = f"  <= {BATCH_LIMIT_MS} ms: {'holds' if to_armed <= BATCH_LIMIT_MS else 'MISSED'}" if count == 1000 else ""
        print(f"\n{count} probes, {kind} programs: armed after {to_armed:.0f} ms{goal}")
        print("  " + ", ".join(f"{step} {ms:.0f}" for step, ms in steps.items() if step != "membarrier_us"))
        print("  a probe takes " + " and ".join(
            f"{1000 * steps[step] / count:.2f} us to {step} ({1000 * steps[step] / count / steps['membarrier_us']:.2f} membarriers)"
            for step in ("arm", "disarm")))


def print_table(summary):
    print(f"{'variant':<18}{'ns/hit':>10}{'min':>10}{'max':>10}{'instr':>8}  armed")
    for name, v in summary["variants"].items():
        instructions = "" if v["instructions"] is None else f"{v['instructions']:.0f}"
        armed = v["armed"] if name in KEVTRACE else ""
        limit = INSTRUCTION_LIMITS.get(name)
        if limit and v["instructions"] is not None:
            armed += f"  instructions <= {limit}: {'holds' if v['instructions'] <= limit else 'MISSED'}"
        print(f"{name:<18}{v['median_ns']:>10.2f}{v['min_ns']:>10.2f}{v['max_ns']:>10.2f}{instructions:>8}  {armed}")
    print()
    print(f"{'ratio':<40}{'median':>9}{'min':>9}{'max':>9}  goal")
    for r in summary["ratios"]:
        goal = ""
        if r["kind"] != "info":
            goal = f"{'<=' if r['kind'] == 'max' else '>='} {r['bound']}: {verdict(r['holds'], summary)}"
        noisy = "  (spread over 15 %: run again)" if r["spread"] > 0.15 else ""
        print(f"{r['name']:<40}{r['median']:>9.2f}{r['min']:>9.2f}{r['max']:>9.2f}  {goal}{noisy}")
    print_startup(summary)
    print_pair(summary["pair"])
    print_batches(summary["batches"])
    print(f"\n{summary['valid_runs']} of {summary['runs']} runs valid (control within {CONTROL_LIMIT_NS} ns)")
    for complaint in summary["checks"]:
        print(f"CHECK: {complaint}")
