/** Says what a suite is doing when it says nothing itself, so that a run that hangs explains itself. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { RunProcess } from './processes-of-run.ts';
import { durationText, type SuiteLog } from './suite-log.ts';

export const quietMs = 60_000;
const maxShown = 10;

export interface HangWatchParts {
  readonly clock: Clock;
  readonly log: SuiteLog;
  /** Names of the tests that run now, and a number that grows with everything reported. */
  readonly progress: () => Promise<{ running: readonly string[]; reported: number }>;
  readonly processes: () => readonly RunProcess[];
}

const listed = (items: readonly string[]): string =>
  items.length === 0
    ? 'none'
    : items.slice(0, maxShown).join(', ') +
      (items.length > maxShown ? ` and ${items.length - maxShown} more` : '');

/** Watches until disposed. */
export function watchForHangs(parts: HangWatchParts): AsyncDisposable {
  const { clock, log } = parts;
  let lastActivity = clock.monotonic();
  let reported = 0;
  let isOver = false;
  let looking = Promise.resolve();
  let cancel: () => void;

  const look = async (): Promise<void> => {
    const progress = await parts.progress();
    if (progress.reported !== reported) {
      reported = progress.reported;
      lastActivity = clock.monotonic();
    }
    const silentMs = clock.monotonic() - lastActivity;
    if (silentMs >= quietMs && !isOver) {
      const processes = parts
        .processes()
        .map(({ pid, command, cpuMs }) => `${pid} ${command} (${durationText(cpuMs)} of CPU)`);
      log.add(
        `nothing was printed or reported for ${durationText(silentMs)}; stage ${log.stage}, for ${durationText(log.stageMs)}; tests running: ${listed(progress.running)}; processes: ${listed(processes)}`,
        'WARN',
      );
    }
  };

  const schedule = (): void => {
    if (isOver) return;
    const dueMs = lastActivity + quietMs - clock.monotonic();
    // Already silent: again a minute later, not at once.
    cancel = clock.after(dueMs > 0 ? dueMs : quietMs, () => {
      looking = look().catch((error: unknown) => {
        log.add(`what the suite is doing is not known: ${String(error)}`, 'DEBUG');
      });
      void looking.then(schedule);
    });
  };

  cancel = () => undefined;
  log.onActivity(() => {
    lastActivity = clock.monotonic();
  });
  schedule();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      cancel();
      log.onActivity(() => undefined);
      await looking;
    },
  };
}
