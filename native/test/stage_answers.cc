// The stage in the role of JavaScript: takes questions, answers them, and prepares answers.
#include <utility>

#include "test/stage.h"

namespace isthmus {

bool Stage::Asked(std::string_view bytes) {
  for (;;) {
    if (!Await(-1, 0, [&] { return !questions_.empty(); })) return false;
    question_ = std::move(questions_.front());
    questions_.erase(questions_.begin());
    // Read the bytes in place, as JavaScript does. The worker must not touch them meanwhile.
    const std::string_view given(question_.bytes, question_.length);
    if (given.size() >= bytes.size() || !bytes.starts_with(given)) return given == bytes;
    AnswerMore(static_cast<std::uint32_t>(bytes.size()));
  }
}

void Stage::Answered(Answer answer) { AnswerUnasked(question_.connection, std::move(answer)); }

void Stage::AnswerUnasked(std::uint64_t connection, Answer answer) {
  engine_->PostAnswer(ConnectionId::Of(connection), std::move(answer));
  engine_->WakeAnswered();
}

void Stage::AnswerMore(std::uint32_t min_bytes) {
  Answer answer{Answer::Kind::kMore};
  answer.min_bytes = min_bytes;
  Answered(std::move(answer));
}

Answer Stage::CandidatesOf(const std::vector<std::uint32_t>& targets, std::string farewell) const {
  Answer answer{Answer::Kind::kCandidates};
  answer.farewell = std::move(farewell);
  for (const std::uint32_t id : targets) answer.candidates.push_back(engine_->FindTarget(id));
  return answer;
}

void Stage::AnswerCandidates(const std::vector<std::uint32_t>& targets, std::string farewell, std::uint32_t skip) {
  Answer answer = CandidatesOf(targets, std::move(farewell));
  answer.skip_bytes = skip;
  Answered(std::move(answer));
}

void Stage::AnswerShared(const std::vector<std::uint32_t>& targets, const std::string& key, int limit, std::string farewell) {
  Answer answer = CandidatesOf(targets, std::move(farewell));
  answer.share = engine_->ShareOf(key, key);
  answer.share_limit = limit;
  Answered(std::move(answer));
}

void Stage::Prepare(const std::string& name, const std::vector<std::uint32_t>& targets, const std::string& key, int limit,
                    std::string farewell) {
  Answer answer = CandidatesOf(targets, std::move(farewell));
  answer.share = engine_->ShareOf(key, key);
  answer.share_limit = limit;
  PrepareOne(name, std::move(answer));
}

void Stage::PrepareOne(const std::string& name, Answer answer) {
  const std::uint32_t tag = engine_->PrepareAnswer(std::move(answer));
  engine_->Prepare(kListener, {{name, tag}});
  for (const std::uint32_t old : tags_) engine_->DropAnswer(old);
  tags_.insert(tag);
}

// Drops the pool at once: the answer must hold everything that it needs.
Answer Stage::PoolOf(const std::vector<std::uint32_t>& targets, std::string farewell) const {
  Answer answer{Answer::Kind::kCandidates};
  answer.farewell = std::move(farewell);
  const std::uint32_t id = engine_->AddPool(targets);
  answer.pool = engine_->FindPool(id);
  engine_->DropPool(id);
  return answer;
}

void Stage::AnswerPool(const std::vector<std::uint32_t>& targets, std::string farewell) {
  Answered(PoolOf(targets, std::move(farewell)));
}

void Stage::PreparePool(const std::string& name, const std::vector<std::uint32_t>& targets, std::string farewell) {
  PrepareOne(name, PoolOf(targets, std::move(farewell)));
}

void Stage::PrepareNothing() {
  engine_->Prepare(kListener, {});
  for (const std::uint32_t old : tags_) engine_->DropAnswer(old);
}

bool Stage::AllForgotten() {
  return Await(-1, 0, [&] {
    for (Event& event : ended_) event.kept.reset();  // as after JavaScript has handled the event
    for (const std::uint32_t tag : engine_->ForgottenAnswers()) tags_.erase(tag);
    return tags_.empty();
  });
}

void Stage::AnswerClose(std::string alert) {
  Answer answer{Answer::Kind::kClose};
  answer.farewell = std::move(alert);
  Answered(std::move(answer));
}

void Stage::AnswerError() { Answered(Answer{Answer::Kind::kPolicyError}); }

}  // namespace isthmus
