"""What in_guest.py found, as a table: printed, and with --doc FILE written into FILE between its two marks.

    table.py RESULTS.json [--doc FILE]

Exits 1 when perf or bpftrace answers a question that kevtrace does not.
"""
import argparse
import json
import re
import statistics
import sys

from questions import QUESTIONS

TOOLS = ("kevtrace", "perf", "bpftrace")
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
# Of each tool's messages those that say nothing of what is wrong.
IDLE = re.compile(r"Added new event|You can now use|\s*perf record|\s*probe_|\s*sdt_|Target program is compiled|Probe on address|Attaching|.*WARNING|[-^~ ]*$|uprobe:|uretprobe:|usdt:|Lost ")


def own_words(one):
    """Of its messages the first one that says what is wrong."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in one["errors"].splitlines()]
    said = [line.strip() for line in lines if not IDLE.match(line)] or re.findall(r"(?m)^No probes to attach$", one["output"])
    if said and said[0].startswith("terminate called"):
        said = [" ".join(said[:2])]
    if not said:
        return ""
    text = re.sub(r"^(<event \d+>|stdin):\d+:[-\d]+: ", "", said[0])
    return re.sub(r"/\S*/tests/process/programs/", "", text)[:160].replace("|", "\\|").replace("`", "'")


def shown(value):
    """In a row of a table."""
    text = json.dumps(str(value).strip('"'), ensure_ascii=False)[1:-1].replace("|", "\\|").replace("`", "'")
    return (text[:40] + "…" if len(text) > 41 else text) or "(empty)"


def words_of(values, most=3):
    return ", ".join("`%s`" % " ".join(shown(word) for word in one) for one in values[:most]) + (", …" if len(values) > most else "")


def verdict(asked, one):
    if one["answers"]:
        return "%.2f s" % one["seconds"]
    return asked.get("verdict", "wrong" if one["found"] else "no")


def reason(asked, one):
    """Why a tool does not answer, or what is to be said of its answer."""
    if one["answers"]:
        return asked.get("how", "")
    said = own_words(one)
    parts = [asked.get("why", "")]
    if one["found"]:
        parts.append("it says %s, and it is %s" % (words_of(one["found"]), words_of(one["known"])) if one["known"] else "it says %s" % words_of(one["found"]))
    elif said:
        parts.append("its words: `%s`" % said)
    return "; ".join(part for part in parts if part) or "it prints nothing that answers"


def median_of(answers, numbers, tool):
    return statistics.median(answers[number][tool]["seconds"] for number in numbers) if numbers else float("nan")


def figures(results, answers):
    """The lines in front of the table."""
    by_tool = {tool: [number for number, one in answers.items() if one[tool]["answers"]] for tool in TOOLS}
    by_all = [number for number in answers if all(number in by_tool[tool] for tool in TOOLS)]
    ours = set(by_tool["kevtrace"])
    theirs = {tool: [number for number in by_tool[tool] if number not in ours] for tool in TOOLS[1:]}
    lines = ["On Linux %s, of %d questions: kevtrace answers %d, perf %d, bpftrace %d." % (results["kernel"], len(answers), *(len(by_tool[tool]) for tool in TOOLS)), ""]
    for tool, numbers in theirs.items():
        lines.append("- What %s answers and kevtrace does not: %s." % (tool, ", ".join(map(str, numbers)) if numbers else "nothing"))
    nobody = [number for number in answers if not any(number in by_tool[tool] for tool in TOOLS)]
    if nobody:
        lines.append("- What nobody answers: %s." % ", ".join(map(str, nobody)))
    lines.append("- Seconds to the first event, the median of the %d questions that all three answer: kevtrace %.2f, perf %.2f, bpftrace %.2f."
                 % (len(by_all), *(median_of(answers, by_all, tool) for tool in TOOLS)))
    programs = list(results["program_s"].values())
    if programs:
        lines.append("- The programs alone take %.2f to %.2f s." % (min(programs), max(programs)))
    return lines + [""], any(theirs.values())


def rows(answers):
    lines, notes = ["| | question | kevtrace | perf | bpftrace |", "|---|---|---|---|---|"], []
    for number, one in answers.items():
        question = QUESTIONS[number - 1]
        cells = []
        for tool in TOOLS:
            why = reason(question[tool], one[tool])
            cells.append(verdict(question[tool], one[tool]) + ("*" if why and one[tool]["answers"] else ""))
            if why:
                notes.append("| %d | %s | %s | %s |" % (number, tool, "answers" if one[tool]["answers"] else verdict(question[tool], one[tool]), why))
        lines.append("| %d | %s | %s |" % (number, question["question"], " | ".join(cells)))
    return lines, notes


def pid_of(one):
    found = re.search(r"--pid (\d+)", one["kevtrace"]["command"])
    return found.group(1) if found else "PID"


def commands(answers):
    """Ours, as they were typed."""
    return ["| question | command |", "|---|---|"] + ["| %d | `%s` |" % (number, one["kevtrace"]["command"].replace("|", "\\|").replace("/run/questions", "$PWD").replace("--pid " + pid_of(one), "--pid PID"))
                                    for number, one in answers.items()]


def write_doc(path, lines):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + "\n".join(lines) + "\n" + text[end:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results")
    parser.add_argument("--doc")
    options = parser.parse_args()
    with open(options.results) as file:
        results = json.load(file)
    everything = {int(number): one for number, one in sorted(results["questions"].items(), key=lambda item: int(item[0]))}
    answers = {number: one for number, one in everything.items() if "skipped" not in one}
    head, is_behind = figures(results, answers)
    table, notes = rows(answers)
    left_out = ["Not asked here: %d, %s." % (number, one["skipped"]) for number, one in everything.items() if "skipped" in one]
    lines = (head + left_out + ["## The answers", ""] + table + ["", "## How, and why not", "", "| question | tool | | |", "|---|---|---|---|"] + notes
             + ["", "## What is typed", ""] + commands(answers))
    print("\n".join(lines))
    if options.doc:
        write_doc(options.doc, lines)
    return int(is_behind)


if __name__ == "__main__":
    sys.exit(main())
