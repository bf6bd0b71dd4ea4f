// Signatures by libcrypto, and what the library hands out.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <optional>

#include "tracefs-compat/fleet/libraries/fleet_library.h"
#include "tracefs-compat/fleet/libraries/http_curl.h"
#include "tracefs-compat/fleet/libraries/signature.h"

namespace kevt::fleet {
namespace {

constexpr std::size_t kKeyBytes = 32;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* one) const {
    Free(one);
  }
};
using Bytes = std::unique_ptr<BIO, Freed<&BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<&EVP_MD_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// libcrypto would ask the terminal for a passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

bool is_ed25519(const Key& key) { return key && EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519; }

Bytes reader_of(std::string_view text) {
  if (text.size() > std::numeric_limits<int>::max()) return nullptr;
  return Bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::string> sign_with(std::string_view private_key, std::string_view text) {
  const Bytes reader = reader_of(private_key);
  const Key key(reader ? PEM_read_bio_PrivateKey(reader.get(), nullptr, &no_passphrase, nullptr) : nullptr);
  ERR_clear_error();
  if (!is_ed25519(key)) return std::unexpected(Error("it is no private ed25519 key without a passphrase", EINVAL));
  const Digest digest(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> out = {};
  std::size_t size = out.size();
  if (!digest || EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(digest.get(), out.data(), &size, bytes_of(text), text.size()) != 1 || size != out.size())
    return std::unexpected(Error("libcrypto cannot sign", EIO));
  return std::string(reinterpret_cast<const char*>(out.data()), out.size());
}

struct Block {
  std::string name, bytes;
};
// The next PEM block; nullopt: there is none. Text between blocks is left out. EINVAL: one is damaged.
Result<std::optional<Block>> next_block(const Bytes& reader) {
  char *name = nullptr, *header = nullptr;
  unsigned char* bytes = nullptr;
  long size = 0;
  const bool is_there = reader && PEM_read_bio(reader.get(), &name, &header, &bytes, &size) == 1;
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!is_there && !is_end) return std::unexpected(Error("a key is damaged", EINVAL));
  if (!is_there) return std::nullopt;
  Block out{name, std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size))};
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(bytes);
  return out;
}

Key public_key_of(const Block& block) {
  if (block.name != PEM_STRING_PUBLIC) return nullptr;
  const unsigned char* at = bytes_of(block.bytes);
  Key key(d2i_PUBKEY(nullptr, &at, static_cast<long>(block.bytes.size())));
  ERR_clear_error();
  return key;
}

std::string fingerprint(const Key& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kShown = 8;  // bytes
  std::array<unsigned char, kKeyBytes> raw = {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash = {};
  std::size_t size = raw.size();
  EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &size);
  SHA256(raw.data(), raw.size(), hash.data());
  std::string out;
  for (std::size_t i = 0; i < kShown; ++i) {
    out += kDigits[hash.at(i) >> 4];
    out += kDigits[hash.at(i) & 15];
  }
  return out;
}

bool is_by(const Key& key, std::string_view text, std::string_view signature) {
  const Digest digest(EVP_MD_CTX_new());
  return digest && EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(digest.get(), bytes_of(signature), signature.size(), bytes_of(text), text.size()) == 1;
}

Result<std::string> signer_among(std::string_view public_keys, std::string_view text, std::string_view signature) {
  const Bytes reader = reader_of(public_keys);
  bool is_any = false;
  std::string signer;
  while (const auto block = KEVT_TRY(next_block(reader))) {
    const Key key = public_key_of(*block);
    if (!is_ed25519(key)) return std::unexpected(Error("a key is no public ed25519 key", EINVAL));
    is_any = true;
    if (signer.empty() && signature.size() == kSignatureBytes && is_by(key, text, signature)) signer = fingerprint(key);
    ERR_clear_error();
  }
  if (!is_any) return std::unexpected(Error("there is no public key", EINVAL));
  if (signer.empty()) return std::unexpected(Error("it is signed by no trusted key", EKEYREJECTED));
  return signer;
}

}  // namespace
}  // namespace kevt::fleet

extern "C" const kevt::fleet::FleetLibrary* kevt_fleet_library() {
  using namespace kevt::fleet;
  static constexpr FleetLibrary library{kFleetLibraryVersion, kFleetLibraryLayout, &make_curl_client, &sign_with,
                                        &signer_among};
  return &library;
}
