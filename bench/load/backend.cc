// The backend: one thread, one epoll, one listening socket on loopback and one in each given netns. It executes the command in the
// ClientHello (command.h).
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "command.h"
#include "hello_reader.h"
#include "modes.h"
#include "socket.h"

namespace {

struct Connection {
  int fd = -1;
  HelloReader hello;
  bool decided = false;
  Command command;
  uint64_t received = 0, digest = kDigestStart;
  uint64_t sent = 0, to_send = 0;
  bool input_ended = false, output_ended = false;
  uint32_t watched = 0;
  off_t position = 0;
  std::string echo;
};

class Backend {
 public:
  int run(const Options& options) {
    add_listener(options.text("listen"));
    if (!options.text("netns-list").empty()) add_tenants(options.text("netns-list"), options.text("tenant"));
    std::printf("{\"listening\":%zu}\n", listeners_.size());
    std::fflush(stdout);
    epoll_event events[256];
    while (true) {
      int n = epoll_wait(epoll_, events, 256, -1);
      for (int i = 0; i < n; ++i) {
        uint64_t tag = events[i].data.u64;
        if (tag & kListenerTag)
          accept_all(int(tag & ~kListenerTag));
        else
          handle(reinterpret_cast<Connection*>(tag), events[i].events);
      }
      for (Connection* gone : gone_) delete gone;
      gone_.clear();
    }
  }

 private:
  static constexpr uint64_t kListenerTag = 1ull << 63;

  void add_listener(const std::string& address) {
    int fd = listen_on(endpoint(address));
    watch(epoll_, EPOLL_CTL_ADD, fd, EPOLLIN, kListenerTag | uint64_t(fd));
    listeners_.push_back(fd);
  }

  void add_tenants(const std::string& list, const std::string& address) {
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    std::ifstream file(list);
    for (std::string path; std::getline(file, path);) {
      int netns = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (netns < 0 || setns(netns, CLONE_NEWNET) != 0) fail("cannot enter " + path);
      close(netns);
      add_listener(address);
    }
    if (setns(home, CLONE_NEWNET) != 0) fail("cannot return to the own netns");
    close(home);
  }

  void accept_all(int listener) {
    for (int i = 0; i < 64; ++i) {
      int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      auto* connection = new Connection;
      connection->fd = fd;
      connection->watched = EPOLLIN;
      watch(epoll_, EPOLL_CTL_ADD, fd, EPOLLIN, reinterpret_cast<uint64_t>(connection));
    }
  }

  void handle(Connection* c, uint32_t events) {
    if (c->fd < 0) return;
    if (events & EPOLLERR) return end(c, 2);
    if ((events & (EPOLLIN | EPOLLHUP)) && !read_some(c)) return;
    if (c->decided) write_some(c);
    if (c->fd >= 0) settle(c);
  }

  /** Returns false when the connection has ended. */
  bool read_some(Connection* c) {
    if (c->decided && c->command.ask == Ask::Upload) {
      ssize_t n = recv(c->fd, nullptr, 1 << 20, MSG_TRUNC);
      return n > 0 || (n < 0 && errno == EAGAIN) || (end(c, n == 0 ? 1 : 2), false);
    }
    ssize_t n = recv(c->fd, buffer_, sizeof buffer_, 0);
    if (n < 0) return errno == EAGAIN || (end(c, 2), false);
    if (n == 0) {
      c->input_ended = true;
      return true;
    }
    const unsigned char* bytes = buffer_;
    size_t length = size_t(n);
    if (!c->decided) {
      size_t used = c->hello.take(bytes, length);
      if (!c->hello.complete()) return c->hello.possible() || (reset(c), false);
      decide(c);
      bytes += used;
      length -= used;
    }
    if (length == 0) return true;
    c->received += length;
    if (c->command.ask == Ask::Echo)
      c->echo.append(reinterpret_cast<const char*>(bytes), length);
    else
      c->digest = digest_step(c->digest, bytes, length);
    return true;
  }

  void decide(Connection* c) {
    c->decided = true;
    c->command = c->hello.command();
    switch (c->command.ask) {
      case Ask::Echo:
      case Ask::Upload:
        c->to_send = 1;
        break;
      case Ask::Report:
        c->to_send = sizeof(Ending);
        break;
      case Ask::AfterEnd:
        c->to_send = 0;  // set when the client has sent its FIN
        break;
      case Ask::Download:
        c->to_send = ~0ull;
        break;
      default:
        c->to_send = c->command.size;
    }
  }

  void write_some(Connection* c) {
    switch (c->command.ask) {
      case Ask::Download: {
        int64_t n = send_blob(c->fd, blob_, c->position, 4, 256 << 10);
        if (n < 0) end(c, 2);
        return;
      }
      case Ask::Echo: {
        if (c->sent == 0) c->echo.insert(c->echo.begin(), '!');
        if (c->echo.empty()) return;
        ssize_t n = send(c->fd, c->echo.data(), c->echo.size(), MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN ? void() : end(c, 2);
        c->sent += uint64_t(n);
        c->echo.erase(0, size_t(n));
        return;
      }
      default:
        return write_pattern(c);
    }
  }

  void write_pattern(Connection* c) {
    const auto& ask = c->command.ask;
    if (ask == Ask::AfterEnd && c->input_ended && c->to_send == 0) c->to_send = sizeof(Ending) + c->command.size;
    while (c->sent < c->to_send) {
      unsigned char bytes[65536];
      size_t length = size_t(std::min<uint64_t>(sizeof bytes, c->to_send - c->sent));
      if (ask == Ask::Report || (ask == Ask::AfterEnd && c->sent < sizeof(Ending))) {
        Ending ending = ask == Ask::Report ? endings_[c->command.id] : Ending{c->received, c->digest, 1};
        length = sizeof ending - size_t(c->sent);
        memcpy(bytes, reinterpret_cast<char*>(&ending) + c->sent, length);
      } else if (ask == Ask::Exchange || ask == Ask::AfterEnd) {
        fill_pattern(bytes, length, c->command.id, c->sent - (ask == Ask::AfterEnd ? sizeof(Ending) : 0));
      } else {
        memset(bytes, 'r', length);
      }
      ssize_t n = send(c->fd, bytes, length, MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN ? void() : end(c, 2);
      c->sent += uint64_t(n);
    }
    if (ask == Ask::Reset && c->sent > 0) return reset(c);
    bool speaks_first_fin = ask == Ask::Exchange || (ask == Ask::AfterEnd && c->sent > 0);
    if (speaks_first_fin && !c->output_ended) {
      shutdown(c->fd, SHUT_WR);
      c->output_ended = true;
    }
  }

  /** Closes a finished connection. Otherwise registers the events that it still waits for. */
  void settle(Connection* c) {
    bool flushed = c->command.ask == Ask::Echo ? c->echo.empty() : c->sent >= c->to_send;
    if (c->input_ended && (!c->decided || flushed || c->command.ask == Ask::Download)) return end(c, 1);
    uint32_t wanted = (c->input_ended ? 0u : uint32_t(EPOLLIN)) | (c->decided && !flushed ? uint32_t(EPOLLOUT) : 0u);
    if (wanted == c->watched) return;
    c->watched = wanted;
    watch(epoll_, EPOLL_CTL_MOD, c->fd, wanted, reinterpret_cast<uint64_t>(c));
  }

  void end(Connection* c, uint64_t how) {
    if (c->command.id != 0 && c->command.ask != Ask::Report) remember(c, how);
    close(c->fd);
    c->fd = -1;
    gone_.push_back(c);
  }

  void reset(Connection* c) {
    reset_socket(c->fd);
    c->fd = -1;
    gone_.push_back(c);
  }

  void remember(Connection* c, uint64_t how) {
    if (endings_.size() > 10'000) endings_.clear();
    endings_[c->command.id] = Ending{c->received, c->digest, how};
  }

  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  int blob_ = memory_blob();
  std::vector<int> listeners_;
  std::vector<Connection*> gone_;
  std::unordered_map<uint64_t, Ending> endings_;
  unsigned char buffer_[65536];
};

}  // namespace

int run_backend(const Options& options) { return std::make_unique<Backend>()->run(options); }
