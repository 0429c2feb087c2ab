import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../errors/operator-error.ts';

/** Makes a folder of its own among the temporary files; delete it in the end. */
export function makeTemporaryFolder(prefix: string): string {
  try {
    return mkdtempSync(join(tmpdir(), prefix));
  } catch (cause) {
    throw new OperatorError(
      `no folder for temporary files can be made in ${tmpdir()} (${(cause as NodeJS.ErrnoException).code}): set TMPDIR to a folder that this user may write to`,
      { cause },
    );
  }
}
