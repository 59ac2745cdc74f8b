// A stress run of the engine for the sanitizers, mainly ThreadSanitizer: three workers, a JavaScript thread, an echo backend, and
// clients with random behaviour. Listeners and targets change, all connections are aborted now and then, and the engine stops under
// load. The test itself must be free of races: its threads share only atomics.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "engine/engine.h"
#include "test/hello.h"
#include "test/sockets.h"

namespace isthmus {
namespace {

constexpr int kClientThreads = 6;
constexpr int kWorkers = 3;

std::atomic<bool> ending{false};
std::atomic<int> listen_port{0};
std::atomic<int> tried{0};
std::atomic<int> served{0};
std::atomic<int> served_prepared{0};

void WaitFor(int fd, short events, int milliseconds) {
  pollfd each{fd, events, 0};
  ::poll(&each, 1, milliseconds);
}

// Echoes, and answers a FIN with a FIN. Resets some connections at random.
void RunBackend(int listener) {
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  ::epoll_ctl(epoll.Get(), EPOLL_CTL_ADD, listener, &event);
  std::minstd_rand random(1);
  std::vector<char> buffer(64 * 1024);
  while (!ending) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll.Get(), events, 64, 50);
    for (int i = 0; i < count; i += 1) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        event.data.fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (event.data.fd >= 0) ::epoll_ctl(epoll.Get(), EPOLL_CTL_ADD, event.data.fd, &event);
        continue;
      }
      const auto got = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0 || random() % 64 == 0) {
        if (got > 0) ResetOnClose(fd);
        ::close(fd);
        continue;
      }
      for (ssize_t sent = 0; sent < got && !ending;) {
        const auto more = ::send(fd, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
        if (more > 0) sent += more;
        else if (errno == EAGAIN) WaitFor(fd, POLLOUT, 20);
        else break;
      }
    }
  }
}

// A plain hello comes back unchanged from the backend of the current table, or the engine refuses the client.
void VisitByName() {
  static const std::string hello = HelloFor("demo.example");
  const UniqueFd client(ConnectToLoopback(listen_port, 0));
  tried += 1;
  static_cast<void>(::send(client.Get(), hello.data(), hello.size(), MSG_NOSIGNAL));
  std::string heard;
  for (int i = 0; i < 20 && heard.size() < hello.size() && !ending; i += 1) {
    char buffer[512];
    WaitFor(client.Get(), POLLIN, 5);
    const auto got = ::recv(client.Get(), buffer, sizeof buffer, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return;
    if (got > 0) heard.append(buffer, static_cast<std::size_t>(got));
  }
  if (heard == hello) served_prepared += 1;
}

void Visit(std::minstd_rand& random) {
  if (random() % 3 == 0) return VisitByName();
  const UniqueFd client(ConnectToLoopback(listen_port, 0));
  tried += 1;
  const auto kind = random() % 8;
  if (kind == 0) return ResetOnClose(client.Get());
  const std::size_t total = kind == 1 ? 600'000 : 1 + random() % 3000;
  std::size_t sent = 0;
  std::size_t received = 0;
  bool right = true;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kind == 1 ? 500 : 60);
  while (received < total && right && std::chrono::steady_clock::now() < until && !ending) {
    const bool moved = SendPattern(client.Get(), sent, total) | ReceivePattern(client.Get(), received, right);
    if (kind == 2 && sent > 0) return ResetOnClose(client.Get());  // possibly while JavaScript decides
    if (moved) continue;
    WaitFor(client.Get(), POLLIN, 5);
    char byte = 0;
    const auto next = ::recv(client.Get(), &byte, 1, MSG_PEEK);
    if (next == 0 || (next < 0 && errno != EAGAIN)) break;  // refused
  }
  if (!right) {
    std::printf("FAILED bytes differ from those sent\n");
    std::abort();
  }
  if (received == total) served += 1;
  if (kind == 3) ResetOnClose(client.Get());
  if (kind == 4) ::shutdown(client.Get(), SHUT_WR);
}

// The JavaScript thread: the only one that calls the engine.
class JavaScript {
 public:
  explicit JavaScript(int backend_port)
      : bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), shared_(std::make_shared<Shared>(Limits(), Ring, &bell_)),
        backend_port_(backend_port) {}

  int Run(int milliseconds) {
    engine_ = std::make_unique<Engine>(shared_, kWorkers);
    if (engine_->Start()) return 1;
    const std::uint32_t closed = Target(1);
    std::uint32_t live = Target(backend_port_);
    std::uint32_t listener = 0;
    listen_port = Listen(listener);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (int turn = 1; std::chrono::steady_clock::now() < end; turn += 1) {
      WaitFor(bell_.Get(), POLLIN, 5);
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(bell_.Get(), &count, sizeof count);
      std::vector<Event> events;
      while (shared_->events.Take(events)) {
        for (const Event& event : events) AnswerTo(event, live, closed);
        engine_->WakeAnswered();
      }
      if (turn % 100 == 0) {  // hands a listener over, as between two processes: the kernel wakes one of the holders per client
        UniqueFd taken(::fcntl(engine_->ListenerFd(listener), F_DUPFD_CLOEXEC, 0));
        if (!engine_->ListenOn(listener + 1, std::move(taken), ListenerMode::kHello, 64).Ok()) return 1;
        engine_->CloseListener(listener++, true);
      } else if (turn % 50 == 0) {  // replaces the listener
        listen_port = Listen(listener + 1);
        engine_->CloseListener(listener++);
      }
      if (turn % 31 == 0) {  // replaces a target during dials
        engine_->DropTarget(live);
        live = Target(backend_port_);
      }
      if (turn % 7 == 0) Prepare(listener, live, closed);  // a new route table
      if (turn % 211 == 0) engine_->AbortAll(Outcome::kDrainExpired);
    }
    const std::size_t known = tags_.size();
    const std::size_t listeners = engine_->KnownListeners();
    const bool listeners_add_up = gone_ + listeners == listener + 1 && gone_ > 0;
    const LoadRef busy = engine_->FindTarget(live)->load;  // all targets of this backend share it
    engine_->Stop();  // under full load
    const int left = shared_->connections + shared_->pending_dials + static_cast<int>(shared_->hellos.Used()) + busy->connections;
    engine_.reset();
    std::printf("%d served by a prepared answer, %zu answers and %zu of %u listeners known in the end; ", served_prepared.load(), known,
                listeners, listener + 1);
    std::printf("%d visits, %d served in full, %d asked about, %d ended, %d left\n", tried.load(), served.load(), asked_, ended_,
                left);
    return left == 0 && served > 0 && served_prepared > 0 && known <= 210 && listeners_add_up && ended_ <= tried ? 0 : 1;
  }

 private:
  static EngineLimits Limits() {
    return {.max_connections = 200,
            .max_pending_dials = 100,
            .max_pending_dials_per_backend = 100,
            .reserved_dials_per_backend = 0,
            .hello_timeout_ms = 100,
            .max_hello_bytes = 8192,
            .max_hello_memory_bytes = 64 * 1024,
            .connect_timeout_ms = 100,
            .dead_peer_timeout_ms = 500,
            .linger_ms = 50,
            .max_netns_handles = 4,
            .max_pipes = 16,
            .max_waiting_events = 512};
  }
  static void Ring(void* bell) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(static_cast<UniqueFd*>(bell)->Get(), &one, sizeof one);
  }

  std::uint32_t Target(int port) { return *engine_->AddTarget("", "", "127.0.0.1", port); }
  int Listen(std::uint32_t id) { return engine_->Listen(id, "127.0.0.1", 0, ListenerMode::kHello, 128).Value().port; }

  // The pool's members change meanwhile, and other pools contain them too.
  Answer PooledAnswer(const std::vector<std::uint32_t>& targets) {
    Answer answer{Answer::Kind::kCandidates};
    const std::uint32_t id = engine_->AddPool(targets);
    answer.pool = engine_->FindPool(id);
    engine_->DropPool(id);
    return answer;
  }

  void Prepare(std::uint32_t listener, std::uint32_t live, std::uint32_t closed) {
    Answer answer{Answer::Kind::kCandidates};
    if (tags_.size() % 2 == 0) answer.candidates.push_back(engine_->FindTarget(closed));
    answer.candidates.push_back(engine_->FindTarget(live));
    if (tags_.size() % 3 == 0) answer = PooledAnswer({closed, live, live});
    answer.share = engine_->ShareOf("share", "group");
    answer.share_limit = 3;
    const std::uint32_t tag = engine_->PrepareAnswer(std::move(answer));
    engine_->Prepare(listener, {{"demo.example", tag}});
    for (const std::uint32_t old : tags_) engine_->DropAnswer(old);
    tags_.insert(tag);
    for (const std::uint32_t gone : engine_->ForgottenAnswers()) tags_.erase(gone);
  }

  void AnswerTo(const Event& event, std::uint32_t live, std::uint32_t closed) {
    if (engine_->Delivered(event)) gone_ += 1;
    if (event.kind == Event::Kind::kEnded) ended_ += 1;
    if (event.kind != Event::Kind::kQuestion) return;
    asked_ += 1;
    // Read all bytes, as a parser does. The worker must not write to them meanwhile.
    unsigned sum = 0;
    for (std::uint32_t i = 0; i < event.length; i += 1) sum += static_cast<unsigned char>(event.bytes[i]);
    Answer answer{Answer::Kind::kCandidates};
    switch ((sum + static_cast<unsigned>(asked_)) % 16) {
      case 0:
        answer = Answer{Answer::Kind::kClose};
        answer.farewell = std::string("\0\1\2", 3);  // same first bytes as the echo
        break;
      case 1:
        answer = Answer{Answer::Kind::kPolicyError};
        break;
      case 2:
        answer = Answer{Answer::Kind::kMore};
        answer.min_bytes = event.length + 1;
        break;
      case 3:
      case 4:
      case 5:
        answer = PooledAnswer({live, closed, live});
        break;
      case 6:
        answer.candidates.push_back(engine_->FindTarget(closed));
        [[fallthrough]];
      default:
        answer.candidates.push_back(engine_->FindTarget(live));
    }
    engine_->PostAnswer(ConnectionId::Of(event.connection), std::move(answer));
  }

  UniqueFd bell_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Engine> engine_;
  const int backend_port_;
  std::set<std::uint32_t> tags_;
  int asked_ = 0;
  std::uint32_t gone_ = 0;
  int ended_ = 0;
};

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  using namespace isthmus;
  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd backend = ListenOnLoopback(1024);
  JavaScript javascript(PortOf(backend.Get()));
  std::vector<std::thread> threads;
  threads.emplace_back(RunBackend, backend.Get());
  for (int i = 0; i < kClientThreads; i += 1) {
    threads.emplace_back([i] {
      std::minstd_rand random(static_cast<unsigned>(i) + 7);
      while (!ending) Visit(random);
    });
  }
  const int status = javascript.Run(argc > 1 ? std::atoi(argv[1]) : 3000);
  ending = true;
  for (std::thread& each : threads) each.join();
  return status;
}
