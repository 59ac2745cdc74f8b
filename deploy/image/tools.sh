#!/bin/sh
# Installs what the build stage needs beside node and npm. A base that has everything stays unchanged and needs no package mirror.
set -eu
packages=
for pair in g++:g++ make:make python3:python3 readelf:binutils; do
  command -v "${pair%%:*}" >/dev/null || packages="$packages ${pair##*:}"
done
native=$(dpkg --print-architecture)
if [ "${TARGETARCH:-$native}" = arm64 ] && [ "$native" != arm64 ]; then
  command -v aarch64-linux-gnu-g++ >/dev/null || packages="$packages g++-aarch64-linux-gnu"
fi
[ -z "$packages" ] && exit 0
apt-get update
# shellcheck disable=SC2086 # names, one per word
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
