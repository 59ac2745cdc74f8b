#include "engine/engine.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "engine/socket/io.h"
#include "engine/socket/keepalive.h"
#include "engine/prepared.h"
#include "engine/tuning.h"
#include "sys/socket_options.h"

namespace isthmus {
namespace {

struct ParsedAddress {
  sockaddr_in6 address{};
  socklen_t length = 0;
};

std::optional<ParsedAddress> Parse(const std::string& text, int port) {
  ParsedAddress parsed;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&parsed.address);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    parsed.length = sizeof(sockaddr_in);
    return parsed;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &parsed.address.sin6_addr) == 1) {
    parsed.address.sin6_family = AF_INET6;
    parsed.address.sin6_port = htons(static_cast<std::uint16_t>(port));
    parsed.length = sizeof(sockaddr_in6);
    return parsed;
  }
  return std::nullopt;
}

Result<UniqueFd> OpenListening(const ParsedAddress& where, int backlog, int dead_peer_timeout_ms) {
  UniqueFd fd(::socket(where.address.sin6_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.Valid()) return SysError{errno, "socket"};
  const int on = 1;
  const int off = 0;
  static_cast<void>(::setsockopt(fd.Get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
  if (where.address.sin6_family == AF_INET6) {
    // `::` then accepts IPv4 too. A specific address belongs to one family only.
    static_cast<void>(::setsockopt(fd.Get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off));
  }
  NoDelay(fd.Get());
  KeepAlive(fd.Get(), dead_peer_timeout_ms);
  if (::bind(fd.Get(), reinterpret_cast<const sockaddr*>(&where.address), where.length) != 0) {
    return SysError{errno, "bind"};
  }
  if (::listen(fd.Get(), backlog) != 0) return SysError{errno, "listen"};
  return fd;
}

}  // namespace

Engine::Engine(std::shared_ptr<Shared> shared, int threads) : shared_(std::move(shared)) {
  for (int i = 0; i < threads; i += 1) workers_.push_back(std::make_unique<Worker>(static_cast<std::uint32_t>(i), *shared_));
  for (const auto& worker : workers_) shared_->workers.push_back(worker.get());
}

std::optional<SysError> Engine::Start() {
  for (const auto& worker : workers_) {
    if (worker->Error()) return worker->Error();
  }
  for (const auto& worker : workers_) worker->Start();
  running_ = true;
  return std::nullopt;
}

void Engine::Stop() {
  if (!std::exchange(running_, false)) return;
  for (const auto& worker : workers_) worker->Post(Command{Command::Kind::kStop}, true);
  for (const auto& worker : workers_) worker->Join();
  shared_->workers.clear();
  workers_.clear();
  listeners_.clear();
  uses_.clear();
  targets_.clear();
  pools_.clear();
  loads_.clear();
  prepared_.clear();
  dropped_.clear();
  for (auto& [key, named] : netns_) named.slot->Release();
  netns_.clear();
}

Result<BoundAddress> Engine::Listen(std::uint32_t id, const std::string& host, int port, ListenerMode mode, int backlog) {
  const int timeout = shared_->limits.dead_peer_timeout_ms;
  const auto where = Parse(host.empty() ? "::" : host, port);
  if (!where) return SysError{EINVAL, "bind"};
  auto fd = OpenListening(*where, backlog, timeout);
  if (!fd.Ok() && host.empty() && (fd.Error().error == EAFNOSUPPORT || fd.Error().error == EADDRNOTAVAIL)) {
    fd = OpenListening(*Parse("0.0.0.0", port), backlog, timeout);  // the kernel has no IPv6
  }
  if (!fd.Ok()) return fd.Error();
  return Serve({id, nullptr, mode, false, std::move(fd.Value())});
}

Result<BoundAddress> Engine::ListenOn(std::uint32_t id, UniqueFd fd, ListenerMode mode, int backlog) {
  if (auto adopted = AdoptListening(fd.Get()); !adopted.Ok()) return adopted.Error();
  // Accepted sockets inherit these options. The process that opened the socket may have set other values, or none.
  NoDelay(fd.Get());
  KeepAlive(fd.Get(), shared_->limits.dead_peer_timeout_ms);
  // Clear a timeout that a predecessor process set. Without a dead-peer timeout, CheckPeers() never lifts it for a client whose
  // window is closed, so the kernel would end that client's connection.
  if (shared_->limits.dead_peer_timeout_ms == 0) static_cast<void>(SetUserTimeout(fd.Get(), 0));
  if (::listen(fd.Get(), backlog) != 0) return SysError{errno, "listen"};
  return Serve({id, nullptr, mode, true, std::move(fd)});
}

Result<BoundAddress> Engine::Serve(ListenerSocket socket) {
  const std::uint32_t id = socket.id;
  const BoundAddress bound = AddressOf(socket.fd.Get());
  // Each worker counts as a user until it has handled kRemoveListener, even a worker that could not watch the socket.
  auto use = std::make_unique<ListenerUse>(id, static_cast<int>(workers_.size()));
  socket.use = use.get();
  auto listener = std::make_shared<ListenerSocket>(std::move(socket));
  // One worker is enough to serve the listener. Without any worker no client would ever be accepted.
  std::optional<SysError> error;
  bool watched = false;
  for (const auto& worker : workers_) {
    if (auto failed = worker->WatchListener(*listener)) error = failed;
    else watched = true;
  }
  if (!watched) return *error;
  listeners_[id] = std::move(listener);
  uses_.emplace(use.get(), std::move(use));
  return bound;
}

int Engine::ListenerFd(std::uint32_t id) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return -1;
  // A shutdown would leave the successor process with a dead socket that epoll reports without end. There is no data race: workers read
  // `shared` only in RemoveListener(), which CloseListener() requests.
  found->second->shared = true;
  return found->second->fd.Get();
}

void Engine::CloseListener(std::uint32_t id, bool leave_open) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return;
  const std::shared_ptr<ListenerSocket> listener = found->second;
  listeners_.erase(found);
  // The close of a listening socket resets the clients in its queue, so they are accepted first. The loop stops after one full queue,
  // because new clients may keep arriving.
  for (int i = 0; i < kMostTakenAtClose; i += 1) {
    const long fd = io::Accept(listener->fd.Get(), nullptr, nullptr);
    if (fd == -ECONNABORTED || fd == -EPROTO) continue;  // this client has disconnected; others may wait behind it
    if (fd < 0) break;
    Command command{Command::Kind::kAdopt};
    command.listener = listener;
    command.client = UniqueFd(static_cast<int>(fd));
    workers_[next_adopter_++ % workers_.size()]->Post(std::move(command), true);
  }
  if (leave_open) listener->shared = true;
  // A shutdown ends the listening in every process that holds the socket.
  if (!listener->shared) static_cast<void>(::shutdown(listener->fd.Get(), SHUT_RDWR));
  for (const auto& worker : workers_) {
    Command command{Command::Kind::kRemoveListener};
    command.listener = listener;
    shared_->listeners_closing.fetch_add(1, std::memory_order_relaxed);
    worker->Post(std::move(command), true);
  }
}

bool Engine::Delivered(const Event& event) {
  if (event.kind == Event::Kind::kEnded) Leave(shared_->unreported);
  if (!running_) return false;  // Stop() has freed all ListenerUse objects
  const bool gone = event.kind == Event::Kind::kListenerGone || (event.kind == Event::Kind::kEnded && event.use->Leave());
  if (gone) uses_.erase(event.use);
  return gone;
}

std::optional<std::uint32_t> Engine::AddTarget(const std::string& path, const std::string& identity,
                                               const std::string& address, int port) {
  const auto parsed = Parse(address, port);
  if (!parsed) return std::nullopt;
  auto target = std::make_shared<Target>();
  target->address = parsed->address;
  target->length = parsed->length;
  std::string key;
  if (!path.empty()) {
    key = identity + ' ' + path;
    NamedNetns& named = netns_[key];
    if (!named.slot) named.slot = std::make_shared<NetnsSlot>(path, identity, shared_->netns_handles, shared_->limits.max_netns_handles);
    named.targets += 1;
    target->netns = named.slot;
  }
  target->load = LoadOf(key + ' ' + address + ' ' + std::to_string(port));
  targets_[next_target_] = {std::move(target), std::move(key)};
  return next_target_++;
}

void Engine::DropTarget(std::uint32_t id) {
  const auto found = targets_.find(id);
  if (found == targets_.end()) return;
  if (const auto named = netns_.find(found->second.netns_key); named != netns_.end() && --named->second.targets == 0) {
    // Release it now: open connections may hold the target for hours, and an open handle keeps a deleted netns alive.
    named->second.slot->Release();
    netns_.erase(named);
  }
  targets_.erase(found);
}

std::shared_ptr<Target> Engine::FindTarget(std::uint32_t id) const {
  const auto found = targets_.find(id);
  return found == targets_.end() ? nullptr : found->second.target;
}

std::uint32_t Engine::AddPool(const std::vector<std::uint32_t>& targets) {
  std::vector<std::shared_ptr<Target>> members;
  members.reserve(targets.size());
  for (const std::uint32_t id : targets) members.push_back(FindTarget(id));
  pools_[next_pool_] = std::make_shared<const Pool>(std::move(members));
  return next_pool_++;
}

void Engine::DropPool(std::uint32_t id) { pools_.erase(id); }

std::shared_ptr<const Pool> Engine::FindPool(std::uint32_t id) const {
  const auto found = pools_.find(id);
  return found == pools_.end() ? nullptr : found->second;
}

// A target may be dropped and added again while connections to it are open. The count must continue.
LoadRef Engine::LoadOf(const std::string& key) {
  const auto found = loads_.find(key);
  if (found != loads_.end()) return found->second;
  if (loads_.size() >= most_loads_) {
    // No other thread can take an entry that only the map refers to, so removing it here is safe.
    std::erase_if(loads_, [](const auto& entry) { return entry.second->references.load(std::memory_order_acquire) == 1; });
    most_loads_ = std::max(most_loads_, 2 * loads_.size());
  }
  return loads_[key] = LoadRef(new Load);
}

std::shared_ptr<Share> Engine::ShareOf(const std::string& key, const std::string& group) {
  const auto found = shares_.find(key);
  if (found != shares_.end()) return found->second;
  if (shares_.size() >= most_shares_) {
    // Only this thread hands out shares, so no other thread can take an entry that only the map holds.
    std::erase_if(shares_, [](const auto& entry) { return entry.second.use_count() == 1; });
    most_shares_ = std::max(most_shares_, 2 * shares_.size());
  }
  return shares_[key] = std::make_shared<Share>(GroupOf(group));
}

// The shares own their group: a group without shares has no connections.
std::shared_ptr<SlotGroup> Engine::GroupOf(const std::string& key) {
  if (groups_.size() >= most_groups_) {
    std::erase_if(groups_, [](const auto& entry) { return entry.second.expired(); });
    most_groups_ = std::max(most_groups_, 2 * groups_.size());
  }
  std::weak_ptr<SlotGroup>& known = groups_[key];
  auto group = known.lock();
  if (!group) known = group = std::make_shared<SlotGroup>();
  return group;
}

void Engine::ShareSlots(int reserved, int common, const std::unordered_set<std::string>& groups) {
  // Groups that had more reserved slots before, or that are not in `groups` any more, may still hold slots.
  int surplus = 0;
  for (const auto& [key, known] : groups_) {
    const auto group = known.lock();
    const int held = group ? group->reserved.load(std::memory_order_relaxed) : 0;
    surplus += std::max(0, held - (groups.contains(key) ? reserved : 0));
  }
  shared_->reserved_slots.store(reserved, std::memory_order_relaxed);
  shared_->common_slots.store(std::max(0, common - surplus), std::memory_order_relaxed);
}

void Engine::AbortDials(const std::vector<std::uint32_t>& targets) {
  auto places = std::make_shared<std::vector<LoadRef>>();
  for (const std::uint32_t id : targets) {
    if (const auto target = FindTarget(id)) places->push_back(target->load);
  }
  if (places->empty()) return;
  for (const auto& worker : workers_) {
    Command command{Command::Kind::kAbortDials};
    command.places = places;
    worker->Post(std::move(command), true);
  }
}

std::vector<std::pair<std::string, int>> Engine::Shares() const {
  std::vector<std::pair<std::string, int>> counts;
  for (const auto& [key, share] : shares_) {
    if (const int count = share->connections.load(std::memory_order_relaxed); count > 0) counts.emplace_back(key, count);
  }
  return counts;
}

std::uint32_t Engine::PrepareAnswer(Answer answer) {
  while (next_tag_ == 0 || prepared_.contains(next_tag_) || dropped_.contains(next_tag_)) next_tag_ += 1;
  answer.tag = next_tag_++;
  const std::uint32_t tag = answer.tag;
  prepared_[tag] = std::make_shared<const Answer>(std::move(answer));
  return tag;
}

void Engine::Prepare(std::uint32_t listener, const std::vector<std::pair<std::string, std::uint32_t>>& tags_by_name) {
  const auto found = listeners_.find(listener);
  if (found == listeners_.end()) return;
  auto table = std::make_shared<PreparedTable>();
  for (const auto& [name, tag] : tags_by_name) {
    if (const auto answer = prepared_.find(tag); answer != prepared_.end()) table->Add(name, answer->second);
  }
  for (const auto& worker : workers_) {
    Command command{Command::Kind::kPrepare};
    command.listener = found->second;
    command.table = table;
    worker->Post(std::move(command), true);
  }
}

void Engine::DropAnswer(std::uint32_t tag) {
  const auto found = prepared_.find(tag);
  if (found == prepared_.end()) return;
  dropped_[tag] = found->second;
  prepared_.erase(found);
}

std::vector<std::uint32_t> Engine::ForgottenAnswers() {
  std::vector<std::uint32_t> forgotten;
  std::erase_if(dropped_, [&](const auto& entry) {
    if (!entry.second.expired()) return false;
    forgotten.push_back(entry.first);
    return true;
  });
  return forgotten;
}

void Engine::PostAnswer(ConnectionId connection, Answer answer) {
  if (connection.worker >= workers_.size()) return;
  Command command{Command::Kind::kAnswer};
  command.connection = connection;
  command.answer = std::move(answer);
  workers_[connection.worker]->Post(std::move(command), false);
  answered_ |= 1u << connection.worker;
}

void Engine::WakeAnswered() {
  for (std::uint32_t bits = std::exchange(answered_, 0), i = 0; bits != 0; bits >>= 1, i += 1) {
    if ((bits & 1) != 0) workers_[i]->Wake();
  }
}

void Engine::AbortAll(Outcome outcome) {
  for (const auto& worker : workers_) {
    Command command{Command::Kind::kAbortAll};
    command.outcome = outcome;
    worker->Post(std::move(command), true);
  }
}

}  // namespace isthmus
