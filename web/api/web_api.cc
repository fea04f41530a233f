#include "web/api/web_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "platform/web/url.h"
#include "web/answers/page_answers.h"
#include "web/api/openapi.h"
#include "web/requests/web_errors.h"

namespace lockstep {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr size_t kLookupThreads = 2;

HttpResponse JsonOf(std::shared_ptr<const HttpBody> body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body = std::move(body);
  response.headers.push_back({"Cache-Control", "no-store"});
  return response;
}

// What an aggregator says of the token of this server is no answer to who asks here.
absl::Status OfServer(const absl::Status& status) {
  if (!absl::IsUnauthenticated(status) && !absl::IsPermissionDenied(status)) return status;
  return absl::UnavailableError(
      fmt::format("the aggregator refuses the token of this server: {}", std::string(status.message())));
}

// Those runs of another one's that the asker may read.
class AllowedRuns : public RunAnswers {
 public:
  AllowedRuns(const RunAnswers& all, std::function<bool(const std::string&)> may) : all_(all), may_(std::move(may)) {}
  [[nodiscard]] absl::StatusOr<std::vector<RunInfo>> Runs() const override {
    absl::StatusOr<std::vector<RunInfo>> runs = all_.Runs();
    if (!runs.ok()) return OfServer(runs.status());
    std::erase_if(*runs, [&](const RunInfo& run) { return !may_(run.name); });
    return runs;
  }
  [[nodiscard]] absl::StatusOr<std::string> ViewsText(const std::string& run,
                                                      const AnalysisOptions& options) const override {
    absl::StatusOr<std::string> text = all_.ViewsText(run, options);
    if (!text.ok()) return OfServer(text.status());
    return text;
  }

 private:
  const RunAnswers& all_;
  const std::function<bool(const std::string&)> may_;
};

std::vector<std::string> ValuesOf(const UrlTarget& target, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : target.parameters) {
    if (key == name) values.push_back(value);
  }
  return values;
}

// "a,b" and repeated parameters.
std::vector<std::string> ListOf(const UrlTarget& target, std::string_view name) {
  std::vector<std::string> list;
  for (const std::string& value : ValuesOf(target, name)) {
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      if (comma > 0) list.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return list;
}

absl::StatusOr<compare::RunContext> ContextOf(const UrlTarget& target) {
  compare::RunContext context;
  for (const std::string& pair : ListOf(target, "context")) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError("context is KEY=VALUE; it may come several times");
    }
    context[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return context;
}

AnalysisOptions ReportOptions(const UrlTarget& target) {
  AnalysisOptions options;
  for (const std::string& view : ListOf(target, "view")) {
    if (view == "all") {
      options.views = AllViews();
      return options;
    }
    options.views.push_back(view);
  }
  if (options.views.empty()) options.views = {"summary"};
  return options;
}

// What an answer about several runs depends on: the runs that the asker sees, and their versions.
std::string VersionOfAll(const std::vector<RunInfo>& runs) {
  std::string all;
  for (const RunInfo& run : runs) all += fmt::format("{}={};", PercentEncode(run.name), VersionOf(run));
  const Digest digest = Sha256(all);
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

using MakeAnswer = std::function<absl::StatusOr<std::string>()>;

struct Question {
  std::string key;
  MakeAnswer make;
};

// Each part encoded, so that no two lists make the same text.
std::string KeyText(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += " " + PercentEncode(part);
  return text;
}

Question CompareQuestion(const UrlTarget& target, const std::vector<RunInfo>& runs,
                         const std::shared_ptr<const AllowedRuns>& answers) {
  const std::vector<std::string> base = ValuesOf(target, "base");
  const std::vector<std::string> fresh = ValuesOf(target, "new");
  return {fmt::format("compare{} to{} of {}", KeyText(base), KeyText(fresh), VersionOfAll(runs)),
          [answers, base, fresh] { return ComparePageJson(*answers, base, fresh); }};
}

absl::StatusOr<Question> HistoryQuestion(const UrlTarget& target, const std::vector<RunInfo>& runs,
                                         const std::shared_ptr<const AllowedRuns>& answers) {
  LOCKSTEP_ASSIGN_OR_RETURN(const compare::RunContext context, ContextOf(target));
  const std::string* const named = target.Find("metric");
  const std::string metric = named == nullptr ? "step_time" : *named;
  std::vector<std::string> parts = {metric};
  for (const auto& [key, value] : context) parts.insert(parts.end(), {key, value});
  return Question{fmt::format("history{} of {}", KeyText(parts), VersionOfAll(runs)),
                  [answers, metric, context] { return HistoryJson(*answers, metric, context); }};
}

// How the data of a route are made. `answers` holds the runs that the asker may read.
absl::StatusOr<Question> QuestionOf(const WebAsked& asked, const std::vector<RunInfo>& runs,
                                    const std::shared_ptr<const AllowedRuns>& answers) {
  if (asked.route == WebRoute::kCompare) return CompareQuestion(asked.target, runs, answers);
  if (asked.route == WebRoute::kHistory) return HistoryQuestion(asked.target, runs, answers);
  const std::string& name = asked.name;
  const auto run = std::find_if(runs.begin(), runs.end(), [&](const RunInfo& info) { return info.name == name; });
  if (run == runs.end()) return absl::NotFoundError(fmt::format("there is no run '{}'", name));
  if (asked.route == WebRoute::kReport) {
    const AnalysisOptions options = ReportOptions(asked.target);
    return Question{fmt::format("report{}{} of {}", KeyText({name}), KeyText(options.views), VersionOf(*run)),
                    [answers, name, options] { return answers->ViewsText(name, options); }};
  }
  return Question{fmt::format("page{} of {}", KeyText({name}), VersionOf(*run)),
                  [answers, name] { return RunPageJson(*answers, name); }};
}

bool IsPage(WebRoute route) {
  return route == WebRoute::kRunsPage || route == WebRoute::kRunPage || route == WebRoute::kComparePage ||
         route == WebRoute::kHistoryPage;
}

}  // namespace

WebApi::WebApi(const RunAnswers& answers, WebAccess* access, const WebApiOptions& options)
    : answers_(answers),
      access_(access),
      options_(options),
      shell_(options.assets),
      hosts_{"localhost", "127.0.0.1", "::1"},
      cache_(options.cache),
      watch_(answers),
      lookups_(std::make_unique<TaskThreads>(kLookupThreads)) {
  for (const std::string& host : options.hosts) {
    if (std::string name = HostOf(host); !name.empty()) hosts_.insert(std::move(name));
  }
}

WebApi::~WebApi() { Stop(); }

void WebApi::Stop() {
  if (stopped_.exchange(true)) return;
  watch_.Stop();
  cache_.Stop();
  lookups_ = nullptr;
  const MutexLock lock(waiting_mutex_);
  waiting_.clear();
}

std::vector<HttpHeader> WebApi::Headers() const {
  return {{"Content-Security-Policy", shell_.policy()},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

void WebApi::Handle(const HttpRequest& request, const HttpResponder& responder) {
  if (!IsOurHost(request)) {
    return responder(ErrorResponse(
        421, "host",
        "this server is not called by that name: use its address, localhost, or a name given with --web-name"));
  }
  const absl::StatusOr<WebAsked> asked = RouteOf(request.target);
  if (!asked.ok()) return responder(ErrorResponse(asked.status()));
  if (IsPage(asked->route)) return responder(shell_.Page(*asked));
  if (asked->route == WebRoute::kAsset) return responder(shell_.Asset(asked->name));
  if (asked->route == WebRoute::kOpenApi) {
    static const auto kBody = std::make_shared<const HttpBody>(OpenApiText());
    return responder(JsonOf(kBody));
  }
  if (asked->route == WebRoute::kLogin) return responder(LogIn(request));
  if (asked->route == WebRoute::kLogout) return responder(LogOut(request));
  Serve(request, *asked, responder);
}

bool WebApi::IsOurHost(const HttpRequest& request) const {
  const std::string host = HostOf(request.host);
  return !host.empty() && (hosts_.contains(host) || host == request.local_ip);
}

absl::StatusOr<WebApi::Asker> WebApi::AskerOf(const HttpRequest& request) const {
  if (access_ == nullptr) return Asker();
  if (!request.authorization.empty()) {
    const std::string_view header = request.authorization;
    if (!header.starts_with(kScheme)) {
      return absl::UnauthenticatedError("the Authorization header is not 'Bearer TOKEN'");
    }
    return Asker{.judged = true, .token = Sha256(header.substr(kScheme.size()))};
  }
  const std::string_view cookie = CookieValue(request.cookie, CookieName(request));
  if (!cookie.empty()) {
    if (const std::optional<Digest> token = sessions_.Find(cookie)) return Asker{.judged = true, .token = *token};
  }
  return absl::UnauthenticatedError("a token is needed: send 'Authorization: Bearer TOKEN', or log in on the page");
}

absl::Status WebApi::MayRead(const Asker& asker, std::optional<std::string_view> run) const {
  return asker.judged ? access_->MayRead(asker.token, run) : absl::OkStatus();
}

HttpResponse WebApi::LogIn(const HttpRequest& request) {
  if (access_ == nullptr) return {.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  if (request.authorization.empty()) {
    return ErrorResponse(absl::UnauthenticatedError("send the token as 'Authorization: Bearer TOKEN'"));
  }
  const absl::StatusOr<Asker> asker = AskerOf(request);
  if (!asker.ok()) return ErrorResponse(asker.status());
  if (const absl::Status may = MayRead(*asker, std::nullopt); !may.ok()) return ErrorResponse(may);
  HttpResponse response{.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  response.headers.push_back(
      {"Set-Cookie", CookieOf(request, sessions_.Begin(asker->token), SessionTable::kLifetimeS)});
  return response;
}

HttpResponse WebApi::LogOut(const HttpRequest& request) {
  sessions_.End(CookieValue(request.cookie, CookieName(request)));
  HttpResponse response{.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  response.headers.push_back({"Set-Cookie", CookieOf(request, "", 0)});
  return response;
}

// Cookies do not know ports, so that two servers of one machine need two names. The prefix makes browsers refuse the
// cookie from anyone but this host over TLS.
std::string WebApi::CookieName(const HttpRequest& request) const {
  const size_t colon = request.host.rfind(':');
  std::string port = colon == std::string::npos ? "" : "-" + request.host.substr(colon + 1);
  if (!std::all_of(port.begin(), port.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9'); })) port.clear();
  return (options_.secure ? "__Host-lockstep" : "lockstep") + port;
}

std::string WebApi::CookieOf(const HttpRequest& request, std::string_view value, int64_t lifetime_s) const {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", CookieName(request), value, lifetime_s,
                     options_.secure ? "; Secure" : "");
}

void WebApi::Serve(const HttpRequest& request, const WebAsked& asked, const HttpResponder& responder) {
  const absl::StatusOr<Asker> asker = AskerOf(request);
  if (!asker.ok()) return responder(ErrorResponse(asker.status()));
  std::optional<std::string_view> run;
  const bool of_run =
      asked.route == WebRoute::kRunData || asked.route == WebRoute::kReport || asked.route == WebRoute::kEvents;
  if (of_run) run = asked.name;
  if (const absl::Status may = MayRead(*asker, run); !may.ok()) return responder(ErrorResponse(may));
  if (asked.route == WebRoute::kEvents) return FollowRun(*asker, asked.name, responder);
  if (stopped_) return responder(ErrorResponse(absl::UnavailableError("the server is going down")));
  Await({.asker = *asker, .asked = asked, .responder = responder});
}

void WebApi::Await(Waiting waiting) {
  const MutexLock lock(waiting_mutex_);
  waiting_.push_back(std::move(waiting));
  if (waiting_.size() == 1) lookups_->Post([this] { AnswerWaiting(); });
}

void WebApi::AnswerWaiting() {
  if (stopped_) return;
  std::vector<Waiting> all;
  {
    const MutexLock lock(waiting_mutex_);
    all.swap(waiting_);
  }
  const absl::StatusOr<std::vector<RunInfo>> runs = answers_.Runs();
  for (const Waiting& waiting : all) {
    if (runs.ok()) {
      AnswerData(waiting, *runs);
    } else {
      waiting.responder(ErrorResponse(OfServer(runs.status())));
    }
  }
}

void WebApi::FollowRun(const Asker& asker, const std::string& run, const HttpResponder& responder) {
  auto stream = std::make_shared<EventStream>();
  watch_.Follow(
      run, [this, asker, run] { return MayRead(asker, run).ok(); }, stream);
  responder(std::move(stream));
}

void WebApi::AnswerData(const Waiting& waiting, std::vector<RunInfo> runs) {
  const HttpResponder& responder = waiting.responder;
  const auto may = [this, asker = waiting.asker](const std::string& run) { return MayRead(asker, run).ok(); };
  std::erase_if(runs, [&](const RunInfo& run) { return !may(run.name); });
  if (waiting.asked.route == WebRoute::kRuns) {
    return responder(JsonOf(std::make_shared<const HttpBody>(RunsJson(runs))));
  }
  const auto answers = std::make_shared<const AllowedRuns>(answers_, may);
  absl::StatusOr<Question> question = QuestionOf(waiting.asked, runs, answers);
  if (!question.ok()) return responder(ErrorResponse(question.status()));
  cache_.Ask(question->key, std::move(question->make), [responder](const MadeAnswer& made) {
    responder(made.ok() ? JsonOf(*made) : ErrorResponse(made.status()));
  });
}

}  // namespace lockstep
