#include "web/page/page.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include "analysis/base/check.h"
#include "analysis/base/utf8.h"
#include "platform/deflate.h"
#include "platform/digest.h"

namespace lockstep {
namespace {

std::string Base64(std::string_view bytes) { return absl::Base64Escape(absl::string_view(bytes.data(), bytes.size())); }

std::string HashForPolicy(std::string_view source) {
  const Digest digest = Sha256(source);
  return Base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string Policy(const PageAssets& assets) {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; connect-src 'none'; "
      "base-uri 'none'; form-action 'none'",
      HashForPolicy(assets.script), HashForPolicy(assets.style));
}

// Paths are written by this program, and base64 has no character that markup has.
std::string Block(std::string_view attribute, std::string_view json) {
  return fmt::format("<script type=\"application/octet-stream\" {}>{}</script>\n", attribute, Base64(DeflateRaw(json)));
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const std::string valid = RepairUtf8(text);
  for (const char c : valid) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\0':
        out += "\xEF\xBF\xBD";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ComposePage(const PageAssets& assets, const PageContent& content) {
  LOCKSTEP_CHECK(assets.script.find("</script") == std::string_view::npos);
  LOCKSTEP_CHECK(assets.style.find("</style") == std::string_view::npos);
  std::string sentences;
  for (const std::string& sentence : content.headline) sentences += fmt::format("<p>{}</p>\n", EscapeHtml(sentence));
  const std::string title = EscapeHtml(content.title);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<title>{} - lockstep</title>\n<style>",
      Policy(assets), title);
  page += assets.style;
  page += fmt::format(
      "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n<main "
      "id=\"static\">\n<h1>{}</h1>\n{}<pre>{}</pre>\n</main>\n",
      title, sentences, EscapeHtml(content.text));
  page += Block("id=\"lockstep-data\"", content.data.first);
  page += "<script>";
  page += assets.script;
  page += "</script>\n";
  for (const PagePart& part : content.data.later) page += Block(fmt::format("data-path=\"{}\"", part.path), part.json);
  page += "</body>\n</html>\n";
  return page;
}

}  // namespace lockstep
