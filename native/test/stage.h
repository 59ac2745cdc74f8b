// An engine with everything around it on one thread: the clients, the backends, and JavaScript, whose part is to take events and
// to answer. A scenario plays on it step by step; at the end the stage is cleared and looked at for what was left behind.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace isthmus {

struct StageOptions {
  ListenerMode mode = ListenerMode::kHello;
  std::int64_t hello_timeout_ms = 2'000;
  std::int64_t connect_timeout_ms = 2'000;
  std::int64_t linger_ms = 2'000;
  std::size_t max_pipes = 8;
  std::size_t max_waiting_events = 4096;
};

class Stage {
 public:
  // Strict: every step has to pass. Else it may not, and the scenario ends there.
  Stage(const StageOptions& options, bool strict);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // --- clients and backends; descriptors belong to the stage
  int Connect(int receive_buffer = 0);
  int AcceptAtBackend();
  // By whoever else holds the listening socket.
  int AcceptAt(int listener);
  bool Say(int fd, std::string_view bytes);
  // Urgent (MSG_OOB): to be skipped by who reads, and by nothing behind it.
  bool SayUrgently(int fd, char byte);
  bool Hear(int fd, std::string_view bytes);
  bool HearEnd(int fd);
  bool HearReset(int fd);
  // Bytes in a pattern, checked one by one; a reluctant reader begins when the writer can go no further.
  bool Transfer(int from, int to, std::size_t bytes, bool reluctant);
  // Writes until nothing more is taken.
  bool Fill(int from);
  void Finish(int fd);
  void Reset(int fd);

  // --- JavaScript
  bool Asked(std::string_view bytes);
  // The bytes of the last question, read once more.
  bool StillReads(std::string_view bytes) const { return std::string_view(question_.bytes, question_.length) == bytes; }
  void AnswerMore(std::uint32_t min_bytes);
  void AnswerCandidates(const std::vector<std::uint32_t>& targets, std::string farewell = "", std::uint32_t skip = 0);
  // As above, counted among the share, of which there may be so many.
  void AnswerShared(const std::vector<std::uint32_t>& targets, const std::string& key, int limit, std::string farewell);
  // Equals: of several that have as many connections the first comes first, when none was ever chosen.
  void AnswerEquals(const std::vector<std::uint32_t>& targets, std::string farewell = "");
  void PrepareEquals(const std::string& name, const std::vector<std::uint32_t>& targets, std::string farewell);
  // From now on a plain hello for this name is answered so, unasked.
  void Prepare(const std::string& name, const std::vector<std::uint32_t>& targets, const std::string& key, int limit,
               std::string farewell);
  // Nothing is prepared any more, for the listener; and nothing of what was is known by anybody.
  void PrepareNothing();
  bool AllForgotten();
  void AnswerPart(std::string alert);
  void AnswerError();
  // For a connection that did not ask, or no more.
  void AnswerUnasked(std::uint64_t connection, Answer answer);
  bool Ended(Outcome outcome);
  bool DialsFailed(int count);
  std::uint64_t Connection() const { return question_.connection; }
  std::uint32_t Live() const { return live_; }
  // Refuses, and never answers respectively.
  std::uint32_t Closed() const { return closed_; }
  std::uint32_t Deaf() const { return deaf_; }
  void CloseListener(bool leave_open = false);
  // The listening socket, as another process has it that it is handed over to.
  int HandOverListener();
  // One more listener, opened and closed; the error that it met.
  int OpenAnother();
  void AbortAll();
  void Stop();

  // The worker has done all that there was to do and stands still; what happens until Release() comes in one batch.
  bool HoldStill();
  // The same without the standing.
  bool Settle();
  void Sleep(int milliseconds);

  bool Passed(bool passed, const char* what);
  // What is wrong, if anything.
  std::string Clear();

 private:
  static constexpr std::uint32_t kListener = 7;
  static std::int64_t NowMs();
  bool Await(int fd, short events, const std::function<bool()>& done);
  int Keep(int fd);
  void Forget(int fd);
  void Collect();
  void Answered(Answer answer);
  Answer EqualsOf(const std::vector<std::uint32_t>& targets, std::string farewell) const;
  void PrepareOne(const std::string& name, Answer answer);
  Answer CandidatesOf(const std::vector<std::uint32_t>& targets, std::string farewell) const;
  bool AllOver() const;
  std::uint32_t AddTarget(int port);

  const bool strict_;
  const std::size_t descriptors_before_;
  UniqueFd bell_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Engine> engine_;
  UniqueFd backend_;
  UniqueFd deaf_listener_;
  std::set<int> kept_;
  int port_ = 0;
  std::uint32_t live_ = 0;
  std::uint32_t closed_ = 0;
  std::set<std::uint32_t> tags_;
  std::uint32_t deaf_ = 0;
  std::vector<std::shared_ptr<Target>> targets_;

  std::vector<Event> questions_;
  Event question_{Event::Kind::kQuestion};
  std::vector<Event> ended_;
  int clients_ = 0;
  int dials_failed_ = 0;
  bool over_ = false;
  bool stopped_ = false;
  std::string problem_;
};

}  // namespace isthmus
