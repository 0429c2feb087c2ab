/**
 * Reads the certificates of the servers of checks: each server once an hour, shared by all of its
 * checks, at a fixed moment within the hour. A certificate is submitted like a result.
 *
 *   new        looked at within half a minute, unless it was shortly before a restart
 *   seen       looked at again at its moment of the hour, at least half an hour later
 *   not seen   tried again after 5, 10, 20, 40 minutes and then hourly; nothing is submitted, since a
 *              connection that fails says nothing about a certificate
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@monitor/shared/clock.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { hiddenCertificate } from '@monitor/shared/contract/encrypted-result.ts';
import { chooseClientCertificate } from '@monitor/shared/domain/client-certificate.ts';
import { hash32 } from '@monitor/shared/domain/hash.ts';
import type { Logger } from 'pino';
import type { CertificateQuestion, CertificateReading } from '../net/read-certificate.ts';
import type { OutboxEntry, SeenCertificate } from './outbox.ts';

const hourMs = 3_600_000;
const soonMs = 30_000;
const minPauseMs = hourMs / 2;
const firstRetryMs = 5 * 60_000;
const maxAtOnce = 4;
/** Longer waits are split, so that changes of the clock are noticed. */
const maxSleepMs = 60_000;
/** Servers that are due at about the same time are read together. */
const minSleepMs = 1_000;

interface Watched {
  key: string;
  /** By check. Those of one server differ in client certificates and proxies; the newest that may be followed is asked. */
  questions: Map<string, CertificateQuestion>;
  dueAt: number;
  failures: number;
  isBusy: boolean;
}

export interface CertificateWatchOptions {
  clock: Clock;
  read: (
    question: CertificateQuestion,
    how: { clock: Clock; signal: AbortSignal },
  ) => Promise<CertificateReading>;
  /** False for a check that must not be followed. */
  mayFollow?: (checkId: string) => Promise<boolean>;
  /** Stores a certificate until it is submitted. */
  store: (entry: OutboxEntry) => Promise<void>;
  /** From before a restart. */
  seen: readonly SeenCertificate[];
  logger: Logger;
  /** True while results are encrypted. */
  isEncrypted?: () => boolean;
}

/** Equal for all checks that read the same certificate in the same way. */
function questionOf(check: AssignedCheck): CertificateQuestion | null {
  const { certificateTarget: target, proxyUrl, clientCertificates } = check;
  if (target === null) return null;
  const clientCertificate =
    chooseClientCertificate(clientCertificates, target.host, target.port) ?? null;
  return { ...target, proxyUrl, clientCertificate };
}

function keyOf({ host, port, servername, proxyUrl }: CertificateQuestion): string {
  return JSON.stringify([host, port, servername, proxyUrl === null]);
}

/** The next moment of a server after an instant and a minimum pause. */
function nextMoment(key: string, after: number): number {
  const phase = hash32(key) % hourMs;
  const from = after + minPauseMs;
  return from + ((((phase - from) % hourMs) + hourMs) % hourMs);
}

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  readonly #watched = new Map<string, Watched>();
  /** The server of each check, by its key in `#watched`. */
  readonly #keyOfCheck = new Map<string, string>();
  /** By check; entries of other servers do not count. */
  readonly #seen: Map<string, SeenCertificate>;
  readonly #stopping = new AbortController();
  #busy = 0;
  #cancelWake: (() => void) | null = null;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#seen = new Map(options.seen.map((each) => [each.checkId, each]));
  }

  /** Replaces the watched checks. */
  watch(checks: readonly AssignedCheck[]): void {
    const kept = new Set(checks.map(({ id }) => id));
    this.change(
      checks,
      [...this.#keyOfCheck.keys()].filter((id) => !kept.has(id)),
    );
  }

  /** Watches new and changed checks, and no longer those with the given ids. */
  change(upserts: readonly AssignedCheck[], removals: readonly string[]): void {
    if (this.#stopping.signal.aborted) return;
    for (const id of removals) this.#forget(id);
    for (const check of upserts) {
      const question = questionOf(check);
      if (question === null || keyOf(question) !== this.#keyOfCheck.get(check.id)) {
        this.#forget(check.id);
      }
      if (question !== null) this.#watch(check.id, question);
    }
    this.#sleep();
  }

  #forget(checkId: string): void {
    const key = this.#keyOfCheck.get(checkId) ?? '';
    this.#keyOfCheck.delete(checkId);
    const watched = this.#watched.get(key);
    watched?.questions.delete(checkId);
    if (watched?.questions.size === 0) this.#watched.delete(key);
  }

  #watch(checkId: string, question: CertificateQuestion): void {
    const key = keyOf(question);
    this.#keyOfCheck.set(checkId, key);
    const soon = this.#options.clock.now() + (hash32(key) % soonMs);
    const seen = this.#seen.get(checkId);
    const dueAt = seen?.target === key ? Math.max(nextMoment(key, seen.measuredAt), soon) : soon;
    const known = this.#watched.get(key);
    if (known === undefined) {
      const questions = new Map([[checkId, question]]);
      this.#watched.set(key, { key, questions, dueAt, failures: 0, isBusy: false });
      return;
    }
    known.questions.delete(checkId);
    known.questions.set(checkId, question);
    // A server with failed tries keeps its pause when further checks join.
    if (known.failures === 0) known.dueAt = Math.min(known.dueAt, dueAt);
  }

  #sleep(): void {
    this.#cancelWake?.();
    this.#cancelWake = null;
    if (this.#stopping.signal.aborted || this.#busy >= maxAtOnce) return;
    let nextAt = Infinity;
    for (const { isBusy, dueAt } of this.#watched.values()) {
      if (!isBusy && dueAt < nextAt) nextAt = dueAt;
    }
    if (nextAt === Infinity) return;
    const { clock } = this.#options;
    const delayMs = Math.min(Math.max(nextAt - clock.now(), minSleepMs), maxSleepMs);
    this.#cancelWake = clock.after(delayMs, () => this.#wake());
  }

  #wake(): void {
    const now = this.#options.clock.now();
    const due = [...this.#watched.values()]
      .filter(({ dueAt, isBusy }) => dueAt <= now && !isBusy)
      .sort((one, other) => one.dueAt - other.dueAt)
      .slice(0, maxAtOnce - this.#busy);
    for (const watched of due) {
      watched.isBusy = true;
      this.#busy += 1;
      void this.#look(watched).finally(() => {
        watched.isBusy = false;
        this.#busy -= 1;
        this.#sleep();
      });
    }
    this.#sleep();
  }

  /** The newest that may be asked. */
  async #questionOf({ questions }: Watched): Promise<CertificateQuestion | null> {
    for (const [checkId, question] of [...questions].reverse()) {
      if ((await this.#options.mayFollow?.(checkId)) !== false) return question;
    }
    return null;
  }

  async #look(watched: Watched): Promise<void> {
    const { clock, read, logger } = this.#options;
    let reading: CertificateReading;
    try {
      const question = await this.#questionOf(watched);
      if (question === null) throw new Error('none of its checks is signed');
      reading = await read(question, { clock, signal: this.#stopping.signal });
    } catch (error) {
      watched.dueAt = clock.now() + Math.min(hourMs, firstRetryMs * 2 ** watched.failures);
      watched.failures += 1;
      const err = this.#options.isEncrypted?.() === true ? undefined : error;
      logger.debug({ err, server: watched.key }, 'certificate not seen');
      return;
    }
    watched.failures = 0;
    const measuredAt = Math.round(clock.now());
    watched.dueAt = nextMoment(watched.key, measuredAt);
    await Promise.all(
      [...watched.questions].map(([checkId, { host, port }]) =>
        this.#keep({ checkId, host, port, measuredAt }, watched.key, reading),
      ),
    );
  }

  async #keep(
    of: { checkId: string; host: string; port: number; measuredAt: number },
    target: string,
    reading: CertificateReading,
  ): Promise<void> {
    const { checkId, measuredAt } = of;
    const seenCertificate = { checkId, target, measuredAt };
    this.#seen.set(checkId, seenCertificate);
    await this.#options.store({
      submission: {
        kind: 'certificate',
        id: randomUUID(),
        ...of,
        ...reading,
        // The names in a certificate are content; the days until it expires are a metric.
        ...(this.#options.isEncrypted?.() === true ? hiddenCertificate : {}),
      },
      seenCertificate,
    });
  }

  /** Ends reads in progress; finished ones are stored. */
  stop(): void {
    this.#stopping.abort();
    this.#cancelWake?.();
    this.#cancelWake = null;
  }
}
