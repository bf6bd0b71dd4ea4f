// fleet.conf: the keys of this machine or user, whose orders it obeys, and its labels. It is the file that
// $KEVTRACE_FLEET names, else kevtrace/fleet.conf in the user's configuration folder, else /etc/kevtrace/fleet.conf; no
// file: nothing of it. A line is a word and its value:
//
//   ca FILE   cert FILE   key FILE   user NAME   password-file FILE      what servers are shown (libraries/http.h)
//   sign-key FILE                                                        our key, which signs orders
//   trust FILE                                                           keys whose orders are obeyed; several lines
//   accept-compiled yes                                                  of scripts that are machine code, too
//   label NAME=VALUE                                                     what selectors look at; several lines
#pragma once

#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/libraries/http.h"
#include "tracefs-compat/fleet/orders/selector.h"

namespace kevt::fleet {

struct Config {
  std::string path;          // of the file; empty: there is none
  std::string not_believed;  // why it does not say whose orders are obeyed (believed_path); empty: it may
  HttpKeys keys;
  std::string sign_key;              // a file; empty: none
  std::vector<std::string> trusted;  // files
  bool accepts_compiled = false;
  std::vector<Label> labels;
};

// A file with a password must not be readable for others.
Result<Config> read_config();

// The texts of the key files. A key that signs must not be readable for others; fleet.conf and the files that it trusts
// must belong to root or to this user, and nobody else may write to them.
Result<std::string> read_sign_key(const Config& config);
Result<std::string> read_trusted_keys(const Config& config);

}  // namespace kevt::fleet
