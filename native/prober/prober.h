// Opens TCP connections inside network namespaces for the health checks, with one thread and one epoll instance. Independent
// of Node-API. The number of probes is bounded. Each probe has the same timeout and ends with exactly one result, in any order.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/resources/timer_list.h"
#include "sys/netns_scope.h"
#include "sys/sys_error.h"
#include "sys/unique_fd.h"

namespace isthmus {

// The caller chooses `place`, a number below `most`. It becomes free when the caller takes the result.
struct ProbeRequest {
  std::uint32_t place = 0;
  std::string netns_path;  // empty: the process's own netns
  std::string netns_identity;
  sockaddr_in6 address{};  // or a sockaddr_in, by its family
  socklen_t length = 0;    // 0: the address is invalid
};

struct ProbeResult {
  std::uint32_t place;
  std::optional<SysError> error;  // nullopt: the backend's kernel accepted the connection
  double duration_ms;             // since the prober's thread started the probe; excludes the time in the command queue
};

class Prober {
 public:
  using Bell = void (*)(void*);
  static constexpr std::uint32_t kMost = 16'384;

  // The bell rings on the prober's thread, once for all results that the caller has not taken yet.
  Prober(std::uint32_t most, std::int64_t timeout_ms, Bell bell, void* data);
  ~Prober() { Stop(); }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  [[nodiscard]] std::optional<SysError> Start();
  void Probe(ProbeRequest request);
  // The probe ends with ECANCELED, unless it has already ended.
  void Cancel(std::uint32_t place);
  // Moves all results into `results`. Returns false if there were none; the bell then rings for the next result.
  bool Take(std::vector<ProbeResult>& results);
  // Ends the thread. Pending probes end without a result. Idempotent.
  void Stop();

 private:
  struct Place {
    UniqueFd socket;
    std::uint32_t turn = 0;  // counts the probes that have used this place
    std::int64_t started_ns = 0;
    TimerNode deadline;
  };
  struct Command {
    enum class Kind : std::uint8_t { kProbe, kCancel, kStop } kind;
    ProbeRequest request;
  };

  void Post(Command command);
  void Run();
  void HandleCommands();
  void Begin(const ProbeRequest& request);
  std::optional<SysError> Connect(const ProbeRequest& request);
  Result<UniqueFd> CreateSocket(const ProbeRequest& request);
  std::uint64_t Ticket(std::uint32_t place) const;
  void HandleAnswer(std::uint64_t ticket);
  void End(std::uint32_t place, std::optional<SysError> error);
  void SendOutbox();
  int EpollTimeoutMs() const;

  const Bell bell_;
  void* const data_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::thread thread_;

  // Only the prober's thread uses these.
  std::optional<HomeNetns> home_;
  std::vector<Place> places_;
  TimerList deadlines_;
  std::int64_t now_ns_ = 0;
  std::vector<Command> taken_;
  std::vector<ProbeResult> outbox_;
  bool stopping_ = false;

  std::mutex mutex_;
  std::vector<Command> commands_;
  std::vector<ProbeResult> results_;
  bool rung_ = false;
};

}  // namespace isthmus
