// The HTML around the live pages: the same for all of them, without any data. The script fetches these from the API,
// from the place that a meta element names. Thread safe.
#pragma once

#include <memory>
#include <string>

#include "platform/web/http_message.h"
#include "web/page/assets.h"
#include "web/requests/routes.h"

namespace lockstep {

class PageShell {
 public:
  // Null: a build without pages, whose pages say so.
  explicit PageShell(const PageAssets* assets);

  // `asked` is one of the pages.
  [[nodiscard]] HttpResponse Page(const WebAsked& asked) const;
  // Script or style; 404 for any other name.
  [[nodiscard]] HttpResponse Asset(const std::string& name) const;
  // The value of Content-Security-Policy: nothing but our own script, style and API.
  [[nodiscard]] const std::string& policy() const { return policy_; }

 private:
  const bool has_pages_;
  std::string script_name_;
  std::string style_name_;
  std::shared_ptr<const HttpBody> script_;
  std::shared_ptr<const HttpBody> style_;
  std::string policy_;
};

}  // namespace lockstep
