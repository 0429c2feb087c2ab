/** Which runtimes are on this machine, and which of them checks may use. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../errors.ts';
import type { InstalledRuntime } from './installed-runtime.ts';
import { nodePathOf } from './verify-runtime.ts';
import { fingerprintOf, readVerification, type Verification } from './verified.ts';

/**
 *   ready       every package loaded when it was last tested
 *   broken      one or more did not
 *   untested    never tested, or changed since
 *   unfinished  left behind by an installation that did not end
 */
export type RuntimeState = 'ready' | 'broken' | 'untested' | 'unfinished';

export interface RuntimeOnDisk {
  id: string;
  folder: string;
  state: RuntimeState;
  verification: Verification | null;
}

const runtimeFolder = /^(\d{4}\.\d{2})(\.partial)?$/;

function stateOf(folder: string, verification: Verification | null): RuntimeState {
  if (verification === null || verification.fingerprint !== fingerprintOf(folder))
    return 'untested';
  return verification.failures.length === 0 ? 'ready' : 'broken';
}

export function unusableFolder(directory: string, cause: unknown): AgentError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentError(
    'DATA_DIR_UNUSABLE',
    `the runtimes folder ${directory} cannot be used (${reason}); make it writable or name another with AGENT_RUNTIMES_DIR`,
    { cause },
  );
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw unusableFolder(directory, error);
  }
}

/** The runtimes in a folder, newest first. A folder that does not exist holds none. */
export function listRuntimes(directory: string): RuntimeOnDisk[] {
  return entriesOf(directory)
    .sort()
    .reverse()
    .flatMap((name): RuntimeOnDisk[] => {
      const [, id, partial] = runtimeFolder.exec(name) ?? [];
      if (id === undefined) return [];
      const folder = join(directory, name);
      if (partial !== undefined) return [{ id, folder, state: 'unfinished', verification: null }];
      const verification = readVerification(folder);
      return [{ id, folder, state: stateOf(folder, verification), verification }];
    });
}

/** A runtime as scripts use it; null unless it is ready. */
export function toInstalled({
  id,
  folder,
  state,
  verification,
}: RuntimeOnDisk): InstalledRuntime | null {
  if (state !== 'ready' || verification === null) return null;
  return { id, folder, nodePath: nodePathOf(folder), packages: verification.packages };
}
