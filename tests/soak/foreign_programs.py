"""What the campaign runs that Debian has: modules of Python's own tests, and stressors of stress-ng.

A module is compared by the result of each of its tests, a stressor by its status. Threads, signals, children, memory,
sockets and C extensions come first; nothing here needs a network.
"""
PYTHON = "/usr/bin/python3.11"
STRESS = "/usr/bin/stress-ng"
DIFFERENCES = {
    # (part, program): why what differs under trace is inherent. Short, and each is in docs/in-process.md.
    ("c", "signal_faults_kept_by_exec"): "SIGSEGV, SIGTRAP and SIGBUS that are ignored or blocked are not so after an exec",
    ("c", "signal_descriptor"): "the agent never really blocks SIGSEGV, SIGTRAP and SIGBUS: no signalfd sees those that were sent",
}

MODULES = """
    test_threading test_thread test_threading_local test_threadsignals test_signal test_subprocess test_popen
    test_fork1 test_wait3 test_wait4 test_posix test_os test_mmap test_ctypes test_socket test_selectors test_select
    test_poll test_epoll test_queue test_concurrent_futures test_multiprocessing_main_handling test_multiprocessing_fork
    test_asyncio.test_subprocess test_asyncio.test_events test_faulthandler test_eintr test_pty test_atexit test_gc
    test_json test_re test_decimal test_sqlite3 test_hashlib test_zlib test_lzma test_bz2 test_struct test_resource
""".split()

# Name of the stressor: operations.
STRESSORS = {
    "malloc": 20000, "mmap": 1, "mprotect": 500, "madvise": 10, "memfd": 2, "mremap": 2, "brk": 5000,
    "fork": 300, "vfork": 300, "clone": 100, "exec": 30, "spawn": 30, "daemon": 30, "wait": 200,
    "pthread": 200, "mutex": 2000, "futex": 2000, "sem-sysv": 2000, "switch": 2000, "pipe": 2000,
    "sigsegv": 2000, "sigfpe": 2000, "sigtrap": 2000, "sigq": 2000, "longjmp": 5000,
}


def python_command(module, folder):
    words = [PYTHON, "-m", "test", "--tempdir", folder, "--junit-xml", "results.xml"]
    if "." in module:  # a part of a package: the package, and only those of its tests
        package, part = module.split(".")
        return [*words, "-m", f"test.{package}.{part}.*", package]
    return [*words, module]


def stress_command(name, folder):
    return [STRESS, "--no-rand-seed", "--verify", "--temp-path", folder, f"--{name}", "1", f"--{name}-ops", str(STRESSORS[name])]
