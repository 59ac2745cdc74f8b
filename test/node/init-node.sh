# PID 1 of a node: <name> <state directory> <namespace directory> <cgroup hierarchies…>. It runs in new namespaces and in cgroups of its
# own, mounts what a booted machine has, and reaps processes. The file <state directory>/lib/booted says that it is done.
set -eu
name=$1 state=$2 netns=$3
shift 3

hostname "$name"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
for hierarchy in "$@"; do
  mkdir "/sys/fs/cgroup/$hierarchy"
  case $hierarchy in
    systemd) mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd ;;
    *) mount -t cgroup -o "$hierarchy" cgroup "/sys/fs/cgroup/$hierarchy" ;;
  esac
done

# The kubelet compares these settings with its own, or writes them. They belong to the whole machine, so it sees files instead.
set -- vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000
for setting in "$@"; do
  file=$state/sysctl/$(echo "${setting%%=*}" | tr / .)
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%%=*}"
done
echo 1 >/proc/sys/net/ipv4/ip_forward

mount --bind "$state/lib" /var/lib
mount --bind "$state/log" /var/log
mount -t tmpfs -o mode=1777 tmp /tmp
# An empty /run, as after each boot. The namespaces in it come from the test, through the propagation of mounts.
mount -t tmpfs -o mode=755 run "$state/run"
mkdir "$state/run/netns"
mount --rbind "$netns" "$state/run/netns"
mount --rbind "$state/run" /run
mount --make-rshared / # as systemd does: a Pod with HostToContainer needs it
: >/var/lib/booted

while :; do
  sleep 86400 &
  wait "$!" || :
done
