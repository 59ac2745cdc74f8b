// The engine's interface for the JavaScript thread: workers, listeners, targets. Only that thread calls it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/shared.h"
#include "engine/worker.h"
#include "sys/listening_socket.h"

namespace isthmus {

class Engine {
 public:
  static constexpr int kMostThreads = 1 << ConnectionId::kWorkerBits;

  Engine(std::shared_ptr<Shared> shared, int threads);
  ~Engine() { Stop(); }

  // nullopt on success: all threads run.
  std::optional<SysError> Start();
  // Ends the threads and every connection. Idempotent.
  void Stop();
  bool Running() const { return running_; }

  // An empty host means all addresses, IPv4 and IPv6.
  Result<BoundAddress> Listen(std::uint32_t id, const std::string& host, int port, ListenerMode mode, int backlog);
  // Takes a socket that already listens. Other processes may also hold it.
  Result<BoundAddress> ListenOn(std::uint32_t id, UniqueFd fd, ListenerMode mode, int backlog);
  // The descriptor to hand over; -1 if there is no such listener. The engine still owns it, and from now on treats the socket as shared.
  int ListenerFd(std::uint32_t id);
  // Accepts the clients in the queue, then stops listening: after the return no client can connect. A shared socket stays open for the
  // other processes that hold it: one from ListenOn(), one handed out by ListenerFd(), or any with `leave_open`.
  void CloseListener(std::uint32_t id, bool leave_open = false);
  // Call it for each event just before JavaScript gets it. True: the event's listener is closed, and this is its last event.
  bool Delivered(const Event& event);
  // Open listeners, and closed ones that may still have events.
  std::size_t KnownListeners() const { return uses_.size(); }

  // nullopt if the address is not numeric.
  std::optional<std::uint32_t> AddTarget(const std::string& path, const std::string& identity, const std::string& address,
                                         int port);
  void DropTarget(std::uint32_t id);
  std::shared_ptr<Target> FindTarget(std::uint32_t id) const;

  // A connection goes to the member with the fewest connections. The pool keeps its targets, so they may be dropped before it.
  std::uint32_t AddPool(const std::vector<std::uint32_t>& targets);
  void DropPool(std::uint32_t id);
  std::shared_ptr<const Pool> FindPool(std::uint32_t id) const;

  // The share with this key, created on first use. A share stays in the group it was created with.
  std::shared_ptr<Share> ShareOf(const std::string& key, const std::string& group);
  // Reserves `reserved` slots for each of these groups. All groups compete for the `common` slots. Initially all slots are common.
  void ShareSlots(int reserved, int common, const std::unordered_set<std::string>& groups);
  // The connections of each share; shares without connections are left out.
  std::vector<std::pair<std::string, int>> Shares() const;

  // Stores an answer that workers may give to a plain hello without asking JavaScript. Returns its tag.
  std::uint32_t PrepareAnswer(Answer answer);
  // Replaces the listener's table. Unknown tags are left out.
  void Prepare(std::uint32_t listener, const std::vector<std::pair<std::string, std::uint32_t>>& tags_by_name);
  // No later table may name the tag. Open connections may still use the answer.
  void DropAnswer(std::uint32_t tag);
  // Dropped tags that no later event can carry. Each tag is returned once.
  std::vector<std::uint32_t> ForgottenAnswers();

  // Posts without a wake-up. WakeAnswered() wakes the workers that got an answer.
  void PostAnswer(ConnectionId connection, Answer answer);
  void WakeAnswered();
  void AbortAll(Outcome outcome);
  // Pending dials to these targets fail now, with EBACKENDDOWN: the health checks found the backends down.
  void AbortDials(const std::vector<std::uint32_t>& targets);

 private:
  Result<BoundAddress> Serve(ListenerSocket socket);

  struct NamedNetns {
    std::shared_ptr<NetnsSlot> slot;
    int targets = 0;
  };
  struct KnownTarget {
    std::shared_ptr<Target> target;
    std::string netns_key;
  };

  LoadRef LoadOf(const std::string& key);
  std::shared_ptr<SlotGroup> GroupOf(const std::string& key);

  std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unordered_map<std::uint32_t, std::shared_ptr<ListenerSocket>> listeners_;
  std::unordered_map<const ListenerUse*, std::unique_ptr<ListenerUse>> uses_;
  std::unordered_map<std::string, NamedNetns> netns_;
  std::unordered_map<std::uint32_t, KnownTarget> targets_;
  std::unordered_map<std::string, std::shared_ptr<Share>> shares_;
  std::size_t most_shares_ = 64;  // at this size unused shares are removed
  std::unordered_map<std::string, std::weak_ptr<SlotGroup>> groups_;
  std::size_t most_groups_ = 64;  // as above
  std::unordered_map<std::uint32_t, std::shared_ptr<const Answer>> prepared_;
  std::unordered_map<std::uint32_t, std::weak_ptr<const Answer>> dropped_;
  std::uint32_t next_tag_ = 1;
  std::uint32_t next_target_ = 1;
  std::unordered_map<std::uint32_t, std::shared_ptr<const Pool>> pools_;
  std::uint32_t next_pool_ = 1;
  std::unordered_map<std::string, LoadRef> loads_;  // by netns, address and port
  std::size_t most_loads_ = 64;  // as above
  std::uint32_t answered_ = 0;  // a bit for each worker
  std::uint32_t next_adopter_ = 0;
  bool running_ = false;
};

}  // namespace isthmus
