// New connections: connect, send the hello, read the backend's first bytes, close in both directions, repeat. `--rate 0` runs a closed
// loop of `--concurrency` slots. Otherwise an open loop runs: arrival times have exponential gaps from a fixed seed. Latency counts
// from the *intended* start, so a slow proxy cannot slow the clock that measures it.
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <random>
#include <vector>

#include "clock.h"
#include "hellos.h"
#include "histogram.h"
#include "modes.h"
#include "socket.h"

namespace {

enum class Step { Connecting, Waiting, Closing };

struct Slot {
  int fd = -1;
  Step step = Step::Connecting;
  const std::string* hello = nullptr;
  size_t sent = 0;
  uint64_t received = 0;
  int64_t start = 0;
};

class Generator {
 public:
  explicit Generator(const Options& options)
      : target_(endpoint(options.text("target"))),
        hellos_(options.text("hello")),
        reply_(uint64_t(options.number("reply", 1024))),
        rate_(options.number("rate", 0)),
        seconds_(options.number("seconds", 1)),
        warmup_(options.number("warmup", 0.3)),
        slots_(size_t(rate_ > 0 ? options.number("in-flight", 4000) : options.number("concurrency", 64))) {
    Command command;
    command.ask = Ask::Reply;
    command.size = reply_;
    hellos_.ask(command);
    for (size_t i = slots_.size(); i-- > 0;) free_.push_back(i);
    prctl(PR_SET_TIMERSLACK, 1);
    if (rate_ > 0) keep_time();
  }

  int run() {
    begin_ = now_ns();
    measure_from_ = begin_ + int64_t(warmup_ * 1e9);
    measure_to_ = measure_from_ + int64_t(seconds_ * 1e9);
    next_ = double(begin_);
    while (true) {
      int64_t now = now_ns();
      if (now >= measure_to_ || errors_ > 1000) break;
      start_due(now);
      wait();
    }
    report();
    return 0;
  }

 private:
  /**
   * The backend shares this core and could hold it for milliseconds while arrivals are due. That delay belongs neither to the proxy nor
   * to the path. If the kernel refuses SCHED_FIFO, the reported lag grows.
   */
  static void keep_time() {
    const sched_param lowest{.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &lowest);
  }

  void start_due(int64_t now) {
    if (rate_ <= 0) {
      while (!free_.empty() && errors_ <= 1000) begin(now_ns());
      return;
    }
    while (next_ <= double(now) && !free_.empty()) {
      int64_t intended = int64_t(next_);
      if (intended >= measure_from_) lag_.record(now_ns() - intended);
      begin(intended);
      next_ += gap_(random_) * 1e9 / rate_;
    }
  }

  void begin(int64_t start) {
    size_t at = free_.back();
    Slot& slot = slots_[at];
    slot = Slot{};
    slot.hello = &hellos_.next();
    slot.start = start;
    slot.fd = start_connect(target_);
    if (slot.fd < 0) {
      ++errors_;
      return;
    }
    free_.pop_back();
    // On loopback the connection is already established. The first send nearly always succeeds and saves one pass of the event loop.
    bool sent = send_hello(slot);
    watch(epoll_, EPOLL_CTL_ADD, slot.fd, sent ? EPOLLIN : EPOLLOUT, at);
  }

  /** Returns true when the whole hello is sent. */
  bool send_hello(Slot& slot) {
    ssize_t n = send(slot.fd, slot.hello->data() + slot.sent, slot.hello->size() - slot.sent, MSG_NOSIGNAL);
    if (n > 0) slot.sent += size_t(n);
    if (slot.sent < slot.hello->size()) return false;
    slot.step = Step::Waiting;
    return true;
  }

  void wait() {
    epoll_event events[256];
    int64_t until = measure_to_;
    if (rate_ > 0 && !free_.empty() && int64_t(next_) < until) until = int64_t(next_);
    int64_t left = until - now_ns();
    if (left < 0) left = 0;
    timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    int n = epoll_pwait2(epoll_, events, 256, &timeout, nullptr);
    for (int i = 0; i < n; ++i) handle(size_t(events[i].data.u64), events[i].events);
  }

  void handle(size_t at, uint32_t events) {
    Slot& slot = slots_[at];
    if (slot.step == Step::Connecting) {
      if (events & (EPOLLERR | EPOLLHUP)) return finish(at, false);
      if (send_hello(slot)) watch(epoll_, EPOLL_CTL_MOD, slot.fd, EPOLLIN, at);
      return;
    }
    char buffer[16384];
    ssize_t n = recv(slot.fd, buffer, sizeof buffer, 0);
    if (n < 0) {
      if (errno == EAGAIN) return;
      return finish(at, false);
    }
    if (n == 0) return finish(at, slot.step == Step::Closing);
    if (slot.received == 0 && slot.start >= measure_from_) latency_.record(now_ns() - slot.start);
    slot.received += uint64_t(n);
    if (slot.received >= reply_ && slot.step == Step::Waiting) {
      slot.step = Step::Closing;
      shutdown(slot.fd, SHUT_WR);
    }
  }

  void finish(size_t at, bool good) {
    close(slots_[at].fd);
    slots_[at].fd = -1;
    free_.push_back(at);
    if (!good) {
      ++errors_;
      return;
    }
    ++total_;
    if (now_ns() >= measure_from_) ++completed_;
  }

  void report() {
    int64_t now = now_ns();
    double elapsed = double(now - measure_from_) / 1e9;
    uint64_t open = 0, unbegun = record_unbegun(now);
    for (Slot& slot : slots_) {
      if (slot.fd < 0) continue;
      ++open;
      // A connection without an answer counts with the time that it has waited. Leaving it out would be coordinated omission.
      if (rate_ > 0 && slot.received == 0 && slot.start >= measure_from_) latency_.record(now - slot.start);
      reset_socket(slot.fd);
    }
    std::printf("{\"completed\":%llu,\"total\":%llu,\"errors\":%llu,\"open\":%llu,\"unbegun\":%llu,\"seconds\":%.6f,\"perSecond\":%.2f,",
                (unsigned long long)completed_, (unsigned long long)total_, (unsigned long long)errors_,
                (unsigned long long)open, (unsigned long long)unbegun, elapsed, double(completed_) / elapsed);
    latency_.print("latency");
    std::printf(",");
    lag_.print("lag");
    std::printf("}\n");
  }

  /**
   * Records arrivals that were due but found every slot taken. Their wait counts from the intended start. The rate and the length of the
   * run bound the loop: each step advances the time, and no step passes the end of the run.
   */
  uint64_t record_unbegun(int64_t now) {
    if (rate_ <= 0) return 0;
    uint64_t count = 0;
    for (double until = double(std::min(now, measure_to_)); next_ < until; next_ += gap_(random_) * 1e9 / rate_) {
      if (int64_t(next_) < measure_from_) continue;
      latency_.record(now - int64_t(next_));
      lag_.record(now - int64_t(next_));
      ++count;
    }
    return count;
  }

  sockaddr_in target_;
  Hellos hellos_;
  uint64_t reply_;
  double rate_, seconds_, warmup_;
  std::vector<Slot> slots_;
  std::vector<size_t> free_;
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  int64_t begin_ = 0, measure_from_ = 0, measure_to_ = 0;
  double next_ = 0;
  std::mt19937_64 random_{4};
  std::exponential_distribution<double> gap_{1.0};
  uint64_t completed_ = 0, total_ = 0, errors_ = 0;
  Histogram latency_, lag_;
};

}  // namespace

int run_connections(const Options& options) { return Generator(options).run(); }
