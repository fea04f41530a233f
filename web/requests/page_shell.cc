#include "web/requests/page_shell.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <string_view>

#include "platform/digest.h"
#include "platform/web/url.h"
#include "web/page/page.h"
#include "web/requests/web_errors.h"

namespace lockstep {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";

std::string PolicyHashOf(std::string_view text) {
  const Digest digest = Sha256(text);
  return absl::Base64Escape(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

// By content, so that a browser may keep it for ever.
std::string NameByContent(std::string_view text, std::string_view ending) {
  const Digest digest = Sha256(text);
  std::string name = "page-";
  for (size_t i = 0; i < 8; ++i) name += fmt::format("{:02x}", digest[i]);
  return name + std::string(ending);
}

struct PageKind {
  std::string_view name;
  std::string source;
  std::string live;  // "" = nothing to listen to
};

// The query is taken apart and written again, so that nothing else gets into the HTML.
PageKind KindOf(const WebAsked& asked) {
  switch (asked.route) {
    case WebRoute::kRunPage: {
      const std::string run = "/api/v1/runs/" + PercentEncode(asked.name);
      return {"run", run + "/page", run + "/events"};
    }
    case WebRoute::kComparePage:
      return {"compare", "/api/v1/compare" + QueryText(asked.target), ""};
    case WebRoute::kHistoryPage:
      return {"history", "/api/v1/history" + QueryText(asked.target), ""};
    default:
      return {"runs", "/api/v1/runs", ""};
  }
}

HttpResponse HtmlOf(int status, std::string html) {
  HttpResponse response;
  response.status = status;
  response.content_type = kHtml;
  response.body = std::make_shared<const HttpBody>(std::move(html));
  response.headers.push_back({"Cache-Control", "no-cache"});
  return response;
}

constexpr std::string_view kNoPages =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>lockstep</title>\n</head>\n<body>\n"
    "<h1>lockstep</h1>\n<p>This lockstep was built without pages, because node or npm was missing. Install the "
    "packages "
    "nodejs and npm and build again. The API works all the same: <code>/api/v1/openapi.json</code> describes it.</p>\n"
    "</body>\n</html>\n";

}  // namespace

PageShell::PageShell(const PageAssets* assets) : has_pages_(assets != nullptr) {
  std::string hashes_of_script;
  std::string hashes_of_style;
  if (has_pages_) {
    script_ = std::make_shared<const HttpBody>(std::string(assets->script));
    style_ = std::make_shared<const HttpBody>(std::string(assets->style));
    script_name_ = NameByContent(assets->script, ".js");
    style_name_ = NameByContent(assets->style, ".css");
    hashes_of_script = fmt::format(" 'sha256-{}'", PolicyHashOf(assets->script));
    hashes_of_style = fmt::format(" 'sha256-{}'", PolicyHashOf(assets->style));
  }
  policy_ = fmt::format(
      "default-src 'none'; script-src 'self'{}; style-src 'self'{}; img-src 'self' data: blob:; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      hashes_of_script, hashes_of_style);
}

HttpResponse PageShell::Page(const WebAsked& asked) const {
  if (!has_pages_) return HtmlOf(501, std::string(kNoPages));
  const PageKind kind = KindOf(asked);
  const std::string live =
      kind.live.empty() ? "" : fmt::format("<meta name=\"lockstep-live\" content=\"{}\">\n", EscapeHtml(kind.live));
  return HtmlOf(
      200,
      fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"lockstep-page\" content=\"{}\">\n<meta name=\"lockstep-source\" content=\"{}\">\n{}"
                  "<title>lockstep</title>\n<link rel=\"icon\" href=\"data:,\">\n"
                  "<link rel=\"stylesheet\" href=\"/assets/{}\">\n<script src=\"/assets/{}\" defer></script>\n"
                  "</head>\n<body>\n<div id=\"app\"></div>\n<main id=\"static\">\n<noscript><p>This page is drawn by "
                  "a script. Without scripts, ask the API that /api/v1/openapi.json describes, or `lockstep show`."
                  "</p></noscript>\n</main>\n</body>\n</html>\n",
                  kind.name, EscapeHtml(kind.source), live, style_name_, script_name_));
}

HttpResponse PageShell::Asset(const std::string& name) const {
  HttpResponse response;
  const bool is_script = has_pages_ && name == script_name_;
  if (!is_script && (!has_pages_ || name != style_name_)) {
    return ErrorResponse(404, "not_found", "there is no such file: it may be of another version of this program");
  }
  response.content_type = is_script ? "text/javascript; charset=utf-8" : "text/css; charset=utf-8";
  response.body = is_script ? script_ : style_;
  response.headers.push_back({"Cache-Control", "public, max-age=31536000, immutable"});
  return response;
}

}  // namespace lockstep
