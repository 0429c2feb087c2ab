/**
 * The assignments on disk, so that an agent can be restarted without a connection. They contain
 * customer data, so the file is encrypted.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import { codeOf } from '../net/failure.ts';
import type { Secret } from '../secret.ts';
import { setAside, type Damages } from '../damage.ts';
import { Cipher } from './cipher.ts';

const keptAsideBytes = 64_000_000;

const cached = z.object({
  location: z.string(),
  epoch: z.number(),
  /** Key of the control plane for ids of slots, if it sent one. */
  idKey: z.string().nullable().default(null),
  /** Public keys for results. */
  resultKeys: z.array(z.string()).default([]),
  checks: z.array(assignedCheck),
});
export type CachedSchedule = z.output<typeof cached>;

export class ScheduleCache {
  readonly #file: string;
  readonly #cipher: Cipher;
  readonly #logger: Logger;

  readonly #damages: Damages;

  constructor(directory: string, apiKey: Secret, logger: Logger, damages: Damages) {
    this.#damages = damages;
    this.#file = join(directory, 'schedule.bin');
    this.#cipher = new Cipher(apiKey, 'schedule cache v1');
    this.#logger = logger;
  }

  /** Writes the schedule atomically; it is whole after a loss of power too. */
  save(schedule: CachedSchedule): void {
    const temporary = `${this.#file}.new`;
    try {
      writeFileSync(temporary, this.#cipher.encrypt(JSON.stringify(schedule)), {
        ...{ mode: 0o600, flush: true },
      });
      renameSync(temporary, this.#file);
    } catch (error) {
      this.#logger.warn({ err: error }, 'schedule not cached');
    }
  }

  /** The saved schedule; null without one, or when it is not readable. */
  load(now: number): CachedSchedule | null {
    let content: Buffer;
    try {
      content = readFileSync(this.#file);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') this.#setAside(now, `it cannot be read (${codeOf(error)})`);
      return null;
    }
    try {
      return cached.parse(JSON.parse(this.#cipher.decrypt(content)));
    } catch {
      // After a change of the location key the file is unreadable too, which looks like damage.
      this.#logger.warn('cached schedule ignored: torn, or made with another key');
      return null;
    }
  }

  /** The next check-in brings everything again; until then no check is run. */
  #setAside(now: number, found: string): void {
    let aside: string | null = null;
    try {
      aside = setAside(this.#file, { now, maxBytes: keptAsideBytes });
    } catch {
      // Then the schedule is not cached, which is logged when it is written.
    }
    this.#damages.note({
      ...{ file: 'schedule cache', found, aside, salvaged: 0, lost: 0, lostSlots: [] },
    });
  }
}
