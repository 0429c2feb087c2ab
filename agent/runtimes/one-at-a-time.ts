import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AgentError } from '../errors.ts';

/**
 * Runs a change of the runtimes folder while no other process makes one. The lock is one of the
 * operating system on an SQLite file, so it ends with the process, however that ends.
 */
export async function oneAtATime<T>(directory: string, change: () => Promise<T>): Promise<T> {
  const lock = open(directory);
  try {
    return await change();
  } finally {
    lock.close();
  }
}

function open(directory: string): DatabaseSync {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    const lock = new DatabaseSync(join(directory, '.lock'), { timeout: 0 });
    try {
      lock.exec('begin exclusive');
      return lock;
    } catch (error) {
      lock.close();
      throw error;
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AgentError(
      'DATA_DIR_UNUSABLE',
      /locked|busy/i.test(reason)
        ? `another process is changing the runtimes in ${directory}; wait until it has ended`
        : `the runtimes folder ${directory} cannot be used (${reason}); make it writable or name another with AGENT_RUNTIMES_DIR`,
      { cause: error },
    );
  }
}
