// Delivers results with plain Node-API and ignores its statuses, because a call fails only while the environment shuts down.
#include "binding/prober_object.h"

#include <arpa/inet.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
#include "binding/environment.h"
#include "binding/throw.h"
#include "prober/prober.h"

namespace isthmus {
namespace {

constexpr int kBatchesPerTurn = 8;  // then DeliverAll() yields to the event loop

class ProberObject {
 public:
  static Napi::Value Create(const Napi::CallbackInfo& info);

 private:
  ProberObject(napi_env env, std::uint32_t most) : env_(env), taken_(most) {}

  static ProberObject& Of(const Napi::CallbackInfo& info) { return *static_cast<ProberObject*>(info.Data()); }

  static Napi::Value Start(const Napi::CallbackInfo& info);
  static Napi::Value Cancel(const Napi::CallbackInfo& info);
  static Napi::Value Stop(const Napi::CallbackInfo& info);

  static void Ring(void* self) {
    napi_call_threadsafe_function(static_cast<ProberObject*>(self)->bell_, nullptr, napi_tsfn_nonblocking);
  }
  static void OnBell(napi_env env, napi_value, void* self, void*) {
    if (env != nullptr) static_cast<ProberObject*>(self)->DeliverAll();
  }
  // Covers an environment that ends without a call of stop().
  static void OnEnvironmentEnd(void* self) { static_cast<ProberObject*>(self)->Shutdown(); }

  void DeliverAll();
  void Deliver(const ProbeResult& result);
  void Shutdown();

  napi_env env_;
  std::unique_ptr<Prober> prober_;
  napi_threadsafe_function bell_ = nullptr;
  napi_ref ended_ = nullptr;
  std::vector<ProbeResult> results_;
  std::vector<bool> taken_;  // places of probes whose result is not delivered yet
  std::uint32_t under_way_ = 0;
};

std::optional<int> PositiveField(const Napi::CallbackInfo& info, const Napi::Object& object, const char* name, int most) {
  const Napi::Value value = object.Get(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : 0;
  if (number >= 1 && number <= most) return static_cast<int>(number);
  ThrowCoded(info.Env(), ErrorClass::kRangeError, "ERR_OUT_OF_RANGE",
             std::string("The \"") + name + "\" setting must be from 1 to " + std::to_string(most));
  return std::nullopt;
}

// Returns 0 for an invalid address. A probe of it ends with EINVAL, and the backend counts as unreachable.
socklen_t AddressOf(const std::string& text, int port, sockaddr_in6& v6) {
  if (port > 0xffff || text.find('\0') != std::string::npos) return 0;
  auto& v4 = reinterpret_cast<sockaddr_in&>(v6);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    return sizeof v4;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) != 1) return 0;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  return sizeof v6;
}

Napi::Value ProberObject::Create(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject() || !info[1].IsFunction()) {
    return ThrowCoded(env, ErrorClass::kTypeError, "ERR_INVALID_ARG_TYPE", "createProber takes settings and a function");
  }
  const auto settings = info[0].As<Napi::Object>();
  const auto most = PositiveField(info, settings, "most", Prober::kMost);
  if (!most) return {};
  const auto timeout_ms = PositiveField(info, settings, "timeoutMs", 3'600'000);
  if (!timeout_ms) return {};

  // The object stays until the environment ends, because JavaScript can keep its functions. stop() frees the large parts.
  auto* self = new ProberObject(env, static_cast<std::uint32_t>(*most));
  Environment::Of(env).Keep(self, [](void* object) { delete static_cast<ProberObject*>(object); });
  self->prober_ = std::make_unique<Prober>(static_cast<std::uint32_t>(*most), *timeout_ms, Ring, self);
  napi_create_reference(env, info[1], 1, &self->ended_);
  napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, "isthmus prober"), 0, 1, nullptr, nullptr,
                                  self, OnBell, &self->bell_);
  if (const auto error = self->prober_->Start()) {
    self->Shutdown();
    return ThrowSysError(env, *error, nullptr);
  }
  // Only pending probes keep the event loop alive, as an open socket would.
  napi_unref_threadsafe_function(env, self->bell_);
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, self);

  Napi::Object object = Napi::Object::New(env);
  const auto method = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    object.Set(name, Napi::Function::New(env, function, name, self));
  };
  method("start", Start);
  method("cancel", Cancel);
  method("stop", Stop);
  return object;
}

// (place, netnsPath | null, identity | null, address, port)
Napi::Value ProberObject::Start(const Napi::CallbackInfo& info) {
  ProberObject& self = Of(info);
  const auto place = IntArgument(info, 0, "place");
  if (!place) return {};
  const auto number = static_cast<std::uint32_t>(*place);
  if (!self.prober_ || number >= self.taken_.size() || self.taken_[number]) {
    return ThrowCoded(info.Env(), ErrorClass::kError, "ERR_PROBE_PLACE", "The prober is stopped, or the place is not free");
  }
  ProbeRequest request;
  request.place = number;
  if (!info[1].IsNull()) {
    auto path = PathArgument(info, 1, "netnsPath");
    if (!path) return {};
    auto identity = PathArgument(info, 2, "identity");
    if (!identity) return {};
    request.netns_path = std::move(*path);
    request.netns_identity = std::move(*identity);
  }
  const auto port = IntArgument(info, 4, "port");
  if (!port) return {};
  request.length = AddressOf(info[3].IsString() ? info[3].As<Napi::String>().Utf8Value() : "", *port, request.address);
  self.taken_[number] = true;
  self.under_way_ += 1;
  if (self.under_way_ == 1) napi_ref_threadsafe_function(info.Env(), self.bell_);
  self.prober_->Probe(std::move(request));
  return {};
}

Napi::Value ProberObject::Cancel(const Napi::CallbackInfo& info) {
  ProberObject& self = Of(info);
  const auto place = IntArgument(info, 0, "place");
  if (!place) return {};
  const auto number = static_cast<std::uint32_t>(*place);
  if (self.prober_ && number < self.taken_.size() && self.taken_[number]) self.prober_->Cancel(number);
  return {};
}

Napi::Value ProberObject::Stop(const Napi::CallbackInfo& info) {
  ProberObject& self = Of(info);
  if (!self.prober_) return {};
  napi_remove_env_cleanup_hook(info.Env(), OnEnvironmentEnd, &self);
  self.Shutdown();
  return {};
}

void ProberObject::Shutdown() {
  if (prober_) prober_->Stop();
  prober_.reset();
  if (bell_ != nullptr) napi_release_threadsafe_function(std::exchange(bell_, nullptr), napi_tsfn_abort);
  if (ended_ != nullptr) napi_delete_reference(env_, std::exchange(ended_, nullptr));
}

void ProberObject::DeliverAll() {
  for (int batch = 0; batch < kBatchesPerTurn; batch += 1) {
    if (!prober_ || !prober_->Take(results_)) return;
    for (const ProbeResult& result : results_) {
      if (!prober_) return;  // a handler called stop()
      napi_handle_scope scope = nullptr;
      napi_open_handle_scope(env_, &scope);
      Deliver(result);
      napi_close_handle_scope(env_, scope);
    }
  }
  if (prober_) Ring(this);
}

void ProberObject::Deliver(const ProbeResult& result) {
  taken_[result.place] = false;
  under_way_ -= 1;
  if (under_way_ == 0) napi_unref_threadsafe_function(env_, bell_);
  napi_value arguments[3] = {};
  napi_create_uint32(env_, result.place, &arguments[0]);
  if (result.error) {
    const std::string code = CodeOf(*result.error);
    napi_create_string_utf8(env_, code.data(), code.size(), &arguments[1]);
  } else {
    napi_get_null(env_, &arguments[1]);
  }
  napi_create_double(env_, result.duration_ms, &arguments[2]);
  napi_value function = nullptr;
  napi_value receiver = nullptr;
  napi_get_reference_value(env_, ended_, &function);
  napi_get_undefined(env_, &receiver);
  if (napi_call_function(env_, receiver, function, std::size(arguments), arguments, nullptr) != napi_pending_exception) return;
  // An exception here is a bug in JavaScript. Treat it like any uncaught exception.
  napi_value exception = nullptr;
  napi_get_and_clear_last_exception(env_, &exception);
  napi_fatal_exception(env_, exception);
}

}  // namespace

Napi::Value CreateProber(const Napi::CallbackInfo& info) { return ProberObject::Create(info); }

}  // namespace isthmus
