/* The record of OpenTelemetry Enhancement Proposal 4947, without attributes. */
#pragma once

#include <stdint.h>

struct span_record {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t valid;
  uint8_t reserved;
  uint16_t attributes_size;
};
