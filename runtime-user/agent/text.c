/*
 * Strings of the program under trace: measured and copied with loads that may fault.
 *
 * Measuring reads aligned words: an aligned word never crosses into the next page, so nothing
 * behind the string's own page is touched.  At most KEVT_TEXT_BYTES with the NUL; longer ones are
 * cut.  Unreadable anywhere before the end: 0, which prints as (fault).
 */
#include "runtime-user/agent/agent.h"

#define LOW_BITS 0x0101010101010101ull
#define HIGH_BITS 0x8080808080808080ull
/* Nonzero when a byte of x is zero; its lowest set bit is in the first such byte. */
#define ZERO_BYTES(x) (((x)-LOW_BITS) & ~(x)&HIGH_BITS)

/* The length with the NUL. At most `most` bytes belong to the text; where they hold no NUL, all of them do. */
static uint32_t text_length(uint64_t address, uint32_t most) {
  if (!most) return 1;
  uint64_t at = address & ~7ull, word, zero, length = (uint64_t)most + 1;
  KEVT_LOAD8(word, at, unreadable);
  word |= (1ull << (8 * (address & 7))) - 1; /* bytes before the string count as nonzero */
  while (!(zero = ZERO_BYTES(word))) {
    at += 8;
    if (at - address >= most) goto measured;
    KEVT_LOAD8(word, at, unreadable);
  }
  uint64_t ended = at + (uint64_t)(__builtin_ctzll(zero) >> 3) - address + 1;
  if (ended < length) length = ended;
measured:
  return length < KEVT_TEXT_BYTES ? (uint32_t)length : KEVT_TEXT_BYTES;
unreadable:
  return 0;
}

KEVT_SERVICE uint32_t kevt_service_text_copy(uint8_t* to, uint64_t address, uint32_t length) {
  uint32_t left = length - 1;
  uint64_t word;
  uint32_t byte;
  while (left >= 8) {
    KEVT_LOAD8(word, address, unreadable);
    __builtin_memcpy(to, &word, 8);
    to += 8, address += 8, left -= 8;
  }
  while (left) {
    KEVT_LOAD1(byte, address, unreadable);
    *to++ = (uint8_t)byte;
    address++, left--;
  }
  *to = 0; /* the string may have grown since it was measured, or have no NUL */
  return length;
unreadable:
  return 0;
}

KEVT_SERVICE uint32_t kevt_service_text_fetch(uint8_t* to, uint64_t address, uint32_t most) {
  uint32_t length = text_length(address, most);
  return length ? kevt_service_text_copy(to, address, length) : 0;
}

KEVT_SERVICE uint32_t kevt_service_text_length(uint64_t address, uint64_t* head, uint32_t most) {
  uint32_t length = text_length(address, most);
  if (!length || length > 16) return length;
  head[0] = head[1] = 0;
  return kevt_service_text_copy((uint8_t*)head, address, length);
}
