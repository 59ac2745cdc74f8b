/* The only program of the test images. As `pause` it holds a Pod's namespaces. As `crash` it fails at once. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(0);
}

static void reap(int signal) {
  (void)signal;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(int count, char **words) {
  if (count > 0 && strstr(words[0], "crash") != 0) {
    static const char said[] = "this image crashes on purpose\n";
    return write(2, said, sizeof said - 1) < 0 ? 2 : 1;
  }
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
