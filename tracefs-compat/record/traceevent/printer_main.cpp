// kevtrace-traceevent: libtraceevent, its plugins and what they do with formats and records of files, in a process of
// its own (wire.h). Formats and records may be hostile and the library trusts them: this process has a limit of memory,
// no environment, no privileges to win, and no system calls but to read what it is asked, to answer, and for memory. A
// crash of it costs its asker a message.
//
// Ends when its asker closes the socket, or the thread that started it ends: it may be in a loop of the library's.
#include <event-parse.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <trace-seq.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tracefs-compat/record/traceevent/wire.h"

namespace {

namespace wire = kevt::record::wire;

constexpr int kAsker = 0;                        // the socket
constexpr rlim_t kMostMemory = rlim_t{1} << 30;  // bytes

bool read_all(void* to, std::size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = ::read(kAsker, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(const void* from, std::size_t bytes) {
  for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t put = ::write(kAsker, at, bytes);
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

bool answer(const std::string& bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  return write_all(&length, sizeof length) && write_all(bytes.data(), bytes.size());
}

void append_number(std::uint32_t number, std::string& out) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Whatever else a format or a record makes the library do ends the process.
bool allow_only_answering() {
  constexpr std::uint32_t kAllowed[] = {SYS_read,   SYS_write,         SYS_brk,     SYS_mmap,
                                        SYS_munmap, SYS_mremap,        SYS_madvise, SYS_sysinfo,
                                        SYS_futex,  SYS_clock_gettime, SYS_exit,    SYS_exit_group};
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const std::uint32_t number : kAllowed) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program = {.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool give_up_privileges() {
  const rlimit memory = {kMostMemory, kMostMemory}, none = {0, 0};
  return ::setrlimit(RLIMIT_AS, &memory) == 0 && ::setrlimit(RLIMIT_CORE, &none) == 0 &&
         ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         allow_only_answering();
}

class Printer {
 public:
  explicit Printer(bool has_plugins) : tep_(tep_alloc()) {
    if (!tep_) return;
    if (has_plugins) tep_load_plugins(tep_);  // of the system's folder: without an environment there is no other
    tep_set_long_size(tep_, sizeof(long));
    tep_set_page_size(tep_, 4096);
    tep_set_file_bigendian(tep_, TEP_LITTLE_ENDIAN);
    tep_set_local_bigendian(tep_, TEP_LITTLE_ENDIAN);
    trace_seq_init(&text_);
  }
  bool works() const { return tep_ != nullptr && text_.buffer != nullptr; }

  void add_symbols(const std::string& kallsyms) { tep_parse_kallsyms(tep_, kallsyms.c_str()); }

  void add_strings(const std::string& printk_formats) { tep_parse_printk_formats(tep_, printk_formats.c_str()); }

  std::string add_format(const std::string& asked) {
    wire::FormatHead head = {};
    std::uint32_t flags = 0;
    if (asked.size() >= sizeof head) std::memcpy(&head, asked.data(), sizeof head);
    if (asked.size() >= sizeof head + head.system_bytes) {
      const std::string system = asked.substr(sizeof head, head.system_bytes);
      const std::string text = asked.substr(sizeof head + head.system_bytes);
      const bool failed = tep_parse_event(tep_, text.c_str(), text.size(), system.c_str()) != 0;
      const tep_event* event = failed ? nullptr : tep_find_event(tep_, static_cast<int>(head.id));
      if (event && !(event->flags & TEP_EVENT_FL_FAILED)) flags |= wire::kIsParsed;
      if (event && event->handler) flags |= wire::kHasPlugin;  // also where the print fmt is beyond it
    }
    std::string out;
    append_number(flags, out);
    return out;
  }

  std::string print(const std::string& asked) {
    std::string out;
    for (std::size_t at = 0; at + sizeof(wire::PrintHead) <= asked.size();) {
      wire::PrintHead head;
      std::memcpy(&head, asked.data() + at, sizeof head);
      at += sizeof head;
      if (head.bytes > asked.size() - at) break;
      append_record(head, asked.data() + at, out);
      at += head.bytes;
    }
    return out;
  }

 private:
  // What it prints behind the event's name.
  void append_record(const wire::PrintHead& head, const char* bytes, std::string& out) {
    bytes_.assign(bytes, bytes + head.bytes);  // aligned, and its own to spoil
    bytes_.resize(bytes_.size() + sizeof(long));
    tep_record record = {};
    record.ts = head.time_ns;
    record.size = static_cast<int>(head.bytes);
    record.data = bytes_.data();
    record.cpu = static_cast<int>(head.cpu);
    trace_seq_reset(&text_);
    tep_print_event(tep_, &text_, &record, "%s", TEP_PRINT_INFO);
    std::uint32_t length = text_.state == TRACE_SEQ__GOOD ? text_.len : 0;
    if (length > wire::kMostText) length = wire::kMostText;
    if (out.size() > wire::kMostAnswered / 2) return append_number(wire::kNoText, out);
    while (length > 0 && (text_.buffer[length - 1] == '\n' || text_.buffer[length - 1] == '\0')) --length;
    append_number(length, out);
    out.append(text_.buffer, length);
  }

  tep_handle* const tep_;
  trace_seq text_ = {};
  std::vector<char> bytes_;
};

}  // namespace

int main(int argc, char** argv) {
  Printer printer(argc < 2 || std::strcmp(argv[1], wire::kNoPlugins) != 0);
  if (!printer.works() || !give_up_privileges()) return 1;
  for (wire::AskHead head; read_all(&head, sizeof head);) {
    if (head.bytes > wire::kMostAsked) return 1;
    std::string asked(head.bytes, '\0');
    if (!read_all(asked.data(), asked.size())) return 1;
    bool goes_on = true;
    if (head.ask == wire::Ask::Symbols)
      printer.add_symbols(asked);
    else if (head.ask == wire::Ask::Strings)
      printer.add_strings(asked);
    else if (head.ask == wire::Ask::Format)
      goes_on = answer(printer.add_format(asked));
    else
      goes_on = answer(printer.print(asked));
    if (!goes_on) return 1;
  }
  return 0;
}
