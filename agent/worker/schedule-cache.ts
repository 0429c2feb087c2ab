/**
 * The assignments on disk, so that an agent restarted while the control plane is away goes on. They
 * hold what customers entrusted to us, so the file is encrypted with a key derived from the key of
 * the location: without it the file is worth nothing.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Secret } from '../secret.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

const cached = z.object({
  location: z.string(),
  epoch: z.number(),
  checks: z.array(assignedCheck),
});
export type CachedSchedule = z.output<typeof cached>;

export class ScheduleCache {
  readonly #file: string;
  readonly #key: Buffer;
  readonly #logger: Logger;

  constructor(directory: string, apiKey: Secret, logger: Logger) {
    this.#file = join(directory, 'schedule.bin');
    this.#key = Buffer.from(
      hkdfSync('sha256', apiKey.reveal(), 'monitor-agent', 'schedule cache v1', 32),
    );
    this.#logger = logger;
  }

  /** Writes the schedule; the file is whole or the one from before. */
  save(schedule: CachedSchedule): void {
    const nonce = randomBytes(nonceBytes);
    const encryption = createCipheriv(cipher, this.#key, nonce);
    const text = Buffer.concat([
      encryption.update(JSON.stringify(schedule), 'utf8'),
      encryption.final(),
    ]);
    const temporary = `${this.#file}.new`;
    try {
      writeFileSync(temporary, Buffer.concat([nonce, encryption.getAuthTag(), text]), {
        mode: 0o600,
      });
      renameSync(temporary, this.#file);
    } catch (error) {
      this.#logger.warn({ err: error }, 'schedule not cached');
    }
  }

  /** The schedule as last saved; null when there is none or it is not ours. */
  load(): CachedSchedule | null {
    let content: Buffer;
    try {
      content = readFileSync(this.#file);
    } catch {
      return null;
    }
    try {
      const decryption = createDecipheriv(cipher, this.#key, content.subarray(0, nonceBytes));
      decryption.setAuthTag(content.subarray(nonceBytes, nonceBytes + tagBytes));
      const text = Buffer.concat([
        decryption.update(content.subarray(nonceBytes + tagBytes)),
        decryption.final(),
      ]);
      return cached.parse(JSON.parse(text.toString('utf8')));
    } catch {
      this.#logger.warn('cached schedule ignored: torn, or made with another key');
      return null;
    }
  }
}
