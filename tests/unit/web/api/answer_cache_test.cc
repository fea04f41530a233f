#include "web/api/answer_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "platform/clock.h"

namespace lockstep {
namespace {

MadeAnswer AskAndWait(AnswerCache& cache, const std::string& key, std::function<absl::StatusOr<std::string>()> make) {
  std::promise<MadeAnswer> made;
  cache.Ask(key, std::move(make), [&](const MadeAnswer& answer) { made.set_value(answer); });
  return made.get_future().get();
}

TEST(AnswerCache, MakesAnAnswerOnceForAllWhoAskMeanwhileAndAfterwards) {
  AnswerCache cache;
  std::promise<void> go_on;
  const std::shared_future<void> may = go_on.get_future().share();
  std::atomic<int> made{0};
  const auto make = [&]() -> absl::StatusOr<std::string> {
    may.wait();
    ++made;
    return "answer";
  };
  constexpr int kAskers = 20;
  std::atomic<int> right{0};
  std::atomic<int> answered{0};
  std::promise<void> all;
  for (int i = 0; i < kAskers; ++i) {
    cache.Ask("key", make, [&](const MadeAnswer& answer) {
      if (answer.ok() && (*answer)->bytes() == "answer") ++right;
      if (++answered == kAskers) all.set_value();
    });
  }
  go_on.set_value();
  all.get_future().wait();
  EXPECT_EQ((*AskAndWait(cache, "key", make))->bytes(), "answer");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(right, kAskers);
}

TEST(AnswerCache, ErrorsReachAllAndAreNotKept) {
  AnswerCache cache;
  EXPECT_TRUE(absl::IsNotFound(AskAndWait(cache, "key", [] { return absl::NotFoundError("no"); }).status()));
  EXPECT_TRUE(AskAndWait(cache, "key", [] { return "yes"; }).ok());
}

TEST(AnswerCache, KeepsNoMoreThanItsBytesAndForgetsTheLongestUnaskedFirst) {
  AnswerCache cache({.most_kept_bytes = 1000});
  int made = 0;
  const auto ask = [&](const std::string& key) {
    const MadeAnswer answer = AskAndWait(cache, key, [&] {
      ++made;
      return std::string(400, key.front());
    });
    EXPECT_EQ((*answer)->bytes(), std::string(400, key.front()));
  };
  for (const char* key : {"a", "b", "a", "c", "a"}) ask(key);  // c pushes b out
  EXPECT_EQ(made, 3);
  ask("b");
  EXPECT_EQ(made, 4);
}

TEST(AnswerCache, MakesNoMoreWhileSlowReadersHoldTooMuch) {
  AnswerCache cache({.most_kept_bytes = 0, .most_living_bytes = 1000});
  const auto make = [] { return std::string(2000, 'x'); };
  MadeAnswer held = AskAndWait(cache, "a", make);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(AskAndWait(cache, "b", make).status()));
  held = absl::UnknownError("let go");
  // The thread that made it lets it go a moment after it answered.
  const int64_t end = SystemClock().MonotonicNs() + int64_t{60'000'000'000};
  while (absl::IsResourceExhausted(AskAndWait(cache, "b", make).status()) && SystemClock().MonotonicNs() < end) {
    std::this_thread::yield();
  }
  EXPECT_LT(SystemClock().MonotonicNs(), end);
}

TEST(AnswerCache, AStoppedOneAnswersEveryAsker) {
  AnswerCache cache({.threads = 1});
  std::promise<void> begun;
  std::promise<void> go_on;
  std::vector<std::future<MadeAnswer>> answers;
  const auto ask = [&](const std::string& key, std::function<absl::StatusOr<std::string>()> make) {
    auto made = std::make_shared<std::promise<MadeAnswer>>();
    answers.push_back(made->get_future());
    cache.Ask(key, std::move(make), [made](const MadeAnswer& answer) { made->set_value(answer); });
  };
  ask("slow", [&]() -> absl::StatusOr<std::string> {
    begun.set_value();
    go_on.get_future().wait();
    return "slow";
  });
  begun.get_future().wait();
  ask("waiting", []() -> absl::StatusOr<std::string> { return "perhaps"; });
  std::thread stopping([&] { cache.Stop(); });
  go_on.set_value();
  stopping.join();
  EXPECT_TRUE(answers[0].get().ok());
  const MadeAnswer waited = answers[1].get();  // made or not, as it came
  EXPECT_TRUE(waited.ok() || absl::IsUnavailable(waited.status())) << waited.status();
  ask("late", []() -> absl::StatusOr<std::string> { return "x"; });
  EXPECT_TRUE(absl::IsUnavailable(answers[2].get().status()));
}

}  // namespace
}  // namespace lockstep
