/** The disks of the virtual machine: Debian with systemd, kept for the next time, and this tree. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const suite = 'bookworm';
const mirror = process.env['DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian';
const packages = [
  ...['systemd', 'systemd-sysv', 'dbus', 'linux-image-cloud-amd64', 'initramfs-tools'],
  ...['iproute2', 'iputils-ping', 'procps', 'ca-certificates', 'libcap2-bin', 'git'],
];

/** What is in the machine and in no package: where Node and the tree are, and what starts the command. */
const files: Readonly<Record<string, string>> = {
  'etc/hostname': 'lab\n',
  'etc/hosts': '127.0.0.1 localhost lab\n::1 localhost\n',
  'etc/resolv.conf': 'nameserver 127.0.0.1\n',
  'etc/fstab': '/dev/vdb /opt/monitor ext4 defaults 0 0\ntmpfs /tmp tmpfs mode=1777 0 0\n',
  'etc/systemd/system/lab.service': `[Unit]
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
`,
};

export interface Disks {
  kernel: string;
  initialRamDisk: string;
  system: string;
}

function run(program: string, ...words: string[]): void {
  execFileSync(program, words, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** An ext4 file system with what is in a folder, in a file that takes no more than is in it. */
function makeDisk(file: string, folder: string, size: string): void {
  rmSync(file, { force: true });
  run('mke2fs', '-q', '-F', '-t', 'ext4', '-m', '0', '-N', '200000', '-d', folder, file, size);
}

/** Made once: two minutes. */
export function ensureSystem(folder: string): Disks {
  const disks = {
    kernel: join(folder, 'vmlinuz'),
    initialRamDisk: join(folder, 'initrd'),
    system: join(folder, 'system.ext4'),
  };
  if (existsSync(disks.system)) return disks;
  mkdirSync(folder, { recursive: true });
  const root = mkdtempSync(join(tmpdir(), 'vm-'));
  try {
    const wanted = `--include=${packages.join(',')}`;
    run('debootstrap', '--variant=minbase', wanted, suite, root, mirror);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    symlinkSync('/opt/monitor/node_modules/node/bin/node', join(root, 'usr/bin/node'));
    const wants = join(root, 'etc/systemd/system/multi-user.target.wants');
    symlinkSync('../lab.service', join(wants, 'lab.service'));
    mkdirSync(join(root, 'opt/monitor'));
    run('rm', '-rf', ...['var/cache/apt', 'var/lib/apt/lists'].map((name) => join(root, name)));
    const boot = readdirSync(join(root, 'boot'));
    for (const [to, start] of [
      [disks.kernel, 'vmlinuz-'],
      [disks.initialRamDisk, 'initrd.img-'],
    ] as const) {
      const name = boot.find((each) => each.startsWith(start));
      if (name === undefined) throw new Error(`${start}* is not in /boot of the new system`);
      cpSync(join(root, 'boot', name), to);
    }
    makeDisk(`${disks.system}.new`, root, '2G');
    renameSync(`${disks.system}.new`, disks.system);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return disks;
}

/** This tree as it is now, with its packages, and the command for the machine. */
export function makeTreeDisk(file: string, tree: string, command: string): void {
  // Beside the packages, so that hard links do for copies.
  const folder = mkdtempSync(join(tree, 'node_modules/.cache/vm-tree-'));
  try {
    for (const name of readdirSync(tree)) {
      if (name === '.git' || name === 'node_modules') continue;
      run('cp', '-a', join(tree, name), folder);
    }
    mkdirSync(join(folder, 'node_modules'));
    for (const name of readdirSync(join(tree, 'node_modules'))) {
      if (name === '.cache') continue;
      run('cp', '-al', join(tree, 'node_modules', name), join(folder, 'node_modules'));
    }
    writeFileSync(join(folder, '.vm-command'), `${command}\n`);
    run('chmod', '0755', folder);
    makeDisk(file, folder, '2G');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
