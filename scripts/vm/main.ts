/**
 * A machine with control groups v2 and systemd as process 1, for what can be tried nowhere else:
 *
 *   npm run vm -- 'COMMAND'      runs it as root in this tree, on the machine, and ends as it ends
 *   npm run vm                   a shell on the machine
 *
 * Emulated in software, so it works anywhere and is about 15 times slower. What the console said is in
 * node_modules/.cache/vm/console.log. Nothing that happens on the machine is kept.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureSystem, makeTreeDisk } from './disks.ts';

const tree = join(import.meta.dirname, '../..');
const cache = join(tree, 'node_modules/.cache/vm');
const packageOf = {
  'qemu-system-x86_64': 'qemu-system-x86',
  debootstrap: 'debootstrap',
  mke2fs: 'e2fsprogs',
};

function requirePrograms(): void {
  if (process.getuid?.() !== 0) throw new Error('only root can make the disks of the machine');
  for (const [program, name] of Object.entries(packageOf)) {
    const { error } = spawnSync(program, ['--version'], { stdio: 'ignore' });
    if (error !== undefined) throw new Error(`${program} is missing: apt-get install ${name}`);
  }
}

/** Exit status of the command; null when the machine ended before it did. */
async function boot(command: string): Promise<number | null> {
  const disks = ensureSystem(cache);
  const treeDisk = join(cache, `tree-${process.pid}.ext4`);
  makeTreeDisk(treeDisk, tree, command);
  const drive = (file: string): string[] => [
    '-drive',
    `file=${file},if=virtio,format=raw,snapshot=on,cache=unsafe`,
  ];
  const machine = spawn(
    'qemu-system-x86_64',
    [
      ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '4096'],
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-nic', 'none'],
      ...['-kernel', disks.kernel, '-initrd', disks.initialRamDisk],
      ...['-append', 'root=/dev/vda rw console=ttyS0 mitigations=off quiet panic=-1'],
      ...drive(disks.system),
      ...drive(treeDisk),
      ...['-serial', `file:${join(cache, 'console.log')}`, '-serial', 'stdio'],
    ],
    { stdio: ['inherit', 'pipe', 'inherit'] },
  );
  try {
    let tail = '';
    machine.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      tail = (tail + text).slice(-100);
    });
    await once(machine, 'close');
    const status = /^vm: exit (\d+)\r?$/m.exec(tail)?.[1];
    return status === undefined ? null : Number(status);
  } finally {
    machine.kill('SIGKILL');
    rmSync(treeDisk, { force: true });
  }
}

requirePrograms();
mkdirSync(cache, { recursive: true });
const status = await boot(process.argv.slice(2).join(' ') || 'exec bash -i');
if (status === null) console.error('The machine ended before the command did: see console.log');
process.exitCode = status ?? 1;
