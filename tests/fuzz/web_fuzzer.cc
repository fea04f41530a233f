// Any bytes as what a browser sends: the target of a request, and the headers that the server reads itself.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/base/check.h"
#include "analysis/report/json.h"
#include "platform/web/http_message.h"
#include "web/requests/page_shell.h"
#include "web/requests/routes.h"
#include "web/requests/web_errors.h"

namespace lockstep {
namespace {

// What a person sent is in a page only where it is encoded.
void CheckPage(const WebAsked& asked) {
  static const PageAssets kAssets{"run()", "body{}"};
  static const PageShell kShell(&kAssets);
  const std::string plain = kShell.Page({}).body->bytes();
  const auto count = [](std::string_view text, char c) {
    size_t found = 0;
    for (const char each : text) found += each == c ? 1 : 0;
    return found;
  };
  const size_t metas = asked.route == WebRoute::kRunPage ? 1 : 0;  // of the events
  const std::string page = kShell.Page(asked).body->bytes();
  LOCKSTEP_CHECK(count(page, '<') == count(plain, '<') + metas && count(page, '>') == count(plain, '>') + metas);
  LOCKSTEP_CHECK(count(page, '"') == count(plain, '"') + 4 * metas);
}

void CheckTarget(std::string_view text) {
  const auto asked = RouteOf(text);
  if (!asked.ok()) {
    const HttpResponse response = ErrorResponse(asked.status());
    LOCKSTEP_CHECK(response.status == 400 || response.status == 404);
    LOCKSTEP_CHECK(!Json::parse(response.body->bytes(), nullptr, false).is_discarded());
    return;
  }
  const auto again = ParseTarget("/" + PercentEncode(asked->name) + QueryText(asked->target));
  LOCKSTEP_CHECK(again && again->parameters == asked->target.parameters);
  LOCKSTEP_CHECK(asked->name.empty() || again->segments == std::vector<std::string>{asked->name});
  const bool is_page = asked->route == WebRoute::kRunsPage || asked->route == WebRoute::kRunPage ||
                       asked->route == WebRoute::kComparePage || asked->route == WebRoute::kHistoryPage;
  if (is_page) CheckPage(*asked);
}

void CheckHeaders(std::string_view text) {
  const std::string host = HostOf(text);
  LOCKSTEP_CHECK(host.find_first_of("]/@") == std::string::npos || text.find('[') != std::string_view::npos);
  LOCKSTEP_CHECK(CookieValue(text, "lockstep").size() <= text.size());
  (void)AcceptsGzip(text);
  LOCKSTEP_CHECK(NamesTag("*", text));
  (void)NamesTag(text, "W/\"a\"");
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  lockstep::CheckTarget(text);
  lockstep::CheckHeaders(text);
  return 0;
}
