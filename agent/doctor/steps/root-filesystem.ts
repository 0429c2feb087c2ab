import { tmpdir } from 'node:os';
import type { AgentConfig } from '../../config.ts';
import { fail, ok, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import { isReadOnly, mountBelow } from '../mounts.ts';
import type { Step } from '../step.ts';

interface AgentFolder {
  setting: string;
  path: string;
}

/** Folders that the agent writes to. */
export function foldersOf(config: AgentConfig): AgentFolder[] {
  return [
    { setting: 'AGENT_DATA_DIR', path: config.AGENT_DATA_DIR },
    { setting: 'AGENT_WORK_DIR', path: config.AGENT_WORK_DIR },
    { setting: 'TMPDIR', path: tmpdir() },
  ];
}

/** Whether a folder lies on something that is mounted read-only. */
export function isOnReadOnly(machine: Machine, path: string): boolean {
  const mount = mountBelow(machine, path);
  return mount !== null && isReadOnly(mount);
}

/** A read-only root is a good thing as long as our folders are elsewhere. */
export function judgeRoot(isRootReadOnly: boolean, affected: readonly AgentFolder[]): Finding[] {
  if (affected.length === 0) {
    return [
      ok(
        isRootReadOnly
          ? 'read-only, and what the agent writes has room on other file systems'
          : 'can be written to',
      ),
    ];
  }
  return affected.map(({ setting, path }) =>
    fail(
      `${setting} (${path}) lies on a read-only file system`,
      setting === 'AGENT_DATA_DIR'
        ? `mount a volume that keeps its files at ${path} (docker -v, an emptyDir or claim of Kubernetes, StateDirectory of systemd)`
        : `mount a tmpfs or an emptyDir at ${path}, or set ${setting} to a folder that can be written`,
    ),
  );
}

export const rootFilesystem: Step = {
  id: 'root-filesystem',
  name: 'root file system',
  needs: [],
  limitMs: 1_000,
  check({ machine, config }) {
    const affected = foldersOf(config).filter(({ path }) => isOnReadOnly(machine, path));
    return judgeRoot(isOnReadOnly(machine, '/'), affected);
  },
};
