#!/bin/sh
# A machine with control groups v2 and systemd as process 1, for what can be tried nowhere else:
#
#   npm run vm -- 'COMMAND'      runs it as root in this tree, on the machine, and ends as it ends
#   npm run vm                   a shell on the machine
#
# Emulated in software, so it works anywhere and is about 15 times slower. What the console said is in
# node_modules/.cache/vm/console.log. Nothing that happens on the machine is kept.
set -eu
suite=bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages=systemd,systemd-sysv,dbus,linux-image-cloud-amd64,initramfs-tools,iproute2,iputils-ping,procps,ca-certificates,libcap2-bin,git
tree=$(cd "$(dirname "$0")/.." && pwd)
cache=$tree/node_modules/.cache/vm

fail() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail 'only root can make the disks of the machine'
for pair in qemu-system-x86_64:qemu-system-x86 debootstrap:debootstrap mke2fs:e2fsprogs; do
  command -v "${pair%:*}" > /dev/null || fail "${pair%:*} is missing: apt-get install ${pair#*:}"
done
mkdir -p "$cache"
work=$(mktemp -d)
# Beside the packages, so that hard links do for copies.
copy=$cache/tree-$$
trap 'rm -rf "$work" "$copy" "$copy.ext4"' EXIT
trap 'exit 1' INT TERM

# An ext4 file system with what is in a folder, in a file that takes no more than is in it.
make_disk() { rm -f "$1" && mke2fs -q -F -t ext4 -m 0 -N 200000 -d "$2" "$1" 2G > /dev/null; }

# Debian with systemd, made once: two minutes. Node and the tree are on a disk of their own.
if [ ! -e "$cache/system.ext4" ]; then
  root=$work/root
  debootstrap --variant=minbase "--include=$packages" "$suite" "$root" "$mirror" > /dev/null
  echo lab > "$root/etc/hostname"
  printf '127.0.0.1 localhost lab\n::1 localhost\n' > "$root/etc/hosts"
  echo 'nameserver 127.0.0.1' > "$root/etc/resolv.conf"
  printf '/dev/vdb /opt/monitor ext4 defaults 0 0\ntmpfs /tmp tmpfs mode=1777 0 0\n' > "$root/etc/fstab"
  cat > "$root/etc/systemd/system/lab.service" << 'END'
[Unit]
Description=What this machine was started for
After=multi-user.target

[Service]
Type=idle
ExecStart=/bin/bash -c 'cd /opt/monitor && bash .vm-command; echo "vm: exit $?"'
ExecStopPost=/bin/systemctl poweroff --force --force
Environment=HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin:/opt/monitor/node_modules/.bin
StandardInput=tty
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
END
  ln -s ../lab.service "$root/etc/systemd/system/multi-user.target.wants/lab.service"
  ln -s /opt/monitor/node_modules/node/bin/node "$root/usr/bin/node"
  mkdir "$root/opt/monitor"
  rm -rf "$root/var/cache/apt" "$root/var/lib/apt/lists"
  cp "$root"/boot/vmlinuz-* "$cache/vmlinuz"
  cp "$root"/boot/initrd.img-* "$cache/initrd"
  make_disk "$cache/system.ext4.new" "$root"
  mv "$cache/system.ext4.new" "$cache/system.ext4"
fi

# This tree as it is now, with its packages, and the command for the machine.
mkdir -p "$copy/node_modules"
for path in "$tree"/* "$tree"/.[!.]*; do
  case ${path##*/} in .git | node_modules) ;; *) cp -a "$path" "$copy" ;; esac
done
for path in "$tree"/node_modules/* "$tree"/node_modules/.[!.]*; do
  [ "${path##*/}" = .cache ] || cp -al "$path" "$copy/node_modules"
done
printf '%s\n' "${*:-exec bash -i}" > "$copy/.vm-command"
make_disk "$copy.ext4" "$copy"

options=if=virtio,format=raw,snapshot=on,cache=unsafe
qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 4096 \
  -nodefaults -no-user-config -display none -no-reboot -nic none \
  -kernel "$cache/vmlinuz" -initrd "$cache/initrd" \
  -append 'root=/dev/vda rw console=ttyS0 mitigations=off quiet panic=-1' \
  -drive "file=$cache/system.ext4,$options" -drive "file=$copy.ext4,$options" \
  -serial "file:$cache/console.log" -serial stdio | tee "$work/said"
status=$(tail -c 100 "$work/said" | tr -d '\r' | sed -n 's/^vm: exit \([0-9]*\)$/\1/p')
[ -n "$status" ] || fail 'The machine ended before the command did: see console.log'
exit "$status"
