// The pages and the read-only API behind them, as a handler for the HTTP server. It decides who may ask, what is asked
// for, and who makes the answer; docs/openapi.json describes it.
//
// A request is judged in this order: its Host header (against DNS rebinding: a page of somebody else's that resolves
// its own name to this machine), its target, its token, and then the run it asks about. Thread safe; nothing waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/mutex.h"
#include "platform/task_threads.h"
#include "platform/web/http_message.h"
#include "web/answers/run_answers.h"
#include "web/api/answer_cache.h"
#include "web/api/run_watch.h"
#include "web/api/sessions.h"
#include "web/api/web_access.h"
#include "web/page/assets.h"
#include "web/requests/page_shell.h"
#include "web/requests/routes.h"

namespace lockstep {

struct WebApiOptions {
  std::vector<std::string> hosts;      // by which the server may be called, with those of every server
  bool secure = false;                 // TLS: the cookie is for TLS only
  const PageAssets* assets = nullptr;  // null: no pages, the API alone
  AnswerCacheOptions cache;
};

class WebApi {
 public:
  // Both must outlive this. Null access: everybody may read everything.
  WebApi(const RunAnswers& answers, WebAccess* access, const WebApiOptions& options);
  ~WebApi();

  void Handle(const HttpRequest& request, const HttpResponder& responder);
  // Headers of every answer.
  [[nodiscard]] std::vector<HttpHeader> Headers() const;
  // Ends the streams and what is being made. Handle is not called any more by then.
  void Stop();

 private:
  // Who asks.
  struct Asker {
    bool judged = false;  // there is an access, and it knows the token
    Digest token{};
  };

  // A question about data that waits to be looked up.
  struct Waiting {
    Asker asker;
    WebAsked asked;
    HttpResponder responder;
  };

  [[nodiscard]] bool IsOurHost(const HttpRequest& request) const;
  [[nodiscard]] absl::StatusOr<Asker> AskerOf(const HttpRequest& request) const;
  [[nodiscard]] absl::Status MayRead(const Asker& asker, std::optional<std::string_view> run) const;
  void Serve(const HttpRequest& request, const WebAsked& asked, const HttpResponder& responder);
  [[nodiscard]] HttpResponse LogIn(const HttpRequest& request);
  [[nodiscard]] HttpResponse LogOut(const HttpRequest& request);
  [[nodiscard]] std::string CookieName(const HttpRequest& request) const;
  [[nodiscard]] std::string CookieOf(const HttpRequest& request, std::string_view value, int64_t lifetime_s) const;
  void FollowRun(const Asker& asker, const std::string& run, const HttpResponder& responder);
  void Await(Waiting waiting) LOCKSTEP_EXCLUDES(waiting_mutex_);
  // All that wait at this moment, by one look at the runs: after a change of a run its pages come all at once.
  void AnswerWaiting() LOCKSTEP_EXCLUDES(waiting_mutex_);
  void AnswerData(const Waiting& waiting, std::vector<RunInfo> runs);

  const RunAnswers& answers_;
  WebAccess* const access_;
  const WebApiOptions options_;
  const PageShell shell_;
  std::set<std::string> hosts_;
  SessionTable sessions_;
  AnswerCache cache_;
  RunWatch watch_;
  std::atomic<bool> stopped_{false};
  Mutex waiting_mutex_;
  std::vector<Waiting> waiting_ LOCKSTEP_GUARDED_BY(waiting_mutex_);
  std::unique_ptr<TaskThreads> lookups_;
};

}  // namespace lockstep
