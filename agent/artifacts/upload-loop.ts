/**
 * Uploads the files of results, oldest first: eight at once, of which two may be large ones, so that the
 * many small files of a burst of failures do not wait for videos. What becomes of a file:
 *
 *   taken        removed here
 *   404          its result has not arrived yet: kept, tried again later; the others go on
 *   409          another agent made the same run, and its result is the one that counts: removed
 *   400, 413...  this file is wrong and stays wrong: given up after a few tries, counted
 *   unreadable   our disk lost it: given up, counted
 *   anything else is about the control plane or the way to it: everything waits, then comes again
 *
 * Entries that stay for too long are given up by the spool.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { Logger } from 'pino';
import { CallFailure, type ControlPlaneClient } from '../link/control-plane-client.ts';
import { AgentError } from '../errors.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import { backoffMs } from '../link/backoff.ts';
import { isCompressible } from './artifact-name.ts';
import type { ArtifactSpool, SpoolEntry, SpooledFile } from './artifact-spool.ts';

const atOnce = 8;
const largeAtOnce = 2;
const largeFromBytes = 262_144;
/** A damaged transfer looks like a wrong file: worth another try. */
const triesOfRefused = 3;
const compressFromBytes = 4_096;
const maintainEveryMs = 10_000;
/** Results are submitted a moment after they are done; files that come before them come in vain. */
const headStartMs = 400;

export interface UploadLoopOptions {
  spool: ArtifactSpool;
  client: Pick<ControlPlaneClient, 'uploadArtifact'>;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: AgentMetrics;
}

interface Work {
  entry: SpoolEntry;
  file: SpooledFile;
}

/** What the loop knows of an entry that was not taken at once. */
interface Waiting {
  failures: number;
  failedAt: number;
  dueAt: number;
}

const isSmall = ({ size }: SpooledFile): boolean => size < largeFromBytes;

export class UploadLoop {
  readonly #options: UploadLoopOptions;
  readonly #stopping = new AbortController();
  readonly #inHand = new Set<SpooledFile>();
  #waiting = new WeakMap<SpoolEntry, Waiting>();
  readonly #refusals = new WeakMap<SpooledFile, number>();
  #wake = new AbortController();
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #isHurried = false;
  #lanes: Promise<unknown> = Promise.resolve();
  #cancelMaintenance: () => void = () => undefined;

  constructor(options: UploadLoopOptions) {
    this.#options = options;
    options.spool.onCommitted((entry) => {
      const dueAt = options.clock.monotonic() + headStartMs;
      this.#waiting.set(entry, { failures: 0, failedAt: Number.NEGATIVE_INFINITY, dueAt });
      this.#wakeUp();
    });
  }

  start(): void {
    this.#lanes = Promise.all(Array.from({ length: atOnce }, () => this.#lane()));
    this.#maintain();
  }

  #maintain(): void {
    const { clock, logger, spool } = this.#options;
    this.observe();
    this.#cancelMaintenance = clock.after(maintainEveryMs, () => {
      void spool
        .dropAged()
        .catch((error: unknown) => {
          logger.warn({ err: error }, 'aged files of results cannot be removed');
        })
        .finally(() => {
          if (!this.#stopping.signal.aborted) this.#maintain();
        });
    });
  }

  /** Brings the metrics of the spool up to date. */
  observe(): void {
    const { metrics, spool } = this.#options;
    const { files, bytes, droppedTotal } = spool.state();
    metrics.artifactSpoolFiles.set(files);
    metrics.artifactSpoolBytes.set(bytes);
    metrics.artifactsDropped.set(droppedTotal);
  }

  #wakeUp(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  async #lane(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const { work, waitMs } = this.#next();
      if (work !== null) await this.#upload(work);
      else if (this.#isHurried) return;
      else await this.#pause(waitMs);
    }
  }

  /** The oldest file that is due, or how long until one is; null for until something happens. */
  #next(): { work: Work | null; waitMs: number | null } {
    const now = this.#options.clock.monotonic();
    const pauseMs = this.#pausedUntil - now;
    if (pauseMs > 0) return { work: null, waitMs: pauseMs };
    let earliest = Number.POSITIVE_INFINITY;
    const large = [...this.#inHand].filter((one) => !isSmall(one));
    const mayBeLarge = large.length < largeAtOnce;
    for (const entry of this.#options.spool.committed()) {
      const dueAt = this.#waiting.get(entry)?.dueAt ?? now;
      if (dueAt > now) {
        earliest = Math.min(earliest, dueAt);
        continue;
      }
      const file = entry.files.find(
        (one) => !this.#inHand.has(one) && (isSmall(one) || mayBeLarge),
      );
      if (file !== undefined) return { work: { entry, file }, waitMs: 0 };
    }
    return { work: null, waitMs: Number.isFinite(earliest) ? earliest - now : null };
  }

  async #pause(waitMs: number | null): Promise<void> {
    const signal = AbortSignal.any([this.#stopping.signal, this.#wake.signal]);
    if (waitMs !== null) {
      await sleep(this.#options.clock, waitMs, signal);
      return;
    }
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else {
        signal.addEventListener('abort', () => resolve(), { once: true });
      }
    });
  }

  async #upload(work: Work): Promise<void> {
    const { client, clock, logger, metrics, spool } = this.#options;
    const { entry, file } = work;
    const startedAt = clock.monotonic();
    const wasHurried = this.#isHurried;
    this.#inHand.add(file);
    try {
      await client.uploadArtifact(
        {
          resultId: entry.ofResult ?? entry.resultId,
          name: file.name,
          path: spool.pathOf(entry.resultId, file.file),
          size: file.size,
          digest: file.digest,
          isCompressed: file.size >= compressFromBytes && isCompressible(file.contentType),
        },
        this.#stopping.signal,
      );
      if (this.#failures > 0) logger.info('files of results are uploaded again');
      this.#failures = 0;
      this.#waiting.delete(entry);
      metrics.artifactUploads.inc({ outcome: 'stored' });
      metrics.artifactUploadedBytes.inc(file.size);
      await spool.remove(entry, file);
    } catch (error) {
      // What failed before the hurry began gets one try in it: its result may have come since.
      const comesAgain = this.#isHurried && !wasHurried;
      if (!this.#stopping.signal.aborted && !comesAgain) await this.#failed(work, startedAt, error);
    } finally {
      this.#inHand.delete(file);
      this.observe();
      // Other uploads may be waiting for exactly this.
      if (this.#isHurried || !isSmall(file)) this.#wakeUp();
    }
  }

  /** What was under way when another failed is no failure of its own: it would have met the same. */
  async #failed(work: Work, startedAt: number, error: unknown): Promise<void> {
    const { clock, logger, metrics, random } = this.#options;
    const { entry, file } = work;
    const failure = error instanceof CallFailure ? error : null;
    const code = error instanceof AgentError ? error.code : 'RUNNER_BROKEN';
    if (failure?.code === 'CONTROL_PLANE_REFUSED' && failure.statusCode === 409) {
      logger.debug({ resultId: entry.resultId, file: file.name }, failure.message);
      metrics.artifactUploads.inc({ outcome: 'unneeded' });
      await this.#options.spool.remove(entry, file).catch(() => undefined);
      return;
    }
    metrics.artifactUploadFailures.inc({ code });
    if (failure === null) {
      logger.error({ err: error, resultId: entry.resultId }, 'file of a result cannot be read');
      await this.#giveUp(work, 'they cannot be read');
      return;
    }
    const status = failure.statusCode;
    const now = clock.monotonic();
    if (status === 404 || failure.isPage) {
      const waiting = this.#waiting.get(entry);
      if (waiting !== undefined && startedAt <= waiting.failedAt) return;
      const failures = (waiting?.failures ?? 0) + 1;
      if (failure.isPage && failures === 1) logger.warn({ err: error }, 'file kept for later');
      const dueAt = now + backoffMs(failures, random);
      this.#waiting.set(entry, { failures, failedAt: now, dueAt });
      return;
    }
    if (failure.code === 'CONTROL_PLANE_REFUSED' || status === 413) {
      const tries = (this.#refusals.get(file) ?? 0) + 1;
      this.#refusals.set(file, tries);
      if (status === 413 || tries >= triesOfRefused) {
        logger.error({ err: error, resultId: entry.resultId }, 'file of a result is refused');
        await this.#giveUp(work, 'the control plane does not take them');
      }
      return;
    }
    if (startedAt > this.#failedAt) {
      this.#failedAt = now;
      this.#failures += 1;
      if (this.#failures === 1) logger.warn({ err: error }, 'files cannot be uploaded, kept');
    }
    const pauseMs = failure.retryAfterMs ?? backoffMs(this.#failures, random);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs);
  }

  async #giveUp({ entry, file }: Work, reason: string): Promise<void> {
    const { metrics, spool } = this.#options;
    metrics.artifactUploads.inc({ outcome: 'dropped' });
    spool.countDropped(1, reason);
    await spool.remove(entry, file).catch(() => undefined);
  }

  /** Uploads what can be uploaded within a time, then stops; gives how many files are left. */
  async flush(withinMs: number): Promise<number> {
    const { clock, spool } = this.#options;
    this.#isHurried = true;
    this.#waiting = new WeakMap();
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
    const cancel = clock.after(withinMs, () => this.#stopping.abort());
    this.#wakeUp();
    await this.#lanes;
    cancel();
    await this.stop();
    return spool.state().files;
  }

  /** Ends uploads in progress; they come again after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelMaintenance();
    await this.#lanes;
  }
}
