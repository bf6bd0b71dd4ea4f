// The functions are written as bytes into TestText, so that arming may patch them. Each begins with 5 bytes of whole
// instructions that nothing jumps into.
#include "tests/differential/probed_text.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"

namespace kevt::test {

namespace {

constexpr std::uint8_t kTwice[] = {0x55,                          // push %rbp
                                   0x48, 0x89, 0xe5,              // mov %rsp, %rbp
                                   0x48, 0x8d, 0x04, 0x3f,        // lea (%rdi,%rdi), %rax
                                   0x5d,                          // pop %rbp
                                   0xc3};                         // ret
constexpr std::uint8_t kSum[] = {0x53,                            // push %rbx
                                 0x89, 0xfb,                      // mov %edi, %ebx
                                 0x31, 0xc0,                      // xor %eax, %eax
                                 0x85, 0xff,                      // test %edi, %edi
                                 0x74, 0x07,                      // je 1f
                                 0xff, 0xcf,                      // dec %edi
                                 0xe8, 0xf0, 0xff, 0xff, 0xff,    // call sum
                                 0x48, 0x01, 0xd8,                // 1: add %rbx, %rax
                                 0x5b,                            // pop %rbx
                                 0xc3};                           // ret
constexpr std::uint8_t kTail[] = {0x48, 0x83, 0xc7, 0x01,         // add $1, %rdi
                                  0x90,                           // nop
                                  0xe9, 0xf6, 0xfd, 0xff, 0xff};  // jmp twice, 512 + 10 bytes back
constexpr std::uint8_t kCaller[] = {0x55,                         // push %rbp
                                    0x48, 0x89, 0xe5,             // mov %rsp, %rbp
                                    0x31, 0xc0,                   // xor %eax, %eax
                                    0xff, 0xd7,                   // call *%rdi
                                    0x5d,                         // pop %rbp
                                    0xc3};                        // ret

}  // namespace

ProbedText::ProbedText(std::unique_ptr<LocalSession> session, std::unique_ptr<TestText> text)
    : text_(std::move(text)), session_(std::move(session)) {
  std::ranges::copy(kTwice, text_->at(0));
  std::ranges::copy(kSum, text_->at(256));
  std::ranges::copy(kTail, text_->at(512));
  std::ranges::copy(kCaller, text_->at(768));
}

Result<std::unique_ptr<ProbedText>> ProbedText::create(const inproc::SessionOptions& options) {
  auto text = KEVT_TRY(TestText::create(4096));
  auto session = KEVT_TRY(LocalSession::create(options));
  return std::unique_ptr<ProbedText>(new ProbedText(std::move(session), std::move(text)));
}

Result<std::vector<NativeEvent>> ProbedText::install(const std::vector<std::string>& programs) {
  std::vector<ir::Program> parsed;
  for (const std::string& text : programs) {
    auto program = KEVT_TRY(ir::parse(text));
    if (const auto broken = ir::verify(program)) return std::unexpected(Error(*broken));
    parsed.push_back(std::move(program));
  }
  auto events = install_batch(*session_, std::move(parsed));
  if (!events) return events;
  for (std::size_t i = 0; i < events->size(); ++i)
    (*events)[i].local.block->event_id = static_cast<std::uint32_t>(i + 1);
  return events;
}

bool adds_up(const kevt_counts& c) { return c.hits == c.recorded + c.aggregated + c.filtered + c.lost + c.missed; }

std::uint64_t number_at(const std::vector<std::uint8_t>& record, std::size_t offset, std::size_t bytes) {
  std::uint64_t number = 0;
  if (offset + bytes <= record.size()) std::memcpy(&number, record.data() + offset, bytes);
  return number;
}

}  // namespace kevt::test
