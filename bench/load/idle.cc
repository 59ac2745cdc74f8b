// Opens connections and holds them idle. Prints a line when all are open. Closes them when its standard input ends, or after two
// minutes.
#include <poll.h>

#include "modes.h"
#include "opened.h"

int run_idle(const Options& options) {
  size_t count = size_t(options.number("connections", 1000));
  size_t reply = size_t(options.number("reply", 1024));
  Command command;
  command.ask = Ask::Reply;
  command.size = reply;
  Hellos hellos(options.text("hello"));
  hellos.ask(command);
  std::vector<int> fds = open_connections(endpoint(options.text("target")), hellos, count, reply);
  std::printf("{\"open\":%zu}\n", fds.size());
  std::fflush(stdout);
  pollfd input{0, POLLIN, 0};
  poll(&input, 1, 120'000);
  size_t alive = 0;
  for (int fd : fds) {
    char byte;
    if (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) ++alive;
    close(fd);
  }
  std::printf("{\"alive\":%zu}\n", alive);
  return 0;
}
