// The engine as the JavaScript thread sees it: workers, listeners, targets. All calls are made on that one thread.
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

  // Absent: all threads run.
  std::optional<SysError> Start();
  // Ends the threads and with them every connection. Idempotent.
  void Stop();
  bool Running() const { return running_; }

  // No host: all addresses, IPv4 and IPv6.
  Result<BoundAddress> Listen(std::uint32_t id, const std::string& host, int port, ListenerMode mode, int backlog);
  // On one that listens already, and that others may hold as well.
  Result<BoundAddress> ListenOn(std::uint32_t id, UniqueFd fd, ListenerMode mode, int backlog);
  // To hand it over: it stays the engine's, but from now on others may hold it. -1: there is none of this id.
  int ListenerFd(std::uint32_t id);
  // Accepts what waits, then refuses: when it returns, nobody can connect any more. Unless it came by ListenOn, or is to be left
  // open: then those who hold it too go on.
  void CloseListener(std::uint32_t id, bool leave_open = false);
  // For each event that was taken, when it is about to be told. True: its listener is closed, and nothing more comes of it.
  bool Told(const Event& event);
  // Those that are open, and those closed of which something may still be told.
  std::size_t KnownListeners() const { return uses_.size(); }

  // Absent when the address is not numeric.
  std::optional<std::uint32_t> AddTarget(const std::string& path, const std::string& identity, const std::string& address,
                                         int port);
  void DropTarget(std::uint32_t id);
  std::shared_ptr<Target> FindTarget(std::uint32_t id) const;

  // Equals among which a connection is given to the one with the fewest. It keeps its targets; they may be dropped before it.
  std::uint32_t AddPool(const std::vector<std::uint32_t>& targets);
  void DropPool(std::uint32_t id);
  std::shared_ptr<const Pool> FindPool(std::uint32_t id) const;

  // The share of this name, made when it is first asked for. A share stays in the group that it was made with.
  std::shared_ptr<Share> ShareOf(const std::string& key, const std::string& group);
  // So many slots are kept for each of these groups of shares, and all compete for the common ones. At first all are common.
  void ShareSlots(int reserved, int common, const std::unordered_set<std::string>& groups);
  // How many connections each counts; those of none are left out.
  std::vector<std::pair<std::string, int>> Shares() const;

  // What workers may answer a plain hello with, without asking; gives it a tag.
  std::uint32_t PrepareAnswer(Answer answer);
  // In place of the table before; a tag that is not known is left out.
  void Prepare(std::uint32_t listener, const std::vector<std::pair<std::string, std::uint32_t>>& tags_by_name);
  // No later table names it; connections may live on with it.
  void DropAnswer(std::uint32_t tag);
  // Tags that were dropped and that nothing will be told of any more; each is handed out once.
  std::vector<std::uint32_t> ForgottenAnswers();

  // Posted without a wake-up: WakeAnswered() wakes those that got any.
  void PostAnswer(ConnectionId connection, Answer answer);
  void WakeAnswered();
  void AbortAll(Outcome outcome);
  // Dials under way to these targets fail now, with EBACKENDDOWN: it is known that nothing will come of them.
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
  std::size_t most_shares_ = 64;  // then it is looked for those that nobody holds
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
