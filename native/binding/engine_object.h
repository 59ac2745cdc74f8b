// The JavaScript object of the native engine: `createEngine(limits, threads, handlers)`, declared in src/netns/native.ts.
// All code here runs on the thread of its environment. The workers only push events and ring the bell. engine_answers.cc has the
// calls that answer questions, engine_object.cc has all others.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "binding/engine_handlers.h"
#include "engine/engine.h"

namespace isthmus {

class EngineObject {
 public:
  static Napi::Value Create(const Napi::CallbackInfo& info);

 private:
  EngineObject(napi_env env, const Napi::Object& handlers) : env_(env), handlers_(env, handlers) {}

  static EngineObject& Of(const Napi::CallbackInfo& info) { return *static_cast<EngineObject*>(info.Data()); }
  static bool Ended(const Napi::CallbackInfo& info);

  static Napi::Value Listen(const Napi::CallbackInfo& info);
  static Napi::Value ListenerFd(const Napi::CallbackInfo& info);
  static Napi::Value CloseListener(const Napi::CallbackInfo& info);
  static Napi::Value AddTarget(const Napi::CallbackInfo& info);
  static Napi::Value DropTarget(const Napi::CallbackInfo& info);
  static Napi::Value AddPool(const Napi::CallbackInfo& info);
  static Napi::Value DropPool(const Napi::CallbackInfo& info);
  static Napi::Value More(const Napi::CallbackInfo& info);
  static Napi::Value Candidates(const Napi::CallbackInfo& info);
  static Napi::Value AnswerPool(const Napi::CallbackInfo& info);
  static Napi::Value CloseConnection(const Napi::CallbackInfo& info);
  static Napi::Value PolicyError(const Napi::CallbackInfo& info);
  static Napi::Value AbortAll(const Napi::CallbackInfo& info);
  static Napi::Value AbortDials(const Napi::CallbackInfo& info);
  static Napi::Value ShareSlots(const Napi::CallbackInfo& info);
  static Napi::Value PrepareAnswer(const Napi::CallbackInfo& info);
  static Napi::Value PreparePool(const Napi::CallbackInfo& info);
  static Napi::Value Prepare(const Napi::CallbackInfo& info);
  static Napi::Value DropAnswer(const Napi::CallbackInfo& info);
  static Napi::Value ForgottenAnswers(const Napi::CallbackInfo& info);
  static Napi::Value Shares(const Napi::CallbackInfo& info);
  static Napi::Value Stats(const Napi::CallbackInfo& info);
  static Napi::Value Stop(const Napi::CallbackInfo& info);

  static void Ring(void* self) {
    napi_call_threadsafe_function(static_cast<EngineObject*>(self)->bell_, nullptr, napi_tsfn_nonblocking);
  }
  static void OnBell(napi_env env, napi_value, void* self, void*) {
    if (env != nullptr) static_cast<EngineObject*>(self)->DeliverAll();
  }
  // Covers an environment that ends without a call of stop().
  static void OnEnvironmentEnd(void* self) { static_cast<EngineObject*>(self)->Shutdown(); }

  void DeliverAll();
  Answer CandidatesFrom(const Napi::CallbackInfo& info, std::size_t first) const;
  Answer PoolFrom(const Napi::CallbackInfo& info, std::size_t first) const;
  Answer RoutedFrom(const Napi::CallbackInfo& info, std::size_t first) const;
  void Answered(const Napi::CallbackInfo& info, Answer answer);
  void Shutdown();

  napi_env env_;
  EngineHandlers handlers_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Engine> engine_;
  napi_threadsafe_function bell_ = nullptr;
  std::vector<Event> events_;
  bool delivering_ = false;
};

Napi::Value CreateEngine(const Napi::CallbackInfo& info);

}  // namespace isthmus
