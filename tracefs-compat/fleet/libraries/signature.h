// Signatures by ed25519 (RFC 8032), made and checked by libcrypto. Keys are texts in PEM, as openssl writes them:
//
//   openssl genpkey -algorithm ed25519 -out orders.key        openssl pkey -in orders.key -pubout -out orders.pub
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/error.h"

namespace kevt::fleet {

inline constexpr std::size_t kSignatureBytes = 64;

// EINVAL: the text holds no private ed25519 key, or one with a passphrase.
Result<std::string> sign(std::string_view private_key, std::string_view text);

// Whose signature it is: the first 16 hexadecimal digits of the SHA-256 of the public key's 32 bytes. `public_keys`:
// one PEM block or several. EKEYREJECTED: it is the signature of none of them; EINVAL: one of them is no ed25519 key,
// or there is none.
Result<std::string> find_signer(std::string_view public_keys, std::string_view text, std::string_view signature);

}  // namespace kevt::fleet
