// The command line of the generator: `--name value` pairs, nothing else.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(2);
}

class Options {
 public:
  Options(int argc, char** argv, int first) {
    for (int i = first; i + 1 < argc; i += 2) values_[argv[i]] = argv[i + 1];
    if ((argc - first) % 2 != 0) fail(std::string("an option without a value: ") + argv[argc - 1]);
  }
  std::string text(const std::string& name, const std::string& fallback = "") const {
    auto found = values_.find("--" + name);
    return found == values_.end() ? fallback : found->second;
  }
  double number(const std::string& name, double fallback) const {
    std::string value = text(name);
    return value.empty() ? fallback : std::stod(value);
  }

 private:
  std::map<std::string, std::string> values_;
};
