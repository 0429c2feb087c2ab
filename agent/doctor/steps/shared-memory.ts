import { bytesText } from '../units.ts';
import { fail, ok, type Finding } from '../finding.ts';
import type { Step } from '../step.ts';

const enoughBytes = 512 * 1_048_576;

/** The agent sees by itself when there is little, and gives browsers files in its place. */
export function judgeSharedMemory(bytes: number | null, isWritable: boolean): Finding[] {
  if (bytes === null)
    return [ok('there is no /dev/shm: browsers use files (--disable-dev-shm-usage)')];
  if (bytes < enoughBytes) {
    return [
      ok(
        `/dev/shm has ${bytesText(bytes)}: browsers use files (--disable-dev-shm-usage); 512 MiB (docker --shm-size=512m) would make them a little faster`,
      ),
    ];
  }
  if (!isWritable) {
    return [
      fail(
        '/dev/shm cannot be written: browsers crash',
        'chmod 1777 /dev/shm, or mount a tmpfs there; only browser checks are affected',
      ),
    ];
  }
  return [ok(`/dev/shm has ${bytesText(bytes)}`)];
}

export const sharedMemory: Step = {
  id: 'shared-memory',
  name: 'shared memory',
  needs: [],
  limitMs: 1_000,
  check: ({ machine }) =>
    judgeSharedMemory(
      machine.fileSystem('/dev/shm')?.totalBytes ?? null,
      machine.may('/dev/shm', 'write'),
    ),
};
