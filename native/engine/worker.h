// One thread of the engine: an epoll loop that owns its connections. While the loop runs, other threads call only Post(), Wake(),
// WatchListener() and Join(). worker.cc has the loop. The stages of a connection are in accept.cc, hello.cc, dial.cc and relay.cc. Its end
// is in farewell.cc and reset.cc. evict.cc frees slots and memory for new clients.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/connection.h"
#include "engine/resources/pipe_pool.h"
#include "engine/shared.h"
#include "engine/resources/source_queue.h"
#include "sys/netns_scope.h"

namespace isthmus {

class Worker {
 public:
  // Does not throw. Error() is set when the worker cannot run.
  Worker(std::uint32_t index, Shared& shared);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::optional<SysError>& Error() const { return error_; }
  void Start();
  // Runs on the caller's thread, so that the caller gets the error. The listener must exist until the worker has handled kRemoveListener.
  std::optional<SysError> WatchListener(const ListenerSocket& listener);
  // With `wake` false the command waits for the next wake-up, so that all answers of one batch share one wake-up.
  void Post(Command command, bool wake);
  void Wake();
  void Join();

 private:
  // worker.cc
  void Run();
  void HandleSide(Side& side, std::uint32_t events);
  void HandleCommands();
  void HandleTimers();
  void HandleBacklog();
  int EpollTimeoutMs() const;
  void Arm(Side& side, std::uint32_t events);
  // False when the kernel has no memory for it: epoll would never report this socket.
  [[nodiscard]] bool Watch(Side& side, std::uint32_t events);
  void Close(Side& side);
  Connection* Find(ConnectionId id);
  void End(Connection& connection, Outcome outcome, bool reset);
  void Bury(Connection& connection);
  void FreeDead();
  void AbortAll(Outcome outcome);
  void Report(Event event);
  void SendOutbox();
  void Abort(Connection& connection, Outcome outcome);

  // accept.cc
  void ListenerReady(const ListenerSocket& listener);
  void AcceptFrom(const ListenerSocket& listener);
  void Adopt(const ListenerSocket& listener, UniqueFd client, const sockaddr_in6& peer);
  void RemoveListener(std::shared_ptr<ListenerSocket> listener);
  void ForgetRetired();
  void Refuse(const ListenerSocket& listener, UniqueFd client, const sockaddr_in6& peer, Outcome outcome);
  // Closes the spare descriptor, accepts once more and returns the result of that accept.
  long RefuseWithoutDescriptor(const ListenerSocket& listener);
  void TakeSpare();
  void Pause(const ListenerSocket& listener);
  void ResumeAccepting();

  // evict.cc
  void BeginUnserved(Connection& connection);
  void EndUnserved(Connection& connection);
  bool TakeSlot();
  bool EvictOne();
  bool GrowHello(Connection& connection);
  void NoteLargeHello(Connection& connection);
  Worker* FullestOther(std::atomic<std::size_t> Worker::* count) const;
  bool Evict(Connection* connection);

  // hello.cc
  void ReadHello(Connection& connection);
  bool Decide(Connection& connection);
  const PreparedTable* TableOf(std::uint32_t listener);
  void TakeTables();
  void Prepare(const ListenerSocket& listener, std::shared_ptr<const PreparedTable> table);
  void Ask(Connection& connection);
  void HandleAnswer(Connection& connection, Answer answer);

  // dial.cc
  void TakeCandidates(Connection& connection, std::shared_ptr<const Answer> answer);
  void DialNext(Connection& connection);
  void Choose(Connection& connection);
  static void Uncount(Connection& connection);
  void DialFailed(Connection& connection, const SysError& error);
  void BackendReady(Connection& connection, std::uint32_t events);
  void Connected(Connection& connection, std::uint32_t sent_bytes);
  void ContinueNextTurn(Connection& connection);  // in relay.cc
  void StopDialling(Connection& connection);
  std::optional<Outcome> EnterShare(Connection& connection, const Answer& answer);
  void LeaveShare(Connection& connection);
  void AbortFallenDials();

  // relay.cc and reset.cc
  void Relay(Connection& connection);
  void Pump(Connection& connection, Flow& flow, Side& from, Side& to);
  bool Flush(Connection& connection, Flow& flow, Side& from, Side& to);
  long MoveOnce(Flow& flow, Side& from, Side& to);
  long MoveBySplice(Flow& flow, Side& from, Side& to);
  void Spill(Flow& flow, const char* bytes, std::uint32_t count);
  void ChooseMode(Flow& flow, long moved);
  void Bound(Flow& flow, const Side& from, const Side& to);
  bool Widen(Flow& flow, const Side& from, const Side& to);
  void NarrowIfQuiet(Flow& flow, const Side& from, const Side& to);
  static void SetQueues(Flow& flow, Queues queues, const Side& from, const Side& to);
  void Broken(Connection& connection, const Side& side, int error);
  void PassReset(Connection& connection);
  void CheckReset(Connection& connection);
  void CheckPeers();
  void CheckPeer(Side& side);
  void DropPending(Flow& flow);
  void ReleaseFlow(Flow& flow);

  // farewell.cc
  void CloseWithFarewell(Connection& connection, const std::string& farewell, Outcome outcome);
  void SendFarewell(Connection& connection);
  void DiscardUntilClosed(Connection& connection);

  const std::uint32_t index_;
  Shared& shared_;
  std::optional<SysError> error_;
  UniqueFd epoll_;
  UniqueFd wake_;
  UniqueFd spare_;  // closed for a short time to accept and reject a client when the process has no free descriptor
  std::optional<HomeNetns> home_;
  std::int64_t now_ns_ = 0;
  bool stopping_ = false;

  std::vector<Connection*> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> generations_;
  std::vector<Connection*> dead_;
  std::vector<Connection*> backlog_;
  std::vector<Event> outbox_;       // events for JavaScript, sent after the batch
  bool outbox_urgent_ = false;      // a client waits for the answer
  std::int64_t outbox_since_ns_ = 0;
  std::vector<std::shared_ptr<ListenerSocket>> retired_listeners_;  // until the batch is done
  std::vector<const ListenerSocket*> paused_listeners_;  // not watched until accept_again_ns_, see Pause()
  std::int64_t accept_again_ns_ = 0;
  std::vector<std::pair<std::uint32_t, std::shared_ptr<const PreparedTable>>> tables_;  // by listener: one or two entries
  std::atomic<std::uint64_t> tables_posted_ = 0;
  std::uint64_t tables_taken_ = 0;
  SourceQueue unserved_;
  SourceQueue large_hellos_;
  std::vector<std::shared_ptr<const std::vector<LoadRef>>> fallen_;  // pending dials to these backends fail after the batch
  std::atomic<bool> asked_for_memory_ = false;  // another worker waits until this worker evicts a long hello
  // The sizes of unserved_ and large_hellos_, for other workers to read.
  std::atomic<std::size_t> evictable_ = 0;
  std::atomic<std::size_t> evictable_large_ = 0;
  TimerList hello_timers_;
  TimerList connect_timers_;
  TimerList linger_timers_;
  TimerList flush_timers_;
  std::int64_t next_check_ns_ = 0;
  std::size_t last_checked_ = 0;
  PipePool pipes_;
  std::unique_ptr<char[]> scratch_;

  std::mutex mutex_;
  std::vector<Command> commands_;
  std::thread thread_;
};

}  // namespace isthmus
