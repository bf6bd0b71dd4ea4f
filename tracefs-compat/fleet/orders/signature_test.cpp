// Signatures by libcrypto, with the keys and results of RFC 8032, section 7.1.
#include "tracefs-compat/fleet/libraries/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace kevt::fleet {
namespace {

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kDigits[bits >> (count - 6) & 63];
  }
  if (count) out += kDigits[bits << (6 - count) & 63];
  while (out.size() % 4) out += '=';
  return out;
}

// PKCS #8 and SubjectPublicKeyInfo of RFC 8410.
std::string private_key(std::string_view hex) {
  return "-----BEGIN PRIVATE KEY-----\n" + base64(from_hex("302e020100300506032b657004220420" + std::string(hex))) +
         "\n-----END PRIVATE KEY-----\n";
}
std::string public_key(std::string_view hex) {
  return "-----BEGIN PUBLIC KEY-----\n" + base64(from_hex("302a300506032b6570032100" + std::string(hex))) +
         "\n-----END PUBLIC KEY-----\n";
}

// TEST 3 of the RFC.
constexpr std::string_view kSecret = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";
constexpr std::string_view kPublic = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
constexpr std::string_view kSignature =
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc0"
    "2"
    "7beceea1ec40a";
// TEST 1 of the RFC.
constexpr std::string_view kOther = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

TEST(SignatureTest, IsThatOfTheStandard) {
  const std::string text = from_hex("af82");
  const auto made = sign(private_key(kSecret), text);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(*made, from_hex(kSignature));
  const auto signer = find_signer(public_key(kPublic), text, *made);
  ASSERT_TRUE(signer) << signer.error().message();
  EXPECT_EQ(signer->size(), 16u);
  EXPECT_EQ(find_signer(public_key(kOther) + public_key(kPublic), text, *made).value(), *signer) << "one of two keys";
}

TEST(SignatureTest, IsOfNoOtherTextAndKey) {
  const std::string text = from_hex("af82"), signature = from_hex(kSignature);
  const auto why = [&](const std::string& keys, const std::string& of, const std::string& by) {
    const auto signer = find_signer(keys, of, by);
    return signer ? 0 : signer.error().errno_value();
  };
  EXPECT_EQ(why(public_key(kPublic), text, signature), 0);
  EXPECT_EQ(why(public_key(kPublic), text + " ", signature), EKEYREJECTED);
  EXPECT_EQ(why(public_key(kPublic), "", signature), EKEYREJECTED);
  EXPECT_EQ(why(public_key(kOther), text, signature), EKEYREJECTED);
  EXPECT_EQ(why(public_key(kPublic), text, ""), EKEYREJECTED);
  EXPECT_EQ(why(public_key(kPublic), text, signature + "x"), EKEYREJECTED);
  for (std::size_t bit = 0; bit < 8 * signature.size(); bit += 7) {
    std::string changed = signature;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(why(public_key(kPublic), text, changed), EKEYREJECTED) << bit;
  }
}

TEST(SignatureTest, SaysWhatIsNoKey) {
  EXPECT_EQ(sign("", "x").error().errno_value(), EINVAL);
  EXPECT_EQ(sign(public_key(kPublic), "x").error().errno_value(), EINVAL);
  EXPECT_EQ(find_signer("", "x", "y").error().errno_value(), EINVAL);
  EXPECT_EQ(find_signer(private_key(kSecret), "x", "y").error().errno_value(), EINVAL);
  const std::string damaged = "-----BEGIN PUBLIC KEY-----\nAAAA\n";
  EXPECT_EQ(find_signer(damaged + public_key(kPublic), "x", "y").error().errno_value(), EINVAL);
  EXPECT_EQ(find_signer(public_key(kPublic) + damaged, "x", "y").error().errno_value(), EINVAL);
  EXPECT_EQ(find_signer("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "x", "y").error().errno_value(),
            EINVAL);
}

}  // namespace
}  // namespace kevt::fleet
