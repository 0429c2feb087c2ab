import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentError } from './errors.ts';
import { codeOf } from './net/failure.ts';

/** Makes a folder of its own among the temporary files; delete it in the end. */
export async function makeTemporaryFolder(prefix: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), prefix));
  } catch (cause) {
    throw new AgentError(
      'DISK_UNUSABLE',
      `no folder for temporary files can be made in ${tmpdir()} (${codeOf(cause)}): set TMPDIR to a folder that this user may write to`,
      { cause },
    );
  }
}
