// Uses plain Node-API for calls that can run while the environment shuts down. Ignores a status if only the shutdown can cause a failure.
#include "binding/engine_object.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "binding/engine_limits.h"
#include "binding/environment.h"
#include "binding/throw.h"

namespace isthmus {
namespace {

constexpr int kBatchesPerTurn = 8;  // then DeliverAll() yields to the event loop

std::vector<std::uint32_t> NumbersOf(const Napi::Value& value) {
  const auto given = value.As<Napi::Uint32Array>();
  return {given.Data(), given.Data() + given.ElementLength()};
}

}  // namespace

Napi::Value EngineObject::Create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const int threads = info[1].As<Napi::Number>().Int32Value();
  if (threads < 1 || threads > Engine::kMostThreads) {
    return ThrowCoded(env, ErrorClass::kRangeError, "ERR_OUT_OF_RANGE",
                      "The \"threads\" argument must be from 1 to " + std::to_string(Engine::kMostThreads));
  }

  const EngineLimits limits = EngineLimitsFrom(info[0].As<Napi::Object>(), threads);

  // The object stays until the environment ends, because JavaScript can keep its functions. stop() frees the large parts.
  auto* self = new EngineObject(env, info[2].As<Napi::Object>());
  Environment::Of(env).Keep(self, [](void* object) { delete static_cast<EngineObject*>(object); });
  self->shared_ = std::make_shared<Shared>(limits, Ring, self);
  self->engine_ = std::make_unique<Engine>(self->shared_, threads);
  napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, "isthmus engine"), 0, 1, nullptr, nullptr,
                                  self, OnBell, &self->bell_);
  if (const auto error = self->engine_->Start()) {
    self->Shutdown();
    return ThrowSysError(env, *error, nullptr);
  }
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, self);

  // The ArrayBuffer keeps the slab alive while JavaScript can read it.
  auto* owner = new std::shared_ptr<Shared>(self->shared_);
  napi_value slab = nullptr;
  napi_create_external_arraybuffer(
      env, self->shared_->hellos.Slab(), HelloPool::SlabBytes(),
      [](napi_env, void*, void* hint) { delete static_cast<std::shared_ptr<Shared>*>(hint); }, owner, &slab);

  Napi::Object object = Napi::Object::New(env);
  const auto method = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    object.Set(name, Napi::Function::New(env, function, name, self));
  };
  object.Set("slab", Napi::Value(env, slab));
  method("listen", Listen);
  method("listenerFd", ListenerFd);
  method("closeListener", CloseListener);
  method("addTarget", AddTarget);
  method("dropTarget", DropTarget);
  method("addPool", AddPool);
  method("dropPool", DropPool);
  method("more", More);
  method("candidates", Candidates);
  method("answerPool", AnswerPool);
  method("closeConnection", CloseConnection);
  method("policyError", PolicyError);
  method("abortAll", AbortAll);
  method("abortDials", AbortDials);
  method("shareSlots", ShareSlots);
  method("prepareAnswer", PrepareAnswer);
  method("preparePool", PreparePool);
  method("prepare", Prepare);
  method("dropAnswer", DropAnswer);
  method("forgottenAnswers", ForgottenAnswers);
  method("shares", Shares);
  method("stats", Stats);
  method("stop", Stop);
  return object;
}

bool EngineObject::Ended(const Napi::CallbackInfo& info) {
  if (Of(info).engine_) return false;
  ThrowCoded(info.Env(), ErrorClass::kError, "ERR_ENGINE_STOPPED", "The engine is stopped");
  return true;
}

Napi::Value EngineObject::Listen(const Napi::CallbackInfo& info) {
  if (Ended(info)) return {};
  const auto id = info[0].As<Napi::Number>().Uint32Value();
  const std::string host = info[1].IsString() ? info[1].As<Napi::String>().Utf8Value() : "";
  const int port = info[2].As<Napi::Number>().Int32Value();
  const auto mode = info[3].ToBoolean() ? ListenerMode::kImmediate : ListenerMode::kHello;
  const int backlog = info[4].As<Napi::Number>().Int32Value();
  Engine& engine = *Of(info).engine_;
  auto bound = info[5].IsNumber() ? engine.ListenOn(id, UniqueFd(info[5].As<Napi::Number>().Int32Value()), mode, backlog)
                                  : engine.Listen(id, host, port, mode, backlog);
  if (!bound.Ok()) {
    const std::string where = (host.empty() ? "*" : host) + ":" + std::to_string(port);
    return ThrowSysError(info.Env(), bound.Error(), where.c_str());
  }
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("address", bound.Value().address);
  result.Set("port", bound.Value().port);
  return result;
}

Napi::Value EngineObject::ListenerFd(const Napi::CallbackInfo& info) {
  const auto& engine = Of(info).engine_;
  return Napi::Number::New(info.Env(), engine ? engine->ListenerFd(info[0].As<Napi::Number>().Uint32Value()) : -1);
}

Napi::Value EngineObject::CloseListener(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) {
    engine->CloseListener(info[0].As<Napi::Number>().Uint32Value(), info[1].ToBoolean());
  }
  return {};
}

Napi::Value EngineObject::AddTarget(const Napi::CallbackInfo& info) {
  if (Ended(info)) return {};
  const std::string path = info[0].IsString() ? info[0].As<Napi::String>().Utf8Value() : "";
  const std::string identity = info[1].IsString() ? info[1].As<Napi::String>().Utf8Value() : "";
  const auto id = Of(info).engine_->AddTarget(path, identity, info[2].As<Napi::String>(), info[3].As<Napi::Number>());
  // An invalid address gets id 0, which no target has. A dial to it fails like a dial to any unreachable backend.
  return Napi::Number::New(info.Env(), id.value_or(0));
}

Napi::Value EngineObject::DropTarget(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) engine->DropTarget(info[0].As<Napi::Number>().Uint32Value());
  return {};
}

Napi::Value EngineObject::AddPool(const Napi::CallbackInfo& info) {
  if (Ended(info)) return {};
  return Napi::Number::New(info.Env(), Of(info).engine_->AddPool(NumbersOf(info[0])));
}

Napi::Value EngineObject::AbortDials(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) engine->AbortDials(NumbersOf(info[0]));
  return {};
}

Napi::Value EngineObject::ShareSlots(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) {
    const auto names = info[2].As<Napi::Array>();
    std::unordered_set<std::string> groups;
    for (std::uint32_t i = 0; i < names.Length(); i += 1) {
      const Napi::HandleScope scope(info.Env());
      groups.insert(Napi::Value(names[i]).As<Napi::String>());
    }
    engine->ShareSlots(info[0].As<Napi::Number>().Int32Value(), info[1].As<Napi::Number>().Int32Value(), groups);
  }
  return {};
}

Napi::Value EngineObject::DropPool(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) engine->DropPool(info[0].As<Napi::Number>().Uint32Value());
  return {};
}

Napi::Value EngineObject::AbortAll(const Napi::CallbackInfo& info) {
  if (auto& engine = Of(info).engine_) {
    engine->AbortAll(static_cast<Outcome>(info[0].As<Napi::Number>().Uint32Value()));
  }
  return {};
}

Napi::Value EngineObject::Shares(const Napi::CallbackInfo& info) {
  Napi::Array shares = Napi::Array::New(info.Env());
  if (const auto& engine = Of(info).engine_) {
    for (const auto& [key, count] : engine->Shares()) {
      Napi::Array pair = Napi::Array::New(info.Env(), 2);
      pair.Set(0u, key);
      pair.Set(1u, count);
      shares.Set(shares.Length(), pair);
    }
  }
  return shares;
}

Napi::Value EngineObject::Stats(const Napi::CallbackInfo& info) {
  const Shared& shared = *Of(info).shared_;
  Napi::Object stats = Napi::Object::New(info.Env());
  stats.Set("connections", shared.connections.load(std::memory_order_relaxed));
  stats.Set("unreported", shared.unreported.load(std::memory_order_relaxed));
  stats.Set("listenersClosing", shared.listeners_closing.load(std::memory_order_acquire));
  const auto& engine = Of(info).engine_;
  stats.Set("listenersKnown", engine ? static_cast<double>(engine->KnownListeners()) : 0.0);
  stats.Set("pendingDials", shared.pending_dials.load(std::memory_order_relaxed));
  stats.Set("helloMemoryBytes", static_cast<double>(shared.hellos.Used()));
  stats.Set("netnsHandles", shared.netns_handles.load(std::memory_order_relaxed));
  return stats;
}

Napi::Value EngineObject::Stop(const Napi::CallbackInfo& info) {
  EngineObject& self = Of(info);
  if (!self.engine_) return {};
  napi_remove_env_cleanup_hook(info.Env(), OnEnvironmentEnd, &self);
  self.Shutdown();
  return {};
}

void EngineObject::Shutdown() {
  if (engine_) engine_->Stop();
  engine_.reset();
  if (bell_ != nullptr) napi_release_threadsafe_function(std::exchange(bell_, nullptr), napi_tsfn_abort);
  handlers_.Release();
}

void EngineObject::DeliverAll() {
  for (int batch = 0; batch < kBatchesPerTurn; batch += 1) {
    if (!engine_ || !shared_->events.Take(events_)) return;
    delivering_ = true;
    for (const Event& event : events_) {
      if (!engine_) break;  // a handler called stop()
      napi_handle_scope scope = nullptr;
      napi_open_handle_scope(env_, &scope);
      const bool listener_gone = engine_->Delivered(event);
      handlers_.Deliver(event);
      if (listener_gone && engine_) handlers_.DeliverListenerGone(event.listener);
      napi_close_handle_scope(env_, scope);
    }
    delivering_ = false;
    // One wake-up for all answers of the batch.
    if (engine_) engine_->WakeAnswered();
  }
  if (engine_) Ring(this);
}

Napi::Value CreateEngine(const Napi::CallbackInfo& info) { return EngineObject::Create(info); }

}  // namespace isthmus
