/** What is mounted where, from /proc/self/mountinfo. */
import type { Machine } from './machine.ts';
import { nearestFolder } from './machine.ts';

export interface Mount {
  /** Where. */
  point: string;
  options: readonly string[];
  /** `ext4`, `tmpfs`, `nfs4`. */
  type: string;
  source: string;
}

/** Spaces and the like are written as octal numbers. */
function plain(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** Reads `mountinfo` as proc(5) describes it. Options of the mount and of its file system together. */
export function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , , point, options] = before.split(' ');
    const [type, source, superOptions = ''] = after.split(' ');
    if (point === undefined || type === undefined) return [];
    return [
      {
        point: plain(point),
        options: [...(options ?? '').split(','), ...superOptions.split(',')],
        type,
        source: plain(source ?? ''),
      },
    ];
  });
}

/** The mount that a path lies on; the last of those with the longest point hides the others. */
export function mountOf(mounts: readonly Mount[], path: string): Mount | null {
  let best: Mount | null = null;
  for (const mount of mounts) {
    const isAbove =
      mount.point === '/' || path === mount.point || path.startsWith(`${mount.point}/`);
    if (isAbove && mount.point.length >= (best?.point.length ?? 0)) best = mount;
  }
  return best;
}

/** The mount of a folder, which need not exist yet. A StateDirectory of systemd is reached by a link. */
export function mountBelow(machine: Machine, path: string): Mount | null {
  const mounts = parseMounts(machine.read('/proc/self/mountinfo') ?? '');
  return mountOf(mounts, machine.real(nearestFolder(machine, path)));
}
