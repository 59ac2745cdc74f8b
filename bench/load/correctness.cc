// The correctness cases, equal for every peer. The harness disqualifies a peer that fails an essential case (scenarios/correctness.ts).
// A case reports its problem in one line. Every wait is limited to 5 s and every case to 20 s.
#include <poll.h>

#include <functional>
#include <vector>

#include "clock.h"
#include "hellos.h"
#include "modes.h"
#include "socket.h"
#include "talk.h"

namespace {

/** Returns the problem, or an empty string if the case passes. */
using Case = std::function<std::string()>;

class Cases {
 public:
  explicit Cases(const Options& options)
      : target_(endpoint(options.text("target"))),
        hellos_(options.text("hello")),
        large_(options.text("large-hello")),
        unknown_(options.text("unknown-hello")),
        next_id_(uint64_t(now_ns())) {}

  std::string integrity() {
    constexpr uint64_t kBytes = 32u << 20;
    Command command = ask(Ask::Exchange, kBytes);
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(hellos_.first(), command))) return "the hello was not taken";
    std::string problem = talk.exchange_pattern(command.id, kBytes);
    return problem.empty() ? expect_ending(command.id, kBytes, 1, true) : problem;
  }

  std::string slow_reader() {
    constexpr uint64_t kBytes = 8u << 20;
    Command command = ask(Ask::Exchange, kBytes);
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(hellos_.first(), command))) return "the hello was not taken";
    usleep(300'000);
    std::string problem = talk.expect_pattern(command.id, kBytes, 10'000, 100);
    if (problem.empty()) problem = talk.expect_end();
    return problem;
  }

  std::string client_half_close() {
    constexpr uint64_t kUp = 1u << 20, kDown = 4u << 20;
    Command command = ask(Ask::AfterEnd, kDown);
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(hellos_.first(), command)) || !talk.send_pattern(command.id, kUp)) return "not taken";
    shutdown(talk.fd(), SHUT_WR);
    Ending ending;
    if (!talk.receive_all(&ending, sizeof ending)) return "no answer after the client's FIN";
    if (ending.bytes != kUp || ending.digest != pattern_digest(command.id, kUp)) return "the backend got other bytes";
    std::string problem = talk.expect_pattern(command.id, kDown, 65536, 0);
    return problem.empty() ? talk.expect_end() : problem;
  }

  std::string backend_half_close() {
    constexpr uint64_t kDown = 64u << 10, kUp = 1u << 20;
    Command command = ask(Ask::Exchange, kDown);
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(hellos_.first(), command))) return "the hello was not taken";
    std::string problem = talk.expect_pattern(command.id, kDown, 65536, 0);
    if (problem.empty()) problem = talk.expect_end();
    if (!problem.empty()) return problem;
    usleep(200'000);
    if (!talk.send_pattern(command.id, kUp)) return "the client cannot send after the backend's FIN";
    shutdown(talk.fd(), SHUT_WR);
    return expect_ending(command.id, kUp, 1, true);
  }

  /** The bytes that the backend sends before its reset must arrive, followed by the reset. */
  std::string backend_reset() {
    constexpr uint64_t kSaid = 1000;
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(hellos_.first(), ask(Ask::Reset, kSaid)))) return "the hello was not taken";
    std::string got;
    char buffer[4096];
    ssize_t n;
    while (got.size() <= kSaid && (n = recv(talk.fd(), buffer, sizeof buffer, 0)) > 0) got.append(buffer, size_t(n));
    int why = errno;
    if (got.size() > kSaid) return "more bytes than were sent";
    if (got.find_first_not_of('r') != std::string::npos) return "other bytes than were sent";
    std::string ended;
    if (n == 0) ended = "the backend's reset arrived as an orderly end";
    else if (why != ECONNRESET) ended = std::string("the backend's reset did not arrive: ") + strerror(why);
    if (got.size() == kSaid) return ended;
    std::string lost = std::to_string(kSaid - got.size()) + " of the " + std::to_string(kSaid) + " bytes before the reset were lost";
    return ended.empty() ? lost : lost + ", and " + ended;
  }

  std::string client_reset() {
    Command command = ask(Ask::Reply, 100);
    Talk talk(target_);
    char reply[100];
    if (!talk.send_all(Hellos::with(hellos_.first(), command)) || !talk.receive_all(reply, sizeof reply)) return "no answer";
    talk.reset();
    return expect_ending(command.id, 0, 2, false);
  }

  std::string hello_in_segments() { return in_pieces(hellos_.first(), 5); }
  std::string large_hello_in_segments() { return in_pieces(large_.first(), 2); }

  std::string hello_in_records() {
    std::string hello = Hellos::with(hellos_.first(), ask(Ask::Reply, 100));
    std::string message = hello.substr(kRecordHeader), split;
    for (size_t at = 0, step = message.size() / 3 + 1; at < message.size(); at += step) {
      std::string piece = message.substr(at, step);
      split += hello.substr(0, 3);
      split += char(piece.size() >> 8);
      split += char(piece.size() & 255);
      split += piece;
    }
    Talk talk(target_);
    char reply[100];
    return talk.send_all(split) && talk.receive_all(reply, sizeof reply) ? "" : "a hello over three records gets no answer";
  }

  std::string data_with_hello() {
    std::string data(10'000, 'e');
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(hellos_.first(), ask(Ask::Echo, 0)) + data)) return "not taken";
    std::string back(1 + data.size(), 0);
    if (!talk.receive_all(back.data(), back.size())) return "what came with the hello was not forwarded";
    return back == "!" + data ? "" : "what came with the hello was changed";
  }

  std::string unknown_name() {
    Talk talk(target_);
    if (!talk.send_all(Hellos::with(unknown_.first(), ask(Ask::Reply, 100)))) return "";
    char buffer[200];
    ssize_t total = 0, n;
    while ((n = recv(talk.fd(), buffer, sizeof buffer, 0)) > 0) total += n;
    if (total >= 100) return "an unknown name reached a backend";
    return n < 0 && errno == EAGAIN ? "neither refused nor closed within 5 s" : "";
  }

 private:
  Command ask(Ask what, uint64_t size) {
    Command command;
    command.ask = what;
    command.size = size;
    command.id = ++next_id_;
    return command;
  }

  std::string in_pieces(const std::string& hello, size_t pieces) {
    std::string bytes = Hellos::with(hello, ask(Ask::Reply, 100));
    Talk talk(target_);
    for (size_t i = 0; i < pieces; ++i) {
      size_t from = bytes.size() * i / pieces, to = bytes.size() * (i + 1) / pieces;
      if (!talk.send_all(bytes.substr(from, to - from))) return "not taken";
      usleep(20'000);
    }
    char reply[100];
    return talk.receive_all(reply, sizeof reply) ? "" : "no answer";
  }

  /** Asks the backend over a separate connection how connection `id` ended. Waits up to 3 s for that end. */
  std::string expect_ending(uint64_t id, uint64_t bytes, uint64_t how, bool check_bytes) {
    Ending ending;
    for (int attempt = 0; attempt < 60; ++attempt) {
      Command command;
      command.ask = Ask::Report;
      command.id = id;
      Talk talk(target_);
      if (!talk.send_all(Hellos::with(hellos_.first(), command)) || !talk.receive_all(&ending, sizeof ending))
        return "the backend does not report";
      if (ending.how != 0) break;
      usleep(50'000);
    }
    if (ending.how == 0) return "the end never reached the backend";
    if (ending.how != how) return how == 2 ? "the reset reached the backend as an orderly end" : "the end reached the backend as a reset";
    if (!check_bytes) return "";
    if (ending.bytes != bytes) return "the backend got " + std::to_string(ending.bytes) + " of " + std::to_string(bytes) + " bytes";
    return ending.digest == pattern_digest(id, bytes) ? "" : "the backend got other bytes";
  }

  sockaddr_in target_;
  Hellos hellos_, large_, unknown_;
  uint64_t next_id_;
};

}  // namespace

int run_correctness(const Options& options) {
  Cases cases(options);
  const std::vector<std::pair<const char*, Case>> all = {
      {"integrity", [&] { return cases.integrity(); }},
      {"slow reader", [&] { return cases.slow_reader(); }},
      {"half-close by the client", [&] { return cases.client_half_close(); }},
      {"half-close by the backend", [&] { return cases.backend_half_close(); }},
      {"reset by the backend", [&] { return cases.backend_reset(); }},
      {"reset by the client", [&] { return cases.client_reset(); }},
      {"hello in five segments", [&] { return cases.hello_in_segments(); }},
      {"post-quantum hello in two segments", [&] { return cases.large_hello_in_segments(); }},
      {"hello over three records", [&] { return cases.hello_in_records(); }},
      {"data right behind the hello", [&] { return cases.data_with_hello(); }},
      {"unknown name", [&] { return cases.unknown_name(); }},
  };
  std::printf("{\"cases\":[");
  for (size_t i = 0; i < all.size(); ++i) {
    std::string problem = all[i].second();
    std::printf("%s{\"name\":\"%s\",\"problem\":\"%s\"}", i == 0 ? "" : ",", all[i].first, problem.c_str());
    std::fflush(stdout);
  }
  std::printf("]}\n");
  return 0;
}
