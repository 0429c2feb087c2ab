/**
 * Who can read the results of this agent, remembered in its data folder. The control plane may add and
 * remove recipients, and each change is stated; results become readable for all only by the word of the
 * operator of the agent, since anybody who can write the database of the control plane could say so too.
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@monitor/shared/clock.ts';
import { publicKeyPrefix } from '@monitor/shared/encryption/encryption.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import { setAside, type Damages } from '../damage.ts';
import { codeOf } from '../net/failure.ts';

/** How long `status`, `/health` and `doctor` show a change as one to look at. */
const shownMs = 7 * 86_400_000;
const keptChanges = 20;
const keptAsideBytes = 1_000_000;
const setting = 'RESULTS_MAY_BECOME_READABLE';

const texts = z.array(z.string());
/** Ids of keys, as the location and key files show them. */
const change = z.object({ at: z.number(), added: texts, removed: texts });
const remembered = z.object({
  keys: texts,
  changes: z.array(change),
  /** Since when readable results are refused; without keys, since when it is not known who could read. */
  refusedSince: z.number().nullable(),
});
type Remembered = z.output<typeof remembered>;

/** As an agent states it. */
export const recipientsStatus = remembered
  .omit({ keys: true })
  .extend({ recipients: texts })
  .default({ recipients: [], changes: [], refusedSince: null });
export type RecipientsStatus = z.output<typeof recipientsStatus>;

/** The id of a public key, without a promise: see `keyIdOf`. */
function idOf(publicKey: string): string {
  const point = Buffer.from(publicKey.slice(publicKeyPrefix.length), 'base64url');
  return createHash('sha256').update(point).digest().subarray(0, 16).toString('base64url');
}

const fileIn = (directory: string): string => join(directory, 'recipients.json');
const statusOf = ({ keys, ...rest }: Remembered): RecipientsStatus => ({
  ...{ ...rest, recipients: keys.map(idOf) },
});

/** What a folder remembers; null where nothing can be read. */
export function readRecipients(directory: string): RecipientsStatus | null {
  try {
    return statusOf(remembered.parse(JSON.parse(readFileSync(fileIn(directory), 'utf8'))));
  } catch {
    return null;
  }
}

/** What the operator should look at. */
export function recipientRemarks(status: RecipientsStatus, now: number): string[] {
  const { changes, refusedSince, recipients } = status;
  const since = new Date(refusedSince ?? 0).toISOString();
  const state =
    recipients.length === 0
      ? `who can read results was damaged at ${since}; only verdicts are sent until the control plane names recipients`
      : `the control plane asks for readable results since ${since}; they stay encrypted for ${recipients.join(', ')}`;
  const refusal =
    refusedSince === null ? [] : [`${state}, unless this agent is started with ${setting}=on`];
  const recent = changes.filter(({ at }) => now - at <= shownMs);
  return [
    ...refusal,
    ...recent.map(({ at, added, removed }) => {
      const parts = [
        ...(added.length === 0 ? [] : [`added ${added.join(', ')}`]),
        ...(removed.length === 0 ? [] : [`removed ${removed.join(', ')}`]),
      ];
      return `the control plane changed who can read results at ${new Date(at).toISOString()}: ${parts.join('; ')}`;
    }),
  ];
}

interface RecipientsOptions {
  directory: string;
  mayBecomeReadable: boolean;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
  damages: Damages;
}

export class Recipients {
  readonly #options: RecipientsOptions;
  /** Null until the control plane has named some. */
  #known: Remembered | null;

  constructor(options: RecipientsOptions) {
    this.#options = options;
    this.#known = this.#load();
  }

  #load(): Remembered | null {
    const path = fileIn(this.#options.directory);
    try {
      return remembered.parse(JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      const { clock, damages } = this.#options;
      const aside = setAside(path, { now: clock.now(), maxBytes: keptAsideBytes });
      const found = 'only verdicts are sent until the control plane names recipients';
      damages.note({
        ...{ file: 'recipients of results', found, aside, salvaged: 0, lost: 1, lostSlots: [] },
      });
      this.#keep({ keys: [], changes: [], refusedSince: clock.now() });
      return this.#known;
    }
  }

  /** True where there were recipients, perhaps, and it is not known which. */
  get isLost(): boolean {
    return this.keys.length === 0 && this.status.refusedSince !== null;
  }

  /** The same object while nothing changes. */
  get keys(): readonly string[] {
    return this.#known?.keys ?? [];
  }

  get status(): RecipientsStatus {
    return statusOf(this.#known ?? { keys: [], changes: [], refusedSince: null });
  }

  /** What the agent followed before, where nothing is remembered: the file could not be written or read. */
  resume(followed: readonly string[]): void {
    if (this.#known === null || this.isLost) this.use(followed);
  }

  /** The control plane names the recipients of its location. */
  use(announced: readonly string[]): void {
    const known = this.#known;
    const { clock, logger, mayBecomeReadable } = this.#options;
    if (known === null) {
      if (announced.length === 0) return;
      this.#keep({ keys: [...announced], changes: [], refusedSince: null });
      logger.info({ recipients: this.status.recipients }, 'results are encrypted from now on');
      return;
    }
    const wasReadable = known.keys.length === 0 && !this.isLost;
    if (announced.length === 0 && !wasReadable && !mayBecomeReadable) {
      if (known.refusedSince !== null) return;
      this.#keep({ ...known, refusedSince: clock.now() });
      logger.warn(
        { recipients: this.status.recipients, hint: `${setting}=on allows it` },
        'the control plane asks for readable results, which is refused',
      );
      return;
    }
    const added = announced.filter((key) => !known.keys.includes(key)).map(idOf);
    const removed = known.keys.filter((key) => !announced.includes(key)).map(idOf);
    const isSame = added.length + removed.length === 0;
    if (isSame && known.refusedSince === null) return;
    const made = isSame ? [] : [{ at: clock.now(), added, removed }];
    this.#keep({
      keys: isSame ? known.keys : [...announced],
      changes: [...known.changes, ...made].slice(-keptChanges),
      refusedSince: null,
    });
    if (isSame) return;
    logger.warn({ added, removed }, 'the control plane changed who can read results');
  }

  #keep(known: Remembered): void {
    this.#known = known;
    const path = fileIn(this.#options.directory);
    try {
      writeFileSync(`${path}.new`, JSON.stringify(known), { mode: 0o600, flush: true });
      renameSync(`${path}.new`, path);
    } catch (error) {
      this.#options.logger.error({ err: error }, 'recipients of results are not remembered');
    }
  }
}
