// The strongest check of relocate and plan_site together: every place of a real library that may take
// a jump gets one, and the library must go on computing the same.
//
// A forked child loads the library, puts a jump on each accepted site (all function entries, then all
// instructions that do not overlap), each leading to: count the hit, the relocated instructions, jump
// back. Then the library works through all its switches and loops, and the child's results are compared
// with the unpatched library's. The child patches its own text: a page is writable or executable, never
// both, and nothing else runs meanwhile.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <regex.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iomanip>
#include <locale>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

#include "common/page.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/x86/relocate.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::x86 {
namespace {

using target::ElfImage;

constexpr std::uint64_t kDetour = 192;  // bytes of room per site

enum class Sites { Entries, Everything };

struct Library {
  ElfImage image;
  std::uint64_t bias = 0;
};

std::optional<Library> find_loaded(const std::string& name) {
  auto maps = target::read_maps(::getpid());
  if (!maps) return std::nullopt;
  for (const target::LoadedObject& object : target::loaded_objects(*maps)) {
    if (object.path.find("/" + name) == std::string::npos) continue;
    auto image = ElfImage::open(object.path);
    if (!image) return std::nullopt;
    const auto bias = target::load_bias(object, *image);
    if (!bias) return std::nullopt;
    return Library{std::move(*image), *bias};
  }
  return std::nullopt;
}

struct Chosen {
  ImageAddr site;
  SitePlan plan;
};

// Greedy: a site is taken where its 5 bytes do not touch the previous one's displaced bytes.
std::vector<Chosen> choose(const ElfImage& image, Sites sites) {
  SitePlanner planner(image);
  std::vector<Chosen> chosen;
  std::uint64_t free_from = 0;
  for (const target::FunctionRange& function : image.functions()) {
    if (!image.is_executable(function.start) || image.section_name(function.start).starts_with(".plt")) continue;
    const FunctionCode code = FunctionCode::read(image, function);
    for (const PlacedInstruction& placed : code.instructions()) {
      if (sites == Sites::Entries && placed.address != function.start) break;
      if (placed.address.value < free_from) continue;
      SitePlan plan = planner.plan(placed.address);
      if (plan.kind != ArmKind::Jump) continue;
      free_from = placed.address.value + std::max(plan.displaced, kJumpLength);
      chosen.push_back({placed.address, std::move(plan)});
    }
  }
  return chosen;
}

class Assembler {
 public:
  Assembler(std::uint8_t* at, RemoteAddr address) : at_(at), address_(address) {}
  void bytes(std::initializer_list<std::uint8_t> code) {
    for (const std::uint8_t byte : code) *at_++ = byte, address_ = address_ + 1;
  }
  void append(const std::vector<std::uint8_t>& code) {
    std::memcpy(at_, code.data(), code.size());
    at_ += code.size();
    address_ = address_ + code.size();
  }
  void distance(RemoteAddr target) {
    const auto value = static_cast<std::int32_t>(target - (address_ + 4));
    std::memcpy(at_, &value, 4);
    at_ += 4;
    address_ = address_ + 4;
  }
  RemoteAddr address() const { return address_; }

 private:
  std::uint8_t* at_;
  RemoteAddr address_;
};

struct TextRange {
  std::uint64_t begin;
  std::uint64_t size;
};

struct TextPatch {
  std::uint8_t* at;
  std::array<std::uint8_t, kJumpLength> bytes;
};

long protect(const TextRange& range, long rights) {
  long result = 10;  // mprotect
  asm volatile("syscall" : "+a"(result) : "D"(range.begin), "S"(range.size), "d"(rights) : "rcx", "r11", "memory");
  return result;
}

// Calls nothing: the library that is being written may be libc.
bool write_text(std::span<const TextRange> ranges, std::span<const TextPatch> patches) {
  for (std::size_t i = 0; i != ranges.size(); ++i) {
    if (protect(ranges.data()[i], PROT_READ | PROT_WRITE) != 0) return false;
  }
  const TextPatch* const first = patches.data();
  const std::size_t count = patches.size();
  for (std::size_t i = 0; i != count; ++i) {
    for (unsigned b = 0; b != kJumpLength; ++b) {
      *const_cast<volatile std::uint8_t*>(first[i].at + b) = first[i].bytes[b];
    }
  }
  for (std::size_t i = 0; i != ranges.size(); ++i) {
    if (protect(ranges.data()[i], PROT_READ | PROT_EXEC) != 0) return false;
  }
  return true;
}

// Writes the detour of `site`; the result is the jump to it.
std::optional<TextPatch> build_detour(RemoteAddr counter, RemoteAddr detour, RemoteAddr site, const SitePlan& plan) {
  Assembler out(reinterpret_cast<std::uint8_t*>(detour.value), detour);
  out.bytes({0x48, 0x8d, 0x64, 0x24, 0x80});  // lea -128(%rsp),%rsp
  out.bytes({0x9c, 0x48, 0xff, 0x05});        // pushfq; incq counter(%rip)
  out.distance(counter);
  out.bytes({0x9d, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0});  // popfq; lea 128(%rsp),%rsp
  const auto moved = relocate(std::span(plan.original).first(plan.displaced), site, out.address());
  if (!moved) {
    std::fprintf(stderr, "%#lx: %s\n", static_cast<unsigned long>(site.value), moved.error().message().c_str());
    return std::nullopt;
  }
  out.append(moved->code);
  out.bytes({0xe9});
  out.distance(site + plan.displaced);
  TextPatch patch{.at = reinterpret_cast<std::uint8_t*>(site.value), .bytes = {}};
  Assembler head(patch.bytes.data(), site);
  head.bytes({0xe9});
  head.distance(detour);
  return patch;
}

// Puts jumps on `chosen`; returns the hit counter, or nullptr when that was not possible.
std::uint64_t* patch(const Library& library, const std::vector<Chosen>& chosen) {
  const std::uint64_t size = (kPage + chosen.size() * kDetour + kPage - 1) & ~(kPage - 1);
  const RemoteAddr middle{library.bias + library.image.executable_ranges()[0].begin.value};
  const auto maps = target::read_maps(::getpid());
  if (!maps) return nullptr;
  const auto gap = target::find_gap(*maps, middle, size, (std::uint64_t{2} << 30) - (64 << 20));
  if (!gap) return nullptr;
  void* arena = ::mmap(reinterpret_cast<void*>(gap->value), size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (arena == MAP_FAILED) return nullptr;
  std::vector<TextPatch> patches;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const RemoteAddr site{chosen[i].site.value + library.bias};
    const auto jump = build_detour(*gap, *gap + kPage + i * kDetour, site, chosen[i].plan);
    if (!jump) return nullptr;
    patches.push_back(*jump);
  }
  std::vector<TextRange> ranges;
  for (const target::ImageRange& range : library.image.executable_ranges()) {
    const std::uint64_t begin = (range.begin.value + library.bias) & ~(kPage - 1);
    const std::uint64_t end = (range.end.value + library.bias + kPage - 1) & ~(kPage - 1);
    ranges.push_back({begin, end - begin});
  }
  ::mprotect(reinterpret_cast<void*>(gap->value + kPage), size - kPage, PROT_READ | PROT_EXEC);
  return write_text(ranges, patches) ? static_cast<std::uint64_t*>(arena) : nullptr;
}

struct Outcome {
  std::uint64_t digest = 0;
  std::uint64_t hits = 0;
  std::uint64_t sites = 0;
};

// Runs `work` in a child whose copy of the library is patched.
std::optional<Outcome> run_patched(const char* name, Sites sites, const std::function<std::uint64_t()>& work) {
  auto library = find_loaded(name);
  if (!library) return std::nullopt;
  const std::vector<Chosen> chosen = choose(library->image, sites);
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    Outcome outcome{.sites = chosen.size()};
    if (const std::uint64_t* counter = patch(*library, chosen)) {
      outcome.digest = work();
      outcome.hits = *counter;
    }
    const bool sent = ::write(pipe_ends[1], &outcome, sizeof outcome) == sizeof outcome;
    ::_exit(sent ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  Outcome outcome;
  const ssize_t got = ::read(pipe_ends[0], &outcome, sizeof outcome);
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (got != sizeof outcome) return std::nullopt;
  return outcome;
}

std::uint64_t mix(std::uint64_t digest, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) digest = (digest ^ bytes[i]) * 0x100000001b3u;
  return digest;
}

// Compressible and incompressible stretches.
std::string sample_text() {
  std::string text;
  std::uint64_t state = 3;
  for (int i = 0; i < 8000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += i % 3 ? "the quick brown fox " + std::to_string(i % 17) : std::string(1, static_cast<char>(state >> 56));
  }
  return text;
}

void expect_same_when_patched(const char* name, const std::function<std::uint64_t()>& work) {
  const std::uint64_t expected = work();
  for (const Sites sites : {Sites::Entries, Sites::Everything}) {
    const auto outcome = run_patched(name, sites, work);
    ASSERT_TRUE(outcome) << name;
    EXPECT_EQ(outcome->digest, expected) << name;
    EXPECT_GT(outcome->hits, 10u);
    std::printf("%s: %lu sites by jump (%s), %lu hits\n", name, static_cast<unsigned long>(outcome->sites),
                sites == Sites::Entries ? "entries" : "everywhere", static_cast<unsigned long>(outcome->hits));
  }
}

TEST(PatchedLibrary, ZlibStillCompresses) {
  void* handle = ::dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) GTEST_SKIP() << "libz is not installed";
  using Compress = int (*)(unsigned char*, unsigned long*, const unsigned char*, unsigned long, int);
  using Uncompress = int (*)(unsigned char*, unsigned long*, const unsigned char*, unsigned long);
  using Checksum = unsigned long (*)(unsigned long, const unsigned char*, unsigned);
  const auto compress = reinterpret_cast<Compress>(::dlsym(handle, "compress2"));
  const auto uncompress = reinterpret_cast<Uncompress>(::dlsym(handle, "uncompress"));
  const auto crc = reinterpret_cast<Checksum>(::dlsym(handle, "crc32"));
  const std::string text = sample_text();
  const auto* input = reinterpret_cast<const unsigned char*>(text.data());
  expect_same_when_patched("libz.so", [&] {
    std::uint64_t digest = crc(0, input, static_cast<unsigned>(text.size()));
    std::vector<unsigned char> packed(text.size() + 1000);
    std::vector<unsigned char> unpacked(text.size());
    for (int level = 0; level <= 9; ++level) {
      unsigned long packed_size = packed.size();
      unsigned long unpacked_size = unpacked.size();
      digest = mix(digest, &level, compress(packed.data(), &packed_size, input, text.size(), level) == 0 ? 4 : 1);
      digest = mix(digest, packed.data(), packed_size);
      digest += static_cast<std::uint64_t>(uncompress(unpacked.data(), &unpacked_size, packed.data(), packed_size));
      packed[packed_size / 2] ^= 0x55;  // an error path
      digest += static_cast<std::uint64_t>(uncompress(unpacked.data(), &unpacked_size, packed.data(), packed_size));
      digest = mix(digest, unpacked.data(), unpacked_size);
    }
    return digest;
  });
  ::dlclose(handle);
}

TEST(PatchedLibrary, SqliteStillAnswers) {
  void* handle = ::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle) GTEST_SKIP() << "libsqlite3 is not installed";
  using Callback = int (*)(void*, int, char**, char**);
  using Open = int (*)(const char*, void**);
  using Exec = int (*)(void*, const char*, Callback, void*, char**);
  using Close = int (*)(void*);
  const auto open = reinterpret_cast<Open>(::dlsym(handle, "sqlite3_open"));
  const auto exec = reinterpret_cast<Exec>(::dlsym(handle, "sqlite3_exec"));
  const auto close = reinterpret_cast<Close>(::dlsym(handle, "sqlite3_close"));
  const auto release = reinterpret_cast<void (*)(void*)>(::dlsym(handle, "sqlite3_free"));
  const Callback row = [](void* digest, int count, char** values, char**) {
    auto& sum = *static_cast<std::uint64_t*>(digest);
    for (int i = 0; i < count; ++i) sum = mix(sum, values[i] ? values[i] : "-", values[i] ? std::strlen(values[i]) : 1);
    return 0;
  };
  expect_same_when_patched("libsqlite3.so", [&] {
    std::uint64_t digest = 1;
    void* database = nullptr;
    open(":memory:", &database);
    for (const char* statement :
         {"create table t(a integer primary key, b text, c real); create index i on t(b);",
          "with recursive n(x) as (select 1 union all select x+1 from n where x<3000)"
          " insert into t select x, printf('%05d-%s', (x*7919)%3001, hex(x)), x/7.0 from n;",
          "select count(*), sum(a), max(b), avg(c), group_concat(a%10) from t where b like '0%' and c between 1 and "
          "300;",
          "select b, rank() over (order by b desc) from t where a%37=0 order by c limit 20;",
          "update t set b=upper(replace(b,'-','x')) where a%3=0; delete from t where a between 100 and 900;",
          "select x.a, y.b from t x join t y on x.a=y.a+1 left join t z on z.b=x.b group by x.a having x.a>2900;",
          "select json_extract('{\"a\":[1,2,{\"b\":3}]}','$.a[2].b'), strftime('%Y-%m-%d',86400*365,'unixepoch');",
          "syntax error here;",
          "pragma integrity_check; vacuum; analyze; explain query plan select * from t where b='x';",
          "begin; insert into t(b) values(null),('q'); rollback; select count(*), typeof(b) from t group by 2;"}) {
      char* message = nullptr;
      digest += static_cast<std::uint64_t>(exec(database, statement, row, &digest, &message));
      if (message) digest = mix(digest, message, std::strlen(message));
      release(message);
    }
    digest += static_cast<std::uint64_t>(close(database));
    return digest;
  });
  ::dlclose(handle);
}

struct Thrower {
  explicit Thrower(std::uint64_t& sum) : sum(sum) {}
  ~Thrower() { ++sum; }
  std::uint64_t& sum;
};

std::uint64_t throw_deep(int depth, std::uint64_t& sum) {
  const Thrower guard(sum);
  if (depth == 0) throw std::out_of_range("deep");
  return throw_deep(depth - 1, sum) + 1;
}

// Exceptions are thrown in and through the library, and caught inside it too (streams).
TEST(PatchedLibrary, LibstdcxxStillThrows) {
  expect_same_when_patched("libstdc++.so", [] {
    std::uint64_t digest = 1;
    for (int i = 0; i < 50; ++i) {
      try {
        throw_deep(i, digest);
      } catch (const std::exception& error) {
        digest = mix(digest, error.what(), std::strlen(error.what()));
      }
      try {
        digest += static_cast<std::uint64_t>(std::string("abc").at(static_cast<std::size_t>(i)));
        digest += static_cast<std::uint64_t>(std::stoi(i % 2 ? "17" : "x"));
      } catch (const std::logic_error& error) {
        digest = mix(digest, error.what(), std::strlen(error.what()));
      }
      std::stringstream stream;
      stream.exceptions(i % 3 ? std::ios::failbit : std::ios::goodbit);
      stream << std::hex << i << ' ' << 3.25 * i << std::boolalpha << true << std::setw(20) << "text";
      const std::string text = stream.str();
      digest = mix(digest, text.data(), text.size());
      int number = 0;
      try {
        stream >> number >> number >> number;
      } catch (const std::ios_base::failure&) {
        digest += 3;
      }
      std::locale::global(std::locale::classic());
      std::map<std::string, int> words;
      for (int w = 0; w < 100; ++w) words[std::to_string((w * 7919) % 101)] += w;
      for (const auto& [word, count] : words) digest = mix(digest, word.data(), word.size()) + count;
    }
    return digest;
  });
}

std::uint64_t work_of_libc() {
  std::uint64_t digest = 1;
  char buffer[512];
  for (int i = 0; i < 200; ++i) {
    const int length = std::snprintf(buffer, sizeof buffer, "%d %5.3f %-10s|%08lx %e %c %%", i, i / 3.0, "word",
                                     static_cast<long>(i) << 20, 1e10 / (i + 1), 'a' + i % 26);
    digest = mix(digest, buffer, static_cast<std::size_t>(length));
    digest += std::strlen(buffer) + static_cast<std::uint64_t>(std::strtod(buffer + 2, nullptr) * 8);
    std::vector<char> block(static_cast<std::size_t>(i * 37 + 1), static_cast<char>(i));
    std::vector<char> copy(block.size());
    std::memcpy(copy.data(), block.data(), block.size());
    std::memmove(copy.data(), copy.data() + copy.size() / 3, copy.size() / 2);
    digest = mix(digest, copy.data(), copy.size());
    digest += static_cast<std::uint64_t>(std::memcmp(copy.data(), block.data(), block.size()) == 0);
  }
  std::vector<int> numbers;
  for (int i = 0; i < 2000; ++i) numbers.push_back(i * 7919 % 2003);
  std::qsort(numbers.data(), numbers.size(), sizeof(int),
             [](const void* a, const void* b) { return *static_cast<const int*>(a) - *static_cast<const int*>(b); });
  digest = mix(digest, numbers.data(), numbers.size() * sizeof(int));
  std::jmp_buf environment;
  volatile int jumps = 0;
  if (setjmp(environment) < 3) {
    jumps = jumps + 1;
    std::longjmp(environment, jumps);
  }
  digest += static_cast<std::uint64_t>(jumps);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void* sum) -> void* {
        *static_cast<std::uint64_t*>(sum) += 77;
        return nullptr;
      },
      &digest);
  pthread_join(thread, nullptr);
  regex_t pattern;
  regmatch_t match[2];
  regcomp(&pattern, "q([a-z]+)k.*(fox|dog)", REG_EXTENDED);
  digest += static_cast<std::uint64_t>(regexec(&pattern, "the quick brown fox", 2, match, 0) + match[1].rm_eo);
  regfree(&pattern);
  if (FILE* pipe = ::popen("printf 'from a shell %d' 42", "r")) {
    const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe);
    digest = mix(digest, buffer, got) + static_cast<std::uint64_t>(::pclose(pipe));
  }
  const pid_t child = ::fork();
  if (child == 0) ::_exit(5);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::time_t when = 86400 * 1000;
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  digest = mix(digest, buffer, std::strftime(buffer, sizeof buffer, "%A %d %B %Y %j", &parts));
  return digest + static_cast<std::uint64_t>(WEXITSTATUS(status));
}

TEST(PatchedLibrary, LibcStillRuns) { expect_same_when_patched("libc.so", work_of_libc); }

}  // namespace
}  // namespace kevt::x86
