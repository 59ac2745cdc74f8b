// Prepared answers by server name: what JavaScript would answer to a plain hello (plain_hello.h). The JavaScript thread builds a complete
// table, which never changes. To replace it, the engine posts a new table to each worker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/message.h"

namespace isthmus {

class PreparedTable {
 public:
  void Add(std::string name, std::shared_ptr<const Answer> answer) { by_name_.insert_or_assign(std::move(name), std::move(answer)); }

  // Null: the worker asks JavaScript.
  std::shared_ptr<const Answer> Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };

  std::unordered_map<std::string, std::shared_ptr<const Answer>, Hash, std::equal_to<>> by_name_;
};

}  // namespace isthmus
