/**
 * The assignments on disk, so that an agent can be restarted without a connection. They contain
 * customer data, so the file is encrypted. A change is appended, since it costs the same however many
 * checks there are; the file is written anew once the changes are longer than the checks before them.
 *
 *   entry   length (4 bytes), encrypted JSON: the checks that are new or changed, and those that are gone
 */
import { appendFileSync, closeSync, constants, openSync } from 'node:fs';
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

const entry = cached.extend({ removals: z.array(z.string()) });
type Entry = z.output<typeof entry>;

const lengthBytes = 4;
/** Without O_CREAT: a file of changes alone would be read as the whole schedule. */
const existing = constants.O_WRONLY | constants.O_APPEND;
/** Shorter changes are kept however few checks there are. */
const minChangesBytes = 65_536;

/** The entries of a file. The last one may be torn: the next check-in brings what it said. */
function* entriesOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at + lengthBytes <= content.length;) {
    const end = at + lengthBytes + content.readUInt32BE(at);
    if (end > content.length) return;
    yield content.subarray(at + lengthBytes, end);
    at = end;
  }
}

export class ScheduleCache {
  readonly #file: string;
  readonly #cipher: Cipher;
  readonly #logger: Logger;
  readonly #damages: Damages;
  /** Bytes of changes that may be appended; 0 while the file has to be written anew. */
  #roomForChanges = 0;

  constructor(directory: string, apiKey: Secret, logger: Logger, damages: Damages) {
    this.#damages = damages;
    this.#file = join(directory, 'schedule.bin');
    this.#cipher = new Cipher(apiKey, 'schedule cache v1');
    this.#logger = logger;
  }

  #encrypt(value: Entry): Buffer {
    const encrypted = this.#cipher.encrypt(JSON.stringify(value));
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(encrypted.length);
    return Buffer.concat([length, encrypted]);
  }

  /** Writes the schedule atomically; it is whole after a loss of power too. */
  save(schedule: CachedSchedule): void {
    const temporary = `${this.#file}.new`;
    this.#roomForChanges = 0;
    this.#write(() => {
      const whole = this.#encrypt({ ...schedule, removals: [] });
      writeFileSync(temporary, whole, { mode: 0o600, flush: true });
      renameSync(temporary, this.#file);
      this.#roomForChanges = Math.max(whole.length, minChangesBytes);
    });
  }

  /** Adds what changed; `checks` are the changed ones. False when the file has to be written anew. */
  append(change: Entry): boolean {
    const encrypted = this.#encrypt(change);
    if (encrypted.length > this.#roomForChanges) return false;
    const room = this.#roomForChanges - encrypted.length;
    // A part of it may be in the file when this fails.
    this.#roomForChanges = 0;
    this.#write(() => {
      const file = openSync(this.#file, existing);
      try {
        appendFileSync(file, encrypted, { flush: true });
      } finally {
        closeSync(file);
      }
      this.#roomForChanges = room;
    });
    return true;
  }

  #write(write: () => void): void {
    try {
      write();
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
      return this.#read(content);
    } catch {
      // After a change of the location key the file is unreadable too, which looks like damage.
      this.#logger.warn('cached schedule ignored: torn, or made with another key');
      return null;
    }
  }

  /** Throws when nothing can be read. */
  #read(content: Buffer): CachedSchedule {
    const checks = new Map<string, CachedSchedule['checks'][number]>();
    let last: Entry | null = null;
    for (const encrypted of entriesOf(content)) {
      try {
        last = entry.parse(JSON.parse(this.#cipher.decrypt(encrypted)));
      } catch {
        // After a loss of power the end of a file may be zeros.
        break;
      }
      for (const id of last.removals) checks.delete(id);
      for (const check of last.checks) checks.set(check.id, check);
    }
    // The build before this one wrote a single entry, without its length.
    if (last === null) return cached.parse(JSON.parse(this.#cipher.decrypt(content)));
    const { removals: _, ...schedule } = last;
    return { ...schedule, checks: [...checks.values()] };
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
