/** What tests of the agent's files need: a spool in a folder, a scrubber that hides one word. */
import { readFileSync, writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { ArtifactSpool, type SpoolOptions } from '../../agent/artifacts/artifact-spool.ts';
import { openRunArtifacts, type RunArtifacts } from '../../agent/artifacts/run-artifacts.ts';
import type { Scrubber } from '../../agent/scrub/scrubber.ts';
import { TestClock } from './test-clock.ts';

export const silent = pino({ level: 'silent' });
export const resultId = '11111111-2222-4333-8444-555555555555';

export const secret = 'hunter2';
const hide = (text: string): string => text.replaceAll(secret, '*********');

/** Hides `hunter2`; cannot do it in files of type `image/broken`. */
const scrubber: Scrubber = {
  maxNeedleBytes: 7,
  add: () => undefined,
  text: hide,
  value: (value) => value,
  stream: () => new PassThrough(),
  file(path, contentType) {
    if (contentType === 'image/broken') {
      return Promise.reject(new Error(`not an image, ${secret} may be in it`));
    }
    if (contentType === 'text/plain') writeFileSync(path, hide(readFileSync(path, 'utf8')));
    return Promise.resolve();
  },
};

export function openSpool(
  directory: string,
  options: Partial<SpoolOptions> = {},
): Promise<ArtifactSpool> {
  return ArtifactSpool.open({
    ...{ directory, maxBytes: 1_000_000_000, maxAgeMs: 86_400_000 },
    ...{ clock: new TestClock(1_000_000), logger: silent },
    ...options,
  });
}

export function openRun(
  spool: ArtifactSpool,
  within: string | null = null,
  id = resultId,
): RunArtifacts {
  return openRunArtifacts({
    ...{ spool, resultId: id, scrubber, logger: silent },
    ...(within === null ? {} : { within: () => within }),
  });
}
