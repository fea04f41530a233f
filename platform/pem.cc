#include "platform/pem.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "analysis/base/status_macros.h"
#include "platform/file_system.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxPemBytes = int64_t{4} << 20;

struct Freer {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Freer>;

// Nobody is there to be asked for the password of a key.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

template <typename T, typename Read>
absl::StatusOr<Owned<T>> ReadPem(const std::string& path, const char* what, Read read) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxPemBytes));
  const Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Owned<T> value(read(bio.get(), nullptr, &NoPassword, nullptr));
  ERR_clear_error();
  if (value == nullptr) {
    return absl::InvalidArgumentError(fmt::format("{} holds no {} in PEM form (without a password)", path, what));
  }
  return value;
}

}  // namespace

void KeepOpenSslUntilTheEnd() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

absl::Status CheckPemFiles(const std::string& certificate, const std::string& key, const std::string& authority) {
  if (!authority.empty()) {
    LOCKSTEP_RETURN_IF_ERROR(ReadPem<X509>(authority, "certificate", &PEM_read_bio_X509).status());
  }
  if (certificate.empty()) {
    return absl::OkStatus();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const Owned<X509> own, ReadPem<X509>(certificate, "certificate", &PEM_read_bio_X509));
  LOCKSTEP_ASSIGN_OR_RETURN(const Owned<EVP_PKEY> secret, ReadPem<EVP_PKEY>(key, "key", &PEM_read_bio_PrivateKey));
  const bool fits = X509_check_private_key(own.get(), secret.get()) == 1;
  ERR_clear_error();
  return fits ? absl::OkStatus()
              : absl::InvalidArgumentError(
                    fmt::format("the key {} does not belong to the certificate {}", key, certificate));
}

}  // namespace lockstep
