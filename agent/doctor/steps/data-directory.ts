/** AGENT_DATA_DIR holds results until the control plane has them: where it fails, results are lost. */
import { join } from 'node:path';
import { readRecipients, recipientRemarks } from '../../encryption/recipients.ts';
import { bytesText, counted } from '../units.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import { nearestFolder, type FileSystem, type Machine } from '../machine.ts';
import { mountBelow } from '../mounts.ts';
import { processState, type ProcessState } from '../process-state.ts';
import { probeFolder } from '../../status/probe-folder.ts';
import { judgeWriting, ownerOf, type WritingFacts } from '../judge-writing.ts';
import type { Check } from '../step.ts';

export interface DataFacts extends WritingFacts {
  fileSystem: FileSystem | null;
  fileSystemType: string | null;
  wantedBytes: number;
  heldBy: Holder;
}

/**
 * The holder of the folder: the agent of this machine, an agent of another machine, or an unknown
 * process.
 */
export type Holder =
  | { kind: 'nobody' }
  | { kind: 'agent-here'; pid: number }
  | { kind: 'agent-on-another-machine'; hostname: string }
  | { kind: 'silent'; pid: number; state: ProcessState };

const network = /^(nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|glusterfs|fuse\.(sshfs|glusterfs|s3fs))$/;
const volatileTypes = /^(tmpfs|ramfs)$/;
/** The outbox, its log, the schedule and a few files of results. */
const fewInodes = 200;
/** Not even the outbox can be opened with less. */
const minBytes = 1_048_576;

function judgeHolder({ path, heldBy }: DataFacts): Finding[] {
  switch (heldBy.kind) {
    case 'agent-on-another-machine':
      return fail(
        `${path} is used by an agent on ${heldBy.hostname}`,
        'give each agent a folder of its own with AGENT_DATA_DIR (in Kubernetes a claim for each replica)',
      );
    case 'silent':
      return (heldBy.state.isStopped ? fail : warn)(
        `${path} is used by process ${heldBy.pid}, which does not answer with its status: ${heldBy.state.what}`,
        heldBy.state.fix,
      );
    case 'agent-here':
    case 'nobody':
      return [];
  }
}

function judgeRoom({ path, fileSystem, wantedBytes }: DataFacts): Finding[] {
  if (fileSystem === null) return [];
  const { freeBytes, inodes, freeInodes } = fileSystem;
  if (freeBytes < minBytes) {
    return fail(
      `${path} has ${bytesText(freeBytes)} free: results cannot be kept`,
      'make room on that disk (df -h), or set AGENT_DATA_DIR to a folder on another one',
    );
  }
  if (inodes > 0 && freeInodes < fewInodes) {
    const evidence = `${path} has ${counted(freeInodes, 'inode')} left: no file can be made although there is space`;
    const fix = 'delete files on that file system (df -i), or set AGENT_DATA_DIR to another one';
    return freeInodes < 10 ? fail(evidence, fix) : warn(evidence, fix);
  }
  if (freeBytes < wantedBytes) {
    return warn(
      `${path} has ${bytesText(freeBytes)} free; an outage may need ${bytesText(wantedBytes)}`,
      'make room, or lower OUTBOX_MAX_BYTES and ARTIFACTS_MAX_BYTES; until then the oldest results may be lost in an outage',
    );
  }
  return [];
}

function judgeKind({ path, fileSystemType: type }: DataFacts): Finding[] {
  if (type === null) return [];
  if (volatileTypes.test(type)) {
    return warn(
      `${path} is in memory (${type}): results that wait are lost with a restart of the machine or container`,
      `mount a volume that keeps its files at ${path}`,
    );
  }
  if (network.test(type)) {
    return warn(
      `${path} is on a network (${type}), where SQLite's locks and memory maps are not dependable`,
      'set AGENT_DATA_DIR to a local disk or a block volume',
    );
  }
  return [];
}

/** What keeps results from being safe first, what merely threatens them after it. */
export function judgeData(facts: DataFacts): Finding[] {
  const held = judgeHolder(facts);
  const writing = judgeWriting(facts, {
    setting: 'AGENT_DATA_DIR',
    mount:
      'a volume that keeps its files (docker -v, a claim of Kubernetes, StateDirectory of systemd)',
  });
  const isWritable = writing.length === 0;
  const findings = [
    ...(isWritable ? [...held, ...judgeRoom(facts)] : writing),
    ...judgeKind(facts),
  ];
  if (findings.length > 0) return findings;
  const free = facts.fileSystem === null ? '' : `, ${bytesText(facts.fileSystem.freeBytes)} free`;
  const used =
    facts.heldBy.kind === 'agent-here' ? `, in use by the agent (process ${facts.heldBy.pid})` : '';
  return ok(`${facts.path} can be written${free}${used}`);
}

/** The process that holds a lock on a file, by /proc/locks: `MAJOR:MINOR:INODE` in hex, hex, decimal. */
export function lockHolder(locks: string, inode: number): number | null {
  for (const line of locks.split('\n')) {
    const [, pid, file] = /\sWRITE\s+(\d+)\s+(\S+)/.exec(line) ?? [];
    if (file?.split(':')[2] === String(inode)) return Number(pid);
  }
  return null;
}

export function holderByLock(machine: Machine, path: string): Holder {
  const inode = machine.stat(join(path, 'outbox.db'))?.ino;
  const locks = machine.read('/proc/locks') ?? '';
  const pid = inode === undefined ? null : lockHolder(locks, inode);
  return pid === null
    ? { kind: 'nobody' }
    : { kind: 'silent', pid, state: processState(machine, pid) };
}

/** What this user may not do, the agent that holds the folder may, unless it says otherwise; what the disk does not let it do, nobody may. */
function probed(path: string, heldBy: Holder, said: string | null): WritingFacts['problem'] {
  const problem = probeFolder(path);
  const isOfDisk = problem !== null && /^(EROFS|ENOSPC|EDQUOT|EIO)$/.test(problem.code);
  if (heldBy.kind === 'nobody' || isOfDisk) return problem;
  return said === null ? null : { code: /^E[A-Z]+/.exec(said)?.[0] ?? '', message: said };
}

export const checkDataDirectory: Check = async ({ config, machine, runningAgent, clock }) => {
  const path = config.AGENT_DATA_DIR;
  const running = await runningAgent();
  const heldBy: Holder =
    running === null
      ? holderByLock(machine, path)
      : running.isHere
        ? { kind: 'agent-here', pid: running.status.pid }
        : { kind: 'agent-on-another-machine', hostname: running.status.hostname };
  const existing = nearestFolder(machine, path);
  const recipients = running?.status.encryption ?? readRecipients(path);
  const changes = recipients === null ? [] : recipientRemarks(recipients, clock.now());
  const found = judgeData({
    path,
    heldBy,
    problem: probed(path, heldBy, running?.isHere === true ? running.status.dataProblem : null),
    owner: ownerOf(machine, path),
    uid: process.getuid?.() ?? 0,
    fileSystem: machine.fileSystem(existing),
    fileSystemType: mountBelow(machine, path)?.type ?? null,
    wantedBytes: config.OUTBOX_MAX_BYTES + config.ARTIFACTS_MAX_BYTES,
  });
  return [
    ...found,
    ...changes.flatMap((text) => warn(text, 'compare these ids with the keys of your location')),
  ];
};
