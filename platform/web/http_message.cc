#include "platform/web/http_message.h"

#include <algorithm>
#include <array>

#include "platform/deflate.h"
#include "platform/digest.h"

namespace lockstep {
namespace {

constexpr size_t kLeastToCompress = 1024;  // bytes; less fits into one packet in any case
constexpr size_t kTagBytes = 12;           // of the digest: 96 bits do not collide by chance
constexpr std::string_view kSpaces = " \t";

std::string_view Trim(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(first);
  const size_t last = text.find_last_not_of(kSpaces);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The part before the separator; the rest stays in `text`.
std::string_view CutPart(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return Trim(part);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// "0", "0.0", "0.000".
bool IsZeroWeight(std::string_view parameter) {
  if (!parameter.starts_with("q=0")) return false;
  return parameter.substr(3).find_first_not_of(".0") == std::string_view::npos;
}

bool IsPort(std::string_view text) {
  return text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

HttpBody::HttpBody(std::string bytes) : bytes_(std::move(bytes)) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  const Digest digest = Sha256(bytes_);
  etag_ = "W/\"";  // weak: the same for the bytes and for their gzip
  for (size_t i = 0; i < kTagBytes; ++i) {
    etag_ += kHexDigits[digest[i] >> 4];
    etag_ += kHexDigits[digest[i] & 15];
  }
  etag_ += '"';
  if (bytes_.size() < kLeastToCompress) return;
  gzip_ = Gzip(bytes_);
  if (gzip_.size() >= bytes_.size()) gzip_.clear();
}

std::string_view StatusText(int status) {
  struct Named {
    int status;
    std::string_view text;
  };
  constexpr std::array kTexts = {Named{200, "OK"},
                                 Named{204, "No Content"},
                                 Named{304, "Not Modified"},
                                 Named{400, "Bad Request"},
                                 Named{401, "Unauthorized"},
                                 Named{403, "Forbidden"},
                                 Named{404, "Not Found"},
                                 Named{405, "Method Not Allowed"},
                                 Named{408, "Request Timeout"},
                                 Named{409, "Conflict"},
                                 Named{414, "URI Too Long"},
                                 Named{421, "Misdirected Request"},
                                 Named{429, "Too Many Requests"},
                                 Named{431, "Request Header Fields Too Large"},
                                 Named{500, "Internal Server Error"},
                                 Named{501, "Not Implemented"},
                                 Named{502, "Bad Gateway"},
                                 Named{503, "Service Unavailable"},
                                 Named{505, "HTTP Version Not Supported"}};
  const auto* const found =
      std::find_if(kTexts.begin(), kTexts.end(), [&](const Named& named) { return named.status == status; });
  return found == kTexts.end() ? "Unknown" : found->text;
}

bool AcceptsGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    std::string_view coding = CutPart(accept_encoding, ',');
    const std::string name = Lower(CutPart(coding, ';'));
    if (name != "gzip" && name != "x-gzip" && name != "*") continue;
    return !IsZeroWeight(Trim(coding));
  }
  return false;
}

bool NamesTag(std::string_view if_none_match, std::string_view etag) {
  const auto strong = [](std::string_view tag) { return tag.starts_with("W/") ? tag.substr(2) : tag; };
  while (!if_none_match.empty()) {
    const std::string_view tag = CutPart(if_none_match, ',');
    if (tag == "*" || strong(tag) == strong(etag)) return true;
  }
  return false;
}

std::string_view CookieValue(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::string_view cookie = CutPart(cookies, ';');
    const size_t equals = std::min(cookie.find('='), cookie.size());
    if (cookie.substr(0, equals) == name && equals < cookie.size()) return cookie.substr(equals + 1);
  }
  return {};
}

std::string HostOf(std::string_view header) {
  header = Trim(header);
  if (header.starts_with('[')) {
    const size_t end = header.find(']');
    if (end == std::string_view::npos) return "";
    const std::string_view rest = header.substr(end + 1);
    return rest.empty() || (rest.starts_with(':') && IsPort(rest.substr(1))) ? Lower(header.substr(1, end - 1)) : "";
  }
  if (header.find_first_of("[]/@") != std::string_view::npos) return "";  // no name of a host
  const size_t colon = std::min(header.find(':'), header.size());
  if (colon < header.size() && !IsPort(header.substr(colon + 1))) return "";
  std::string host = Lower(header.substr(0, colon));
  if (host.ends_with('.')) host.pop_back();  // the same name, fully qualified
  return host;
}

}  // namespace lockstep
