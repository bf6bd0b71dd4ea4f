// HttpClient by libcurl: one connection that is kept, TLS 1.3, no redirects, nothing but HTTP.
#include "tracefs-compat/fleet/libraries/http_curl.h"

#include <curl/curl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace kevt::fleet {
namespace {

constexpr long kConnectTimeoutMs = 5'000;

struct Received {
  std::string body;
  std::size_t most = 0;
  bool is_too_long = false;
};

std::size_t take_bytes(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& received = *static_cast<Received*>(user);
  received.is_too_long = count > received.most - received.body.size();
  if (received.is_too_long) return 0;
  received.body.append(bytes, count);
  return count;
}

// libcurl asks about once a second, and more often while bytes come.
int look_for_stop(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const HttpRequest*>(user)->is_stopped() ? 1 : 0;
}

// The list of those who may sign certificates, where this machine has none at the place that libcurl was built with: a
// kevtrace built on Debian runs on other Linux, too. Empty: it has one there. The places are those that Go knows
// (crypto/x509).
std::string find_list_of_other_linux() {
  const char* built_in = curl_version_info(CURLVERSION_NOW)->cainfo;
  if (built_in == nullptr || access(built_in, R_OK) == 0) return {};
  for (const char* place : {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (access(place, R_OK) == 0) return place;
  return {};
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(HttpKeys keys) : keys_(std::move(keys)), curl_(curl_easy_init()) {}
  ~CurlClient() override {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(curl_);
  }
  bool is_made() const { return curl_ != nullptr; }

  Result<HttpAnswer> post(const HttpRequest& request) override {
    Received received{.body = {}, .most = request.most_of_answer};
    std::array<char, CURL_ERROR_SIZE> why = {};
    set_up(request, received, why.data());
    const CURLcode done = curl_easy_perform(curl_);
    HttpAnswer answer{.body = std::move(received.body)};
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer.status);
    if (done == CURLE_OK) return answer;
    if (received.is_too_long)
      return std::unexpected(
          Error("the server's answer is longer than " + std::to_string(received.most) + " bytes", EMSGSIZE));
    const bool never_asked = done == CURLE_COULDNT_CONNECT || done == CURLE_COULDNT_RESOLVE_HOST ||
                             done == CURLE_SSL_CACERT_BADFILE || done == CURLE_SSL_CERTPROBLEM ||
                             done == CURLE_PEER_FAILED_VERIFICATION;
    if (done == CURLE_ABORTED_BY_CALLBACK) return std::unexpected(Error("the request was stopped", ECANCELED));
    const std::string_view words = why[0] != 0 ? std::string_view(why.data()) : curl_easy_strerror(done);
    return std::unexpected(
        Error("no answer from the server: " + std::string(words), never_asked ? ECONNREFUSED : ETIMEDOUT));
  }

 private:
  void set_up(const HttpRequest& request, Received& received, char* why) {
    curl_easy_reset(curl_);  // the connection stays
    const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(curl_, option, value); };
    const auto set_text = [&](CURLoption option, const std::string& text) {
      if (!text.empty()) set(option, text.c_str());
    };
    set(CURLOPT_ERRORBUFFER, why);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    if (headers_ == nullptr) {
      headers_ = curl_slist_append(headers_, "Content-Type: application/octet-stream");
      headers_ = curl_slist_append(headers_, "Expect:");  // no round trip before a large body
    }
    set(CURLOPT_HTTPHEADER, headers_);
    set(CURLOPT_WRITEFUNCTION, &take_bytes);
    set(CURLOPT_WRITEDATA, &received);
    set(CURLOPT_FRESH_CONNECT, request.is_repeatable ? 0L : 1L);  // libcurl repeats what a reused connection has lost
    set(CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes a second
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.patience_s));
    set(CURLOPT_TIMEOUT, static_cast<long>(request.most_s));
    if (request.is_stopped) {
      set(CURLOPT_XFERINFOFUNCTION, &look_for_stop);
      set(CURLOPT_XFERINFODATA, &request);
      set(CURLOPT_NOPROGRESS, 0L);
    }
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3));
    set_text(CURLOPT_CAINFO, keys_.ca.empty() ? machine_ca_ : keys_.ca);
    if (!keys_.ca.empty()) set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // in place of the machine's list
    set_text(CURLOPT_SSLCERT, keys_.cert);
    set_text(CURLOPT_SSLKEY, keys_.key);
    set_text(CURLOPT_USERNAME, keys_.user);
    set_text(CURLOPT_PASSWORD, keys_.password);
  }

  HttpKeys keys_;
  std::string machine_ca_ = find_list_of_other_linux();  // where `keys_` names none
  CURL* curl_;
  curl_slist* headers_ = nullptr;
};

}  // namespace

std::unique_ptr<HttpClient> make_curl_client(const HttpKeys& keys) {
  static const CURLcode begun = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (begun != CURLE_OK) return nullptr;
  auto made = std::make_unique<CurlClient>(keys);
  return made->is_made() ? std::move(made) : nullptr;
}

}  // namespace kevt::fleet
