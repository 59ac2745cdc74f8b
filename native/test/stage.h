// Runs an engine and plays all its peers on one thread: the clients, the backends, and JavaScript, which takes events and
// answers. A scenario runs on it step by step. At the end Clear() checks for leaks.
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
  // strict: every step must pass. Otherwise a step may fail, and the scenario ends there.
  Stage(const StageOptions& options, bool strict);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // --- clients and backends; the stage owns the descriptors
  int Connect(int receive_buffer = 0, int segment_bytes = 0);
  int AcceptAtBackend();
  // Accepts as another holder of the listening socket.
  int AcceptAt(int listener);
  bool Send(int fd, std::string_view bytes);
  // Sends an urgent byte (MSG_OOB). The reader skips it and must receive all bytes after it.
  bool SendUrgently(int fd, char byte);
  bool Receive(int fd, std::string_view bytes);
  bool ReceiveEnd(int fd);
  bool ReceiveReset(int fd);
  // Sends a byte pattern and checks every byte. A reluctant reader starts when the writer is blocked.
  bool Transfer(int from, int to, std::size_t bytes, bool reluctant);
  // Writes until all buffers between the peers are full.
  bool Fill(int from);
  void Finish(int fd);
  void Reset(int fd);

  // --- JavaScript
  bool Asked(std::string_view bytes);
  // Reads the bytes of the last question again.
  bool StillReads(std::string_view bytes) const { return std::string_view(question_.bytes, question_.length) == bytes; }
  void AnswerMore(std::uint32_t min_bytes);
  void AnswerCandidates(const std::vector<std::uint32_t>& targets, std::string farewell = "", std::uint32_t skip = 0);
  // As above. The connection counts towards the share, which is limited to `limit` connections.
  void AnswerShared(const std::vector<std::uint32_t>& targets, const std::string& key, int limit, std::string farewell);
  // Answers with a pool. Among members with the same number of connections that were never chosen, the first is tried first.
  void AnswerPool(const std::vector<std::uint32_t>& targets, std::string farewell = "");
  void PreparePool(const std::string& name, const std::vector<std::uint32_t>& targets, std::string farewell);
  // The engine answers a plain hello for this name with this answer, without a question.
  void Prepare(const std::string& name, const std::vector<std::uint32_t>& targets, const std::string& key, int limit,
               std::string farewell);
  // PrepareNothing() drops all prepared answers. AllForgotten() is true when the engine has released every one of them.
  void PrepareNothing();
  bool AllForgotten();
  void AnswerClose(std::string alert);
  void AnswerError();
  // Answers a connection that has no open question.
  void AnswerUnasked(std::uint64_t connection, Answer answer);
  bool Ended(Outcome outcome);
  bool DialsFailed(int count);
  int WideFlows() const { return shared_->wide_flows; }
  std::uint64_t Connection() const { return question_.connection; }
  std::uint32_t Live() const { return live_; }
  // Targets: Closed() refuses connections, Deaf() never answers.
  std::uint32_t Closed() const { return closed_; }
  std::uint32_t Deaf() const { return deaf_; }
  void CloseListener(bool leave_open = false);
  // A copy of the listening socket, as the successor process gets it.
  int HandOverListener();
  // Opens and closes one more listener. Returns the errno, or 0.
  int OpenAnother();
  void AbortAll();
  void Stop();

  // Waits until the worker is idle and stops it. All events until Release() then arrive in one batch.
  bool HoldStill();
  // Waits until the worker is idle, without stopping it.
  bool Settle();
  void Sleep(int milliseconds);

  bool Passed(bool passed, const char* what);
  // Cleans up, checks for leaks, and returns the first problem, or an empty string.
  std::string Clear();

 private:
  static constexpr std::uint32_t kListener = 7;
  static std::int64_t NowMs();
  bool Await(int fd, short events, const std::function<bool()>& done);
  int Keep(int fd);
  void Forget(int fd);
  void Collect();
  void Answered(Answer answer);
  Answer PoolOf(const std::vector<std::uint32_t>& targets, std::string farewell) const;
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
