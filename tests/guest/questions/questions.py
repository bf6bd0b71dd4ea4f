"""The forty questions about programs, and how each of three tools is asked.

A question has
  question   in plain English
  run        the program that is asked, in the folder of the programs; it prints what is true
  known      of the lines that the program prints: what has to be found. Or `right`: of what was found, whether it is right
  ordered    found and known are compared in their order
  beside     programs that run while the tool does: (command, control group or None). `again`: each is started anew when it has
             ended, and its word FIRST is another number each time
  kevtrace, perf, bpftrace
             command   of the shell
             find      what is found in its output: a regular expression, of the whole output. Named groups stand in the order of
                       their names
             joined    several groups are one value, with commas
             known     instead of the question's, where the tool counts otherwise
             how       said beside an answer, where it takes more than the question says
             verdict   what to call what it prints, where that is not wrong
             why       said where there is no answer, in front of the tool's own words

In commands RUN is the program, PID the last program of `beside`, LIBC the C library, LINE_WORD the line of lines.c that ends in
`// WORD`; `address SYMBOL PROGRAM` is what nm tells. Programs: asked.c and asked.go beside this file, the others in tests/process/programs.
"""
VALUE = r'\bvalue=("[^"]*"|\{[^}]*\}|\S+)'


def kevtrace(*definitions, options="", find=VALUE, after="-- RUN", **more):
    written = " ".join("-e '%s'" % text for text in definitions)
    return {"command": " ".join(word for word in ("kevtrace run -q", options, written, after) if word), "find": find, **more}


def lat(words, **more):
    return {"command": "kevtrace lat -q --bars %s -- RUN" % words, "find": r"(?m)^ +(\d+) -> \d+ +: +(\d+) ", **more}


def perf(program, *probes, record="", after="RUN", show="perf script -i q.data", find=VALUE, group=None, **more):
    """Three commands. What the program prints is left out: it is on the way of `perf script`."""
    defined = " && ".join("perf probe -x %s '%s' >&2" % (program, probe) for probe in probes)
    group = group or "probe_" + program.removeprefix("./")
    return {"command": "%s && perf record -q -o q.data -e '%s:*' %s-- %s >/dev/null && %s" % (defined, group, record + " " if record else "", after, show),
            "find": find, **more}


def bpftrace(*probes, find=VALUE, after=" -c 'RUN'", **more):
    return {"command": "bpftrace -B none -e '%s'%s" % (" ".join(probes), after), "find": find, **more}


def said(word, *columns):
    """The words of these columns of each line that begins so."""
    def of(lines):
        return [tuple(line.split()[column] for column in columns) for line in lines if line.startswith(word + " ")]
    return of


def text_said(word, column=1):
    """Likewise, all that stands there up to the end of the line."""
    def of(lines):
        return [(line.split(" ", column)[column],) for line in lines if line.startswith(word + " ")]
    return of


def counted(known):
    """(what, how often), once each, the most frequent first."""
    def of(lines):
        values = [value for (value,) in known(lines)]
        return sorted(((value, values.count(value)) for value in set(values)), key=lambda one: -one[1])
    return of


def steady(first):
    """Some numbers, each one more than that before, of the process that began with `first`."""
    def right(found):
        numbers = sorted(int(value) for (value,) in found)
        return len(numbers) >= 5 and first <= numbers[0] and numbers[-1] < first + 10000 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return right


def whole_runs(length):
    """All numbers of one of the processes: each begins with another thousand."""
    def right(found):
        numbers = [int(value) for (value,) in found]
        return len(set(numbers)) == len(numbers) and any(all(first + n in numbers for n in range(length)) for first in numbers if first % 1000 == 0)
    return right


def powers(text):
    """16777216 or 16M."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1])
    return int(text[:-1]) * factor if factor else int(text)


def all_took_20_ms(number):
    """Of (from, how many): in ns, in buckets that 20 ms are in or that are above."""
    def right(found):
        return sum(int(many) for _, many in found) == number and all(powers(least) >= 1 << 24 for least, many in found if int(many))
    return right


def views(lines):
    """Of texts: the first N letters of the N-th text, and once in each round an empty one."""
    texts = [line.partition("|")[0] for line in lines]
    return [(text[:at],) for at, text in enumerate(texts)] + [("",)] * len(texts)


def twice_given(lines):
    """Of lines: twice(round), and twice() of what that gave."""
    return [(value,) for at, line in enumerate((line for line in lines if line.startswith("twice ")), 1) for value in (at, line.split()[1])]


def prices(lines):
    return [(float.fromhex(line.split()[column]),) for line in lines if line.startswith("price ") for column in (1, 4)]


def served_before(lines):
    return [(0,)] + [(line.split()[-1],) for line in lines if line.startswith("serve ")][:-1]


def sum_mean_max(lines):
    amounts = [int(line.split()[2]) for line in lines if line.startswith("spread ")]
    return [(sum(amounts), sum(amounts) // len(amounts), max(amounts))]


SERVE = "_ZN4shop5Clerk5serveERKNS_4ItemESt17basic_string_viewIcSt11char_traitsIcEERKSt6vectorIiSaIiEERKSt5arrayIsLm3EE"
BY_REFERENCE = "_ZN4shop12by_referenceERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEi"
BY_VIEW = "_ZN4shop7by_viewESt17basic_string_viewIcSt11char_traitsIcEEi"
ORDER = ("struct place { int x, y; }; struct order { long id; struct order* next; struct place at; int counts[4]; "
         "unsigned is_paid : 1, level : 5; };")
HIST = r"(?m)^\{ \w+: +(\S+) \} hitcount: +(\d+)"
BY_SYMBOL = "by the symbol"
BY_HAND = "by hand: register and offsets"
BY_ADDRESS = "by hand: the address that nm tells"

QUESTIONS = [
    # Functions, arguments, what is returned
    {"question": "When is a function called that is `static`?", "run": "./asked 5", "known": lambda lines: [("q",)] * 5,
     "kevtrace": kevtrace("p:q asked:take_static", find=r" (q): \("),
     "perf": perf("./asked", "q=take_static", find=r"probe_asked:(q):"),
     "bpftrace": bpftrace('uprobe:./asked:take_static { printf("hit q\\n"); }', find=r"hit (q)")},
    {"question": "What is an argument, by its name?", "run": "./asked 5", "known": said("pay", 1),
     "kevtrace": kevtrace("p:q asked:pay value=amount"),
     "perf": perf("./asked", "q=pay value=amount"),
     "bpftrace": bpftrace('uprobe:./asked:pay { printf("value=%d\\n", args->amount); }')},
    {"question": "What does a function return?", "run": "./asked 5", "known": said("order", 3),
     "kevtrace": kevtrace("r:q asked:take_order value=$retval:s64"),
     "perf": perf("./asked", "q=take_order%return value=$retval:s64"),
     "bpftrace": bpftrace('uretprobe:./asked:take_order { printf("value=%d\\n", retval); }')},
    {"question": "What text does a `char *` point to?", "run": "./asked 5", "known": text_said("greet"),
     "kevtrace": kevtrace("p:q asked:greet value=name:string"),
     "perf": perf("./asked", "q=greet value=name:string"),
     "bpftrace": bpftrace('uprobe:./asked:greet { printf("value=\\"%s\\"\\n", str(arg0)); }')},
    {"question": "What text is in a `std::string &`?", "run": "./texts 4", "known": lambda lines: [(line.partition("|")[0],) for line in lines],
     "kevtrace": kevtrace("p:q texts:shop::by_reference value=text"),
     "perf": perf("./texts", "q=%s value=+0(+0(%%di)):string" % BY_REFERENCE, how=BY_HAND),
     "bpftrace": bpftrace('uprobe:./texts:%s { printf("value=\\"%%s\\"\\n", str(*(uint64*)arg0)); }' % BY_REFERENCE, how=BY_HAND)},
    {"question": "What text is in a `std::string_view`, which no NUL ends?", "run": "./texts 4", "known": views,
     "kevtrace": kevtrace("p:q texts:shop::by_view value=text"),
     "perf": perf("./texts", "q=%s value=+0(%%si):string" % BY_VIEW, why="a text ends at its NUL; no length can be said"),
     "bpftrace": bpftrace('uprobe:./texts:%s { printf("value=\\"%%s\\"\\n", str(arg1, arg0)); }' % BY_VIEW, how=BY_HAND)},
    {"question": "What text is in a Rust `&str`?", "run": "./rusttexts", "known": lambda lines: [(line.split("|")[0],) for line in lines],
     "kevtrace": kevtrace("p:q rusttexts:take_str value=text"),
     "perf": perf("./rusttexts", "q=take_str value=+0(%di):string", why="a text ends at its NUL; no length can be said"),
     "bpftrace": bpftrace('uprobe:./rusttexts:take_str { printf("value=\\"%s\\"\\n", str(arg0, arg1)); }', how=BY_HAND)},
    {"question": "What text is in a Go `string`?", "run": "./askedgo", "known": text_said("greet"),
     "kevtrace": kevtrace("p:q askedgo:main.greet value=+0(%bx):string(%cx)", how="by the registers that Go uses"),
     "perf": perf("./askedgo", "q=main.greet value=+0(%bx):string", why="a text ends at its NUL; no length can be said"),
     "bpftrace": bpftrace('uprobe:./askedgo:main.greet { printf("value=\\"%s\\"\\n", str(reg("bx"), reg("cx"))); }',
                          how="by the registers that Go uses")},
    {"question": "What `double` is an argument, and what `double` is returned?", "run": "./floats 4", "known": prices,
     "kevtrace": kevtrace("p:q floats:price value=base", "r:back floats:price value=$retval:f64"),
     "perf": perf("./floats", "q=price value=base", "back=price%return value=%xmm0"),
     "bpftrace": bpftrace('uprobe:./floats:price { printf("value=%d\\n", args->base); }')},
    # Data
    {"question": "What is in a field, by its name, of a structure that an argument points to?", "run": "./asked 5", "known": said("order", 1),
     "kevtrace": kevtrace("p:q asked:take_order value=order->id"),
     "perf": perf("./asked", "q=take_order value=order->id"),
     "bpftrace": bpftrace(ORDER, 'uprobe:./asked:take_order { printf("value=%d\\n", ((struct order*)arg0)->id); }',
                          how="the structure is written again in the question")},
    {"question": "And in a field of what a field points to (`order->next->at.x`)?", "run": "./asked 5", "known": said("order", 5),
     "kevtrace": kevtrace("p:q asked:take_order value=order->next->at.x"),
     "perf": perf("./asked", "q=take_order value=order->next->at.x"),
     "bpftrace": bpftrace(ORDER, 'uprobe:./asked:take_order { printf("value=%d\\n", ((struct order*)arg0)->next->at.x); }',
                          how="the structure is written again in the question")},
    {"question": "What is in an array that is a field, all of it?", "run": "./asked 5", "known": said("order", 11),
     "kevtrace": kevtrace("p:q asked:take_order value=order->counts", find=r"value=\{([^}]*)\}"),
     "perf": perf("./asked", "q=take_order a=order->counts[0] b=order->counts[1] c=order->counts[2] d=order->counts[3]", find=r" a=(\S+) b=(\S+) c=(\S+) d=(\S+)",
                  joined=True, how="as four arguments; of `s32[4]` perf script prints zeros"),
     "bpftrace": bpftrace(ORDER, 'uprobe:./asked:take_order { $o = (struct order*)arg0; printf("value={%d,%d,%d,%d}\\n", '
                          "$o->counts[0], $o->counts[1], $o->counts[2], $o->counts[3]); }", find=r"value=\{([^}]*)\}",
                          how="the structure is written again in the question")},
    {"question": "What is in a bit field?", "run": "./asked 5", "known": said("order", 9),
     "kevtrace": kevtrace("p:q asked:take_order value=order->level"),
     "perf": perf("./asked", "q=take_order value=+40(%di):b5@1/32", how=BY_HAND + "; by its name it is refused"),
     "bpftrace": bpftrace(ORDER, 'uprobe:./asked:take_order { printf("value=%d\\n", ((struct order*)arg0)->level); }',
                          how="the structure is written again in the question")},
    {"question": "Which enumerator is an argument, by its name?", "run": "./asked 5", "known": said("paint", 1),
     "kevtrace": kevtrace("p:q asked:paint value=color:enum"),
     "perf": perf("./asked", "q=paint value=color", why="it prints the number", verdict="no"),
     "bpftrace": bpftrace('BEGIN { @name[0] = "kRed"; @name[3] = "kGreen"; @name[7] = "kBlue"; }',
                          'uprobe:./asked:paint { printf("value=%s\\n", @name[arg0]); }', how="the names are written again in the question")},
    {"question": "Is a `bool` argument set?", "run": "./asked 5", "known": said("paint", 2),
     "kevtrace": kevtrace("p:q asked:paint value=is_new:enum"),
     "perf": perf("./asked", "q=paint value=is_new"),
     "bpftrace": bpftrace('uprobe:./asked:paint { printf("value=%d\\n", args->is_new); }')},
    {"question": "What is in a global variable when a function is called?", "run": "./asked 5", "known": said("order", 7),
     "kevtrace": kevtrace("p:q asked:take_order value=@total:s32"),
     "perf": perf("./asked", "q=take_order value=@+0x'$(address total asked)':s32", how=BY_ADDRESS),
     "bpftrace": bpftrace('uprobe:./asked:take_order { printf("value=%d\\n", *(int32*)(reg("ip") - 0x\'$(address take_order asked)\' + 0x\'$(address total asked)\')); }',
                          how=BY_ADDRESS + "; `uaddr` misses it in a position independent program")},
    # Lines
    {"question": "What is in a local variable at a line, without optimization?", "run": "./lines0 5", "known": said("area", 1),
     "kevtrace": kevtrace("p:q lines0:lines.c:LINE_AREA value=width"),
     "perf": perf("./lines0", "q=lines.c:LINE_AREA value=width"),
     "bpftrace": bpftrace('uprobe:./lines0:"lines.c:LINE_AREA" { printf("value=%d\\n", reg("bx")); }', why="it knows no lines; an address and a register that another tool finds can be probed")},
    {"question": "And with `-O2`?", "run": "./lines2 5", "known": said("area", 3),
     "kevtrace": kevtrace("p:q lines2:lines.c:LINE_AREA value=area"),
     "perf": perf("./lines2", "q=lines.c:LINE_AREA value=area"),
     "bpftrace": bpftrace('uprobe:./lines2:"lines.c:LINE_AREA" { printf("value=%d\\n", reg("bx")); }', why="it knows no lines; an address and a register that another tool finds can be probed")},
    {"question": "How often does a line run of a function that was inlined in two places, and with what?", "run": "./lines2 5", "known": twice_given,
     "kevtrace": kevtrace("p:q lines2:lines.c:LINE_DOUBLED value=given"),
     "perf": perf("./lines2", "q=twice value=given", how="as the entry of the inlined function; the line itself is refused, since it shares its address"),
     "bpftrace": bpftrace('uprobe:./lines2:"lines.c:LINE_DOUBLED" { printf("value=%d\\n", reg("di")); }', why="it knows no lines; an address and a register that another tool finds can be probed")},
    # C++
    {"question": "When is one of two overloads called, chosen by its parameters?", "run": "./named 5", "known": lambda lines: [(3,)] * 5,
     "kevtrace": kevtrace("p:q named:shapes::Square::scale(int) value=%si:s32"),
     "perf": perf("./named", "q=_ZN6shapes6Square5scaleEi value=%si:s32", how=BY_SYMBOL),
     "bpftrace": bpftrace('uprobe:./named:"shapes::Square::scale(int)" { printf("value=%d\\n", arg1); }')},
    {"question": "What does one instance of a template return?", "run": "./shop2 5", "known": said("both", 1),
     "kevtrace": kevtrace("r:q shop2:shop::larger<int> value=$retval:s32"),
     "perf": perf("./shop2", "q=0x'$(address _ZN4shop6largerIiEET_S1_S1_ shop2)'%return value=$retval:s32", how=BY_ADDRESS + "; its symbol is not found"),
     "bpftrace": bpftrace('uretprobe:./shop2:"int shop::larger<int>(int, int)" { printf("value=%d\\n", retval); }')},
    {"question": "What is in a member of the object that a method `namespace::Class::method` is called for?", "run": "./shop0 5", "known": served_before,
     "kevtrace": kevtrace("p:q shop0:shop::Clerk::serve value=this->served_"),
     "perf": perf("./shop0", "q=%s value=+32(%%di):s32" % SERVE, how=BY_SYMBOL + " and by hand; `this->served_` is refused"),
     "bpftrace": bpftrace('uprobe:./shop0:"shop::Clerk::serve" { printf("value=%d\\n", *(int32*)(arg0 + 32)); }', how=BY_HAND)},
    # Markers
    {"question": "What are the arguments of a marker (USDT)?", "run": "./marked 5", "known": lambda lines: [(-int(line.split()[0]),) for line in lines],
     "kevtrace": kevtrace("p:q marked:marked:registers value=$arg2"),
     "perf": perf("./marked", "sdt_marked:registers", group="sdt_marked", find=r"arg2=(\S+)"),
     "bpftrace": bpftrace('usdt:./marked:marked:registers { printf("value=%d\\n", (int32)arg1); }')},
    {"question": "And of one that is passed over while nobody traces (a semaphore)?", "run": "./marked 5", "known": lambda lines: [(line.split()[0],) for line in lines],
     "kevtrace": kevtrace("p:q marked:marked:guarded value=$arg1:u64"),
     "perf": perf("./marked", "sdt_marked:guarded", group="sdt_marked", find=r"arg1=(\S+)"),
     "bpftrace": bpftrace('usdt:./marked:marked:guarded { printf("value=%d\\n", arg0); }')},
    # Who calls
    {"question": "Which calls are under way (a stack, with names; no frame pointers)?", "run": "./asked 5 late", "known": lambda lines: [("outer",)] * 5,
     "kevtrace": kevtrace("p:q asked:innermost", options="--stack", find=r" => innermost\n => inner\n => (outer)\n => main\n"),
     "perf": perf("./asked", "q=innermost", record="--call-graph dwarf", find=r" innermost\+.*\n.* inner\+.*\n.* (outer)\+.*\n(?:.*\(inlined\)\n)*.* main\+"),
     "bpftrace": bpftrace('uprobe:./asked:innermost { printf("%s\\n", ustack); }', find=r"innermost\+.*\n +inner\+.*\n +(outer)\+.*\n +main\+",
                          why="it follows frame pointers, and there are none")},
    {"question": "Which function calls this one?", "run": "./asked 5 late", "known": said("spread", 3),
     "kevtrace": kevtrace("p:q asked:spread value=$stack0:symbol", find=r"value=(\w+)\+"),
     "perf": perf("./asked", "q=spread", record="--call-graph dwarf", find=r" spread\+.*\n.* (\w+)\+"),
     "bpftrace": bpftrace('uprobe:./asked:spread { printf("value=%s\\n", usym(*(uint64*)reg("sp"))); }', find=r"value=(\w+)")},
    {"question": "Which two functions call it most often, and how often?", "run": "./asked 5 late", "ordered": True,
     "known": lambda lines: counted(said("spread", 3))(lines)[:2],
     "kevtrace": kevtrace("p:q asked:spread from=$stack0:x64", options="--hist 'q: keys=from.sym:sort=hitcount.descending:size=128:top=2'",
                          find=r"(?m)^\{ from: \[\w+\] (\w+) +\} hitcount: +(\d+)"),
     "perf": perf("./asked", "q=spread", record="--call-graph dwarf", show="perf report -i q.data --stdio --no-children -s sym -g count,caller",
                  find=r"--(?P<b>\d+)--(?P<a>called_\w+)"),
     "bpftrace": bpftrace('uprobe:./asked:spread { @[usym(*(uint64*)reg("sp"))] = count(); }', "interval:ms:500 { print(@, 2); clear(@); exit(); }",
                          find=r"(?m)^@\[(\w+)\]: (\d+)", how="the most frequent last", backwards=True)},
    # Counts, sums and times
    {"question": "How often is it called with which argument?", "run": "./asked 5", "known": counted(said("spread", 1)),
     "kevtrace": kevtrace("p:q asked:spread key", options="--hist 'q: keys=key'", find=HIST),
     "perf": perf("./asked", "q=spread key", show="perf report -i q.data --stdio -s key -n", find=r"(?m)^ +[\d.]+% +(?P<b>\d+) +(?P<a>\d+) *$"),
     "bpftrace": bpftrace("uprobe:./asked:spread { @[(int32)arg0] = count(); }", find=r"(?m)^@\[(\d+)\]: (\d+)")},
    {"question": "What are the sum, the mean and the maximum of an argument?", "run": "./asked 5", "known": sum_mean_max,
     "kevtrace": kevtrace("p:q asked:spread n=amount", options="--hist 'q: keys=common_type:vals=n,n.avg,n.max'",
                          find=r" n: +(\d+)  n \(avg\): +([\d.]+)  n \(max\): +(\d+)"),
     "perf": perf("./asked", "q=spread value=amount", find=None, why="it prints each value; only a script of one's own (`perf script -s`) adds them up"),
     "bpftrace": bpftrace("uprobe:./asked:spread { @m = max(arg1); @s = stats(arg1); }",
                          find=r"@m: (?P<c>\d+)\s+@s: count \d+, average (?P<b>\d+), total (?P<a>\d+)")},
    {"question": "How long does a function take (a histogram)?", "run": "./asked 5 slow", "right": all_took_20_ms(5),
     "kevtrace": lat("'p:in asked:slow' 'r:out asked:slow'"),
     "perf": perf("./asked", "q=slow", "back=slow%return", find=None, why="it prints the time of each event; only a script of one's own (`perf script -s`) subtracts them"),
     "bpftrace": bpftrace("uprobe:./asked:slow { @start[tid] = nsecs; }",
                          "uretprobe:./asked:slow /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start[tid]); }",
                          find=r"(?m)^\[(\w+), \w+\) +(\d+) ")},
    {"question": "How long is it from one function to another, of the same id?", "run": "./asked 5 slow", "right": all_took_20_ms(5),
     "kevtrace": lat("--key id 'p:a asked:begin id=%di' 'p:b asked:finish id=%di'"),
     "perf": perf("./asked", "a=begin id", "b=finish id", find=None, why="it prints the time of each event; only a script of one's own (`perf script -s`) subtracts them"),
     "bpftrace": bpftrace("uprobe:./asked:begin { @start[arg0] = nsecs; }",
                          "uprobe:./asked:finish /@start[arg0]/ { @ns = hist(nsecs - @start[arg0]); delete(@start[arg0]); }",
                          find=r"(?m)^\[(\w+), \w+\) +(\d+) ")},
    # Only some of the calls
    {"question": "Only calls whose argument, in a register, is greater than 3?", "run": "./asked 5",
     "known": lambda lines: [(n,) for (n,) in said("pay", 1)(lines) if int(n) > 3],
     "kevtrace": kevtrace("p:q asked:pay value=%di:s32", options="--filter 'q: value > 3'"),
     "perf": perf("./asked", "q=pay value=%di:s32", record="--filter 'value > 3'"),
     "bpftrace": bpftrace('uprobe:./asked:pay /(int32)arg0 > 3/ { printf("value=%d\\n", arg0); }')},
    {"question": "Only calls with a certain text?", "run": "./asked 5", "known": lambda lines: [(line.split()[1],) for line in lines if line.startswith("pay ") and line.endswith(" Ada")],
     "kevtrace": kevtrace("p:q asked:pay value=amount who=who:string", options="""--filter 'q: who == "Ada"'"""),
     "perf": perf("./asked", "q=pay value=amount who=who:string", record="""--filter 'who == "Ada"'"""),
     "bpftrace": bpftrace('uprobe:./asked:pay /str(arg1) == "Ada"/ { printf("value=%d\\n", arg0); }')},
    {"question": "Only calls whose `double` is greater than 1?", "run": "./floats 4",
     "known": lambda lines: [(one,) for (one,) in prices(lines)[::2] if one > 1],
     "kevtrace": kevtrace("p:q floats:price value=base", options="--filter 'q: value > 1'"),
     "perf": perf("./floats", "q=price value=base", record="--filter 'value > 1'"),
     "bpftrace": bpftrace('uprobe:./floats:price /args->base > 1/ { printf("value=%d\\n", args->base); }')},
    # Which processes
    {"question": "Only one process of several that run already?", "run": None, "right": steady(20000),
     "beside": [("./asked tick 10000 0", None), ("./asked tick 20000 0", None)],
     "kevtrace": kevtrace("p:q asked:tick value=n", options="--pid PID -d 1", after=""),
     "perf": perf("./asked", "q=tick value=n", record="-p PID", after="sleep 1"),
     "bpftrace": bpftrace('uprobe:./asked:tick /pid == PID/ { printf("value=%d\\n", arg0); }', "interval:s:1 { exit(); }", after="")},
    {"question": "Only those of a control group?", "run": None, "right": steady(20000),
     "beside": [("./asked tick 10000 0", "kevt_one"), ("./asked tick 20000 0", "kevt_other")],
     "kevtrace": kevtrace("p:q asked:tick value=n", options="--cgroup /kevt_other -d 1", after=""),
     "perf": perf("./asked", "q=tick value=n", record="-a -G kevt_other", after="sleep 1"),
     "bpftrace": bpftrace('uprobe:./asked:tick /cgroup == cgroupid("/sys/fs/cgroup/kevt_other")/ { printf("value=%d\\n", arg0); }', "interval:s:1 { exit(); }",
                          after="")},
    {"question": "All calls of a process that somebody starts later?", "run": None, "right": whole_runs(10), "again": True,
     "beside": [("./asked tick FIRST 10", None)],
     "kevtrace": kevtrace("p:q HERE/asked:tick:0 value=n", options="--runtime bpf -d 3", after="", how="as the first line of the function, `tick:0`, of a path"),
     "perf": perf("./asked", "q=tick value=n", record="-a", after="sleep 3"),
     "bpftrace": bpftrace('uprobe:./asked:tick { printf("value=%d\\n", arg0); }', "interval:s:3 { exit(); }", after="")},
    {"question": "Which programs call a function of the C library, of all processes, and how often?", "run": "/bin/sh ./both",
     "known": lambda lines: [("firstapp", 4), ("otherapp", 7)],
     "kevtrace": {"command": "at=$(kevtrace list rand_r LIBC | cut -d' ' -f3) && kevtrace run -q --runtime bpf --hist 'q: keys=common_comm' -e \"p:q LIBC:$at\" -- RUN",
                  "find": r"(?m)^\{ common_comm: (\S+) +\} hitcount: +(\d+)", "how": "by its offset, which `kevtrace list` tells"},
     "perf": perf("LIBC", "q=rand_r", group="probe_libc", record="-a", show="perf report -i q.data --stdio -s comm -n", find=r"(?m)^ +[\d.]+% +(?P<b>\d+) +(?P<a>\w+) *$"),
     "bpftrace": bpftrace("uprobe:LIBC:rand_r { @[comm] = count(); }", find=r"(?m)^@\[(\w+)\]: (\d+)")},
    # Files
    {"question": "What is an argument, by its name, in a stripped program whose debug file is found by its build id?", "run": "./stripped 5", "known": said("pay", 1),
     "kevtrace": kevtrace("p:q stripped:pay value=amount"),
     "perf": perf("./stripped", "q=pay value=amount"),
     "bpftrace": bpftrace('uprobe:./stripped:pay { printf("value=%d\\n", args->amount); }')},
    {"question": "What was recorded in a file yesterday?", "run": "./asked 5", "known": text_said("greet"),
     "kevtrace": {"command": "kevtrace run -q -o q.dat -e 'p:q asked:greet value=name:string' -- RUN && kevtrace report q.dat", "find": VALUE},
     "perf": perf("./asked", "q=greet value=name:string"),
     "bpftrace": {"command": "bpftrace -o q.txt -e 'uprobe:./asked:greet { printf(\"value=\\\"%s\\\"\\n\", str(arg0)); }' -c 'RUN' && cat q.txt", "find": VALUE,
                  "how": "as text"}},
]
