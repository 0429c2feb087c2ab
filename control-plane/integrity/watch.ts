/**
 * Watches the integrity of the database: it is verified after an unclean shutdown, and daily while
 * it is served, in a process with the lowest priority.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { statSync } from 'node:fs';
import { setPriority, constants } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Clock } from '@monitor/shared/clock.ts';
import { usageError } from '../errors/operator-error.ts';
import { damageAdvice } from './decide-opening.ts';
import { logFileOf } from './files.ts';
import { lockForServing, type ServingLock } from './serving-lock.ts';
import { verifyDatabase } from './verify.ts';

/** Smaller databases are verified within a fraction of a second, in the foreground. */
const smallBytes = 64_000_000;
/** A start waits this long for the verification of a larger database; then it goes on with a note. */
const startWaitsMs = 30_000;
const firstAfterMs = 3_600_000;
const everyMs = 86_400_000;

const report = z.object({ ok: z.boolean(), problems: z.array(z.string()) });
type Report = z.infer<typeof report>;

export interface IntegrityWatchOptions {
  databaseFile: string;
  clock: Clock;
  logger: Logger;
}

export class IntegrityWatch implements Disposable {
  readonly #options: IntegrityWatchOptions;
  readonly #lock: ServingLock | null;
  #child: ChildProcess | null = null;
  #cancel: () => void = () => undefined;
  #found: string | null = null;
  #isChecking = false;
  #isStopped = false;
  /** False once damage was found: the next shutdown is not recorded as clean. */
  #isWhole: boolean;

  /** Throws where another process serves the database. */
  constructor(options: IntegrityWatchOptions) {
    this.#options = options;
    const { databaseFile, clock } = options;
    this.#lock = databaseFile === ':memory:' ? null : lockForServing(databaseFile, clock.now());
    this.#isWhole = this.#lock?.hasEndedUncleanly !== true;
  }

  /** The problem as text; null while none is known. */
  get problem(): string | null {
    if (this.#found !== null) return this.#found;
    return this.#isChecking ? 'the database is being checked after an unclean end' : null;
  }

  /** Throws an OperatorError for a damaged database; a large one is verified in the background. */
  async checkAfterCrash(): Promise<void> {
    const { databaseFile, logger, clock } = this.#options;
    if (this.#lock?.hasEndedUncleanly !== true) return;
    logger.warn('the control plane before this one did not end by itself: the database is checked');
    const size = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size(logFileOf(databaseFile)) === 0) {
      // What is missing, if anything, is said after the mark beside the database was compared.
      logger.warn(
        'the log of the database is not there: a command has taken it into the database since, or it was removed, and what was committed last with it',
      );
    }
    if (size(databaseFile) <= smallBytes) {
      refuseDamaged(databaseFile, verifyDatabase(databaseFile, { quick: true }));
      this.#isWhole = true;
      return;
    }
    const checking = this.#check(['--quick']);
    this.#isChecking = true;
    const inTime = await Promise.race([
      checking,
      new Promise<null>((resolve) =>
        clock.after(startWaitsMs, () => {
          resolve(null);
        }),
      ),
    ]);
    if (inTime !== null) {
      this.#isChecking = false;
      refuseDamaged(databaseFile, inTime);
      this.#isWhole = true;
      return;
    }
    logger.warn('the check of the database goes on while it is served');
    void checking.then((result) => {
      this.#isChecking = false;
      this.#isWhole = result.ok;
      this.#note(result);
    });
  }

  /** Starts the periodic verification. */
  start(): void {
    if (this.#lock !== null) this.#schedule(firstAfterMs);
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(delayMs, () => {
      void this.#check([]).then((result) => {
        this.#note(result);
        this.#schedule(everyMs);
      });
    });
  }

  #note({ ok, problems }: Report): void {
    if (this.#isStopped) return;
    const { logger, databaseFile } = this.#options;
    if (ok) {
      this.#found = null;
      logger.info('the database was checked: nothing found');
      return;
    }
    this.#found = `the database is damaged: ${problems[0] ?? 'no details'}`;
    logger.error({ database: databaseFile, problems }, `the database is damaged. ${damageAdvice}`);
  }

  /** Runs `control-plane verify`. When it cannot run, nothing is known. */
  #check(options: readonly string[]): Promise<Report> {
    const unknown: Report = { ok: true, problems: [] };
    const program = join(import.meta.dirname, '..', 'control-plane.js');
    const { databaseFile, logger } = this.#options;
    return new Promise((resolve) => {
      const child = spawn(
        process.execPath,
        [program, 'verify', '--json', ...options, databaseFile],
        {
          stdio: ['ignore', 'pipe', 'ignore'],
          env: {},
        },
      );
      this.#child = child;
      let text = '';
      child.stdout.on('data', (chunk) => (text += String(chunk)));
      child.once('spawn', () => {
        try {
          if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
        } catch {
          // Then it runs with the priority of this process.
        }
      });
      child.once('error', (error) => {
        logger.warn({ err: error }, 'the database cannot be checked');
        resolve(unknown);
      });
      child.once('close', () => {
        try {
          resolve(report.parse(JSON.parse(text)));
        } catch {
          if (!this.#isStopped) logger.warn('the check of the database ended without a report');
          resolve(unknown);
        }
      });
    });
  }

  /** Records a clean shutdown; call it after the database was closed. */
  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#cancel();
    this.#child?.kill('SIGKILL');
    // A start that was refused because of damage keeps the mark, so that the next start verifies
    // again.
    if (this.#isWhole) this.#lock?.noteCleanEnd();
    this.#lock?.[Symbol.dispose]();
  }
}

function refuseDamaged(databaseFile: string, { ok, problems }: Report): void {
  if (ok) return;
  throw usageError(
    `the database ${databaseFile} is damaged: ${problems.slice(0, 3).join('; ')}. ${damageAdvice}`,
  );
}
