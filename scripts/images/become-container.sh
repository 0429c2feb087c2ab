#!/bin/sh
# Started by container.ts in fresh namespaces: makes the root of an image, read-only but for /tmp and
# one folder, the root of this process, and becomes the given command.
#
#   become-container.sh pivot|chroot exec|noexec ROOT DATA_FOLDER MEMORY_BYTES COMMAND ...
set -eu
way=$1 tmp=$2 root=$3 data=$4 memory=$5
shift 5
if [ "$memory" != 0 ]; then
  group=/sys/fs/cgroup/memory/image-smoke
  limit=memory.limit_in_bytes
  [ -d /sys/fs/cgroup/memory ] || { group=/sys/fs/cgroup/image-smoke; limit=memory.max; }
  mkdir -p "$group"
  echo "$memory" > "$group/$limit"
  echo $$ > "$group/cgroup.procs"
fi
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o nosuid,nodev,noexec,ro sysfs "$root/sys"
[ ! -d /sys/fs/cgroup/memory ] || mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
mount -t tmpfs -o nosuid,mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm"
mount -t tmpfs -o nosuid,nodev,noexec,mode=1777,size=64m shm "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mount -t tmpfs -o "nosuid,nodev,$tmp,mode=1777" tmp "$root/tmp"
# As a volume gets it: with the owner and the mode of the folder it covers.
mode=$(stat -c %a "$root$data")
mount -t tmpfs -o "nosuid,nodev,mode=$mode" data "$root$data"
printf '127.0.0.1 localhost\n::1 localhost\n' > "$root/tmp/hosts"
[ -e "$root/etc/hosts" ] || touch "$root/etc/hosts"
mount --bind "$root/tmp/hosts" "$root/etc/hosts"
mount -o remount,bind,ro "$root"
cd "$root"
if [ "$way" = pivot ]; then
  mkdir tmp/old
  pivot_root . tmp/old
  cd /
  umount -l /tmp/old
  rmdir /tmp/old
  exec "$@"
fi
exec chroot "$root" "$@"
