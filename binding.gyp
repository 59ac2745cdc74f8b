# Builds the addon linux-netns (native/README.md). ISTHMUS_SANITIZE=1 (scripts/addon/build-addon.mjs --sanitize) adds ASan and UBSan.
{
  'variables': {
    'sanitize%': '<!(echo "${ISTHMUS_SANITIZE:-0}")',
    # ISTHMUS_PORTABLE=1 builds for other machines, so it links the C++ library statically (build-addon.mjs --flavour).
    'portable%': '<!(echo "${ISTHMUS_PORTABLE:-0}")',
    # Warnings are errors in a clone only. In an installed package a newer compiler must not break the build.
    'strict%': '<!(test -e package-lock.json && echo 1 || echo 0)',
  },
  'targets': [
    {
      'target_name': 'linux_netns',
      'sources': [
        'native/addon.cc',
        'native/binding/arguments.cc',
        'native/binding/engine_answers.cc',
        'native/binding/engine_handlers.cc',
        'native/binding/engine_limits.cc',
        'native/binding/engine_object.cc',
        'native/binding/environment.cc',
        'native/binding/netns_object.cc',
        'native/binding/prober_object.cc',
        'native/binding/service_functions.cc',
        'native/binding/socket_functions.cc',
        'native/binding/throw.cc',
        'native/engine/accept.cc',
        'native/engine/dial.cc',
        'native/engine/engine.cc',
        'native/engine/evict.cc',
        'native/engine/hello.cc',
        'native/engine/resources/hello_pool.cc',
        'native/engine/socket/keepalive.cc',
        'native/engine/farewell.cc',
        'native/engine/plain_hello.cc',
        'native/engine/backends/pool.cc',
        'native/engine/socket/queue_bounds.cc',
        'native/engine/relay.cc',
        'native/engine/reset.cc',
        'native/engine/resources/source_queue.cc',
        'native/engine/backends/target.cc',
        'native/engine/worker.cc',
        'native/prober/prober.cc',
        'native/sys/descriptor_passing.cc',
        'native/sys/listening_socket.cc',
        'native/sys/netns_file.cc',
        'native/sys/netns_handle.cc',
        'native/sys/netns_scope.cc',
        'native/sys/notify_datagram.cc',
        'native/sys/socket_options.cc',
        'native/sys/sys_error.cc',
        'native/sys/tcp_state.cc',
      ],
      'include_dirs': ['native'],
      'defines': [
        'NAPI_VERSION=9',
        'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS',
        'NODE_ADDON_API_DISABLE_DEPRECATED',
        # A worker that is being terminated cannot throw. Without this define the C++ wrapper then ends the process.
        'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
        '_GNU_SOURCE',
      ],
      'cflags_cc': [
        '-std=c++20',
        '-fno-exceptions',
        '-fvisibility=hidden',
        '-fstack-protector-strong',
        '-Wall',
        '-Wextra',
        '-Wshadow',
        '-Wconversion',
        '-Wno-missing-field-initializers',
        '-isystem <!(node -p "require(\'path\').resolve(require(\'node-addon-api\').include_dir)")',
      ],
      'ldflags': ['-Wl,-z,relro,-z,now', '-Wl,-z,noexecstack'],
      'conditions': [
        ['strict==1 or sanitize==1', { 'cflags_cc': ['-Werror'] }],
        # exports.map hides the symbols of the static C++ library: they must not clash with Node's own C++ library.
        ['portable==1', {
          'ldflags': ['-static-libstdc++', '-static-libgcc', '-Wl,--version-script=<(module_root_dir)/native/exports.map', '-Wl,--build-id=none', '-s'],
        }],
        ['sanitize==1', {
          # vptr needs RTTI, and Node builds addons without it.
          'cflags_cc': ['-fsanitize=address,undefined', '-fno-sanitize=vptr', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer', '-g', '-O1'],
          'cflags_cc!': ['-O3'],
          'ldflags': ['-fsanitize=address,undefined'],
        }, {
          'cflags_cc': ['-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2'],
        }],
      ],
    },
  ],
}
