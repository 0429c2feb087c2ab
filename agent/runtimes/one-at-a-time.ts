import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../errors.ts';
import { tryFileLock } from '../file-lock.ts';
import { unusableFolder } from './installed-runtimes.ts';

/** Runs a change of the runtimes folder while no other process makes one. */
export async function oneAtATime<T>(directory: string, change: () => Promise<T>): Promise<T> {
  using _lock = open(directory);
  return await change();
}

function open(directory: string): Disposable {
  let lock: Disposable | null;
  try {
    // Runs have users of their own, and the agent makes private files.
    if (mkdirSync(directory, { recursive: true }) !== undefined) chmodSync(directory, 0o755);
    lock = tryFileLock(join(directory, '.lock'));
  } catch (error) {
    throw unusableFolder(directory, error);
  }
  if (lock !== null) return lock;
  throw new AgentError(
    'DATA_DIR_UNUSABLE',
    `another process is changing the runtimes in ${directory}; wait until it has ended`,
  );
}
