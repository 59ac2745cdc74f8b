// The calls that answer the engine's questions: for one connection, and prepared for the hellos that the engine can read.
#include <string>
#include <utility>
#include <vector>

#include "binding/engine_object.h"

namespace isthmus {
namespace {

std::string BytesOf(const Napi::Value& value) {
  if (!value.IsTypedArray()) return {};
  const auto bytes = value.As<Napi::Uint8Array>();
  return {reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()};
}

}  // namespace

void EngineObject::Answered(const Napi::CallbackInfo& info, Answer answer) {
  if (!engine_) return;
  const auto id = static_cast<std::uint64_t>(info[0].As<Napi::Number>().DoubleValue());
  engine_->PostAnswer(ConnectionId::Of(id), std::move(answer));
  if (!delivering_) engine_->WakeAnswered();
}

Napi::Value EngineObject::More(const Napi::CallbackInfo& info) {
  Answer answer{Answer::Kind::kMore};
  answer.min_bytes = info[1].As<Napi::Number>().Uint32Value();
  Of(info).Answered(info, std::move(answer));
  return {};
}

// (farewell, shareKey, shareLimit, shareGroup, …), starting at argument `first`.
Answer EngineObject::RoutedFrom(const Napi::CallbackInfo& info, std::size_t first) const {
  Answer answer{Answer::Kind::kCandidates};
  answer.farewell = BytesOf(info[first]);
  if (info[first + 1].IsString()) {
    answer.share = engine_->ShareOf(info[first + 1].As<Napi::String>(), info[first + 3].As<Napi::String>());
    answer.share_limit = info[first + 2].As<Napi::Number>().Int32Value();
  }
  return answer;
}

// (…, ...targets)
Answer EngineObject::CandidatesFrom(const Napi::CallbackInfo& info, std::size_t first) const {
  Answer answer = RoutedFrom(info, first);
  for (std::size_t i = first + 4; i < info.Length(); i += 1) {
    answer.candidates.push_back(engine_->FindTarget(info[i].As<Napi::Number>().Uint32Value()));
  }
  return answer;
}

// (…, pool)
Answer EngineObject::PoolFrom(const Napi::CallbackInfo& info, std::size_t first) const {
  Answer answer = RoutedFrom(info, first);
  answer.pool = engine_->FindPool(info[first + 4].As<Napi::Number>().Uint32Value());
  return answer;
}

// (connection, skipBytes, …)
Napi::Value EngineObject::Candidates(const Napi::CallbackInfo& info) {
  EngineObject& self = Of(info);
  if (!self.engine_) return {};
  Answer answer = self.CandidatesFrom(info, 2);
  answer.skip_bytes = info[1].As<Napi::Number>().Uint32Value();
  self.Answered(info, std::move(answer));
  return {};
}

// (connection, skipBytes, …)
Napi::Value EngineObject::AnswerPool(const Napi::CallbackInfo& info) {
  EngineObject& self = Of(info);
  if (!self.engine_) return {};
  Answer answer = self.PoolFrom(info, 2);
  answer.skip_bytes = info[1].As<Napi::Number>().Uint32Value();
  self.Answered(info, std::move(answer));
  return {};
}

Napi::Value EngineObject::CloseConnection(const Napi::CallbackInfo& info) {
  Answer answer{Answer::Kind::kClose};
  answer.farewell = BytesOf(info[1]);
  Of(info).Answered(info, std::move(answer));
  return {};
}

Napi::Value EngineObject::PolicyError(const Napi::CallbackInfo& info) {
  Of(info).Answered(info, Answer{Answer::Kind::kPolicyError});
  return {};
}

Napi::Value EngineObject::PreparePool(const Napi::CallbackInfo& info) {
  if (Ended(info)) return {};
  EngineObject& self = Of(info);
  return Napi::Number::New(info.Env(), self.engine_->PrepareAnswer(self.PoolFrom(info, 0)));
}

Napi::Value EngineObject::PrepareAnswer(const Napi::CallbackInfo& info) {
  if (Ended(info)) return {};
  EngineObject& self = Of(info);
  return Napi::Number::New(info.Env(), self.engine_->PrepareAnswer(self.CandidatesFrom(info, 0)));
}

// (listener, names, tags)
Napi::Value EngineObject::Prepare(const Napi::CallbackInfo& info) {
  if (Ended(info)) return {};
  const auto names = info[1].As<Napi::Array>();
  const auto tags = info[2].As<Napi::Array>();
  std::vector<std::pair<std::string, std::uint32_t>> table(names.Length());
  for (std::uint32_t i = 0; i < table.size(); i += 1) {
    const Napi::HandleScope scope(info.Env());
    table[i] = {Napi::Value(names[i]).As<Napi::String>(), Napi::Value(tags[i]).As<Napi::Number>().Uint32Value()};
  }
  Of(info).engine_->Prepare(info[0].As<Napi::Number>().Uint32Value(), table);
  return {};
}

Napi::Value EngineObject::DropAnswer(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) engine->DropAnswer(info[0].As<Napi::Number>().Uint32Value());
  return {};
}

Napi::Value EngineObject::ForgottenAnswers(const Napi::CallbackInfo& info) {
  Napi::Array tags = Napi::Array::New(info.Env());
  if (auto& engine = Of(info).engine_) {
    for (const std::uint32_t tag : engine->ForgottenAnswers()) tags.Set(tags.Length(), tag);
  }
  return tags;
}

}  // namespace isthmus
