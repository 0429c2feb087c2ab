import { existsSync } from 'node:fs';
import { distrustOf } from '../../script-host/work-folder.ts';
import { bytesText } from '../units.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import { nearestFolder } from '../machine.ts';
import { mountBelow } from '../mounts.ts';
import { probeFolder } from '../../status/probe-folder.ts';
import { judgeWriting, ownerOf, type WritingFacts } from '../judge-writing.ts';
import type { Check } from '../step.ts';

const affected = 'only checks with code or a browser are affected';

export interface WorkFacts extends WritingFacts {
  /** Why runs may not use it, although it is there. */
  distrust: string | null;
  /** Mounted with `noexec`, and suites are to run here. */
  isNoExec: boolean;
  point: string;
  freeBytes: number | null;
  wantedBytes: number;
}

/** Runs write here, and suites start what they have written. */
export function judgeWork(facts: WorkFacts): Finding[] {
  const { path, distrust, isNoExec, point, freeBytes, wantedBytes } = facts;
  if (distrust !== null) {
    return fail(
      `${path} cannot be used: ${distrust}`,
      `remove it, or set AGENT_WORK_DIR to a folder of this user alone; ${affected}`,
    );
  }
  const writing = judgeWriting(facts, {
    setting: 'AGENT_WORK_DIR',
    mount: 'a tmpfs or an emptyDir',
  });
  if (writing.length > 0)
    return writing.map((one) => ({ ...one, fix: `${one.fix ?? ''}; ${affected}` }));
  if (isNoExec) {
    return fail(
      `${point}, where ${path} lies, is mounted with noexec: suites (PLAYWRIGHT checks) cannot start their programs`,
      `mount it with exec (docker --tmpfs ${point}:exec), or set AGENT_WORK_DIR to a folder on another file system; no other checks are affected`,
    );
  }
  if (freeBytes !== null && freeBytes < wantedBytes) {
    return warn(
      `${path} has ${bytesText(freeBytes)} free; one run may use ${bytesText(wantedBytes)}`,
      `make room, or lower SCRIPT_DISK_MB; ${affected}`,
    );
  }
  const free = freeBytes === null ? '' : `, ${bytesText(freeBytes)} free`;
  return ok(`${path} can be written${free}`);
}

export const checkWorkDirectory: Check = ({ config, machine }) => {
  const path = config.AGENT_WORK_DIR;
  const mount = mountBelow(machine, path);
  return judgeWork({
    path,
    distrust: existsSync(path) ? distrustOf(path) : null,
    problem: probeFolder(path),
    owner: ownerOf(machine, path),
    uid: process.getuid?.() ?? 0,
    isNoExec:
      config.AGENT_CHECK_TYPES?.includes('PLAYWRIGHT') !== false &&
      mount?.options.includes('noexec') === true,
    point: mount?.point ?? '/',
    freeBytes: machine.fileSystem(nearestFolder(machine, path))?.freeBytes ?? null,
    wantedBytes: config.SCRIPT_DISK_MB * 1_048_576,
  });
};
