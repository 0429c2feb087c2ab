/**
 * How the previous agent ended. An agent that is stopped removes its mark; a remaining mark shows
 * that it was killed.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { groupFolders, kernelReader, killsIn, type Reader } from '../control-group.ts';

const markShape = z.object({
  startedAt: z.string(),
  bootId: z.string().nullable(),
  /** OOM kills in the parent control group, which outlives the agent's own. */
  killsAround: z.number().nullable(),
});
type Mark = z.infer<typeof markShape>;

function killsAround(reader: Reader): number | null {
  const [, ...above] = groupFolders(reader, 'memory');
  return above.map((folder) => killsIn(reader, folder)).find((kills) => kills !== null) ?? null;
}

function markIn(text: string | null): Mark | null {
  try {
    return markShape.parse(JSON.parse(text ?? ''));
  } catch {
    return null;
  }
}

/** Explains the shutdown in a sentence, from the old and the new mark. */
export function explainPreviousShutdown(left: Mark, now: Mark): string {
  const before = `the agent of ${left.startedAt} did not end by itself`;
  if (left.bootId !== now.bootId) {
    return `${before}: the machine was started again, or the agent is on another`;
  }
  const kills = (now.killsAround ?? 0) - (left.killsAround ?? 0);
  if (left.killsAround === null || kills <= 0) {
    return `${before}: it was killed, or crashed; look at the end of its log and at that of the kernel`;
  }
  // The kernel counts runs and other services too, without naming the process.
  return (
    `${before}: it was killed, or crashed. It may have been for want of memory: the kernel has ended ` +
    `${kills} processes around this agent for that since; look at its log, and see the step "memory" of ` +
    '"monitor-agent doctor"'
  );
}

const markFile = (directory: string): string => join(directory, 'running.json');

/** True when the previous agent was killed. Call it before `markRun`. */
export const hasEndedUncleanly = (directory: string): boolean => existsSync(markFile(directory));

/** Logs how the previous agent ended if it was killed; dispose the mark at a clean shutdown. */
export function markRun(
  directory: string,
  { now, logger, reader = kernelReader }: { now: number; logger: Logger; reader?: Reader },
): Disposable {
  const file = markFile(directory);
  const mark: Mark = {
    startedAt: new Date(now).toISOString(),
    bootId: reader.read('/proc/sys/kernel/random/boot_id')?.trim() ?? null,
    killsAround: killsAround(reader),
  };
  const left = markIn(kernelReader.read(file));
  if (left !== null) logger.warn({ last: left }, explainPreviousShutdown(left, mark));
  try {
    writeFileSync(file, JSON.stringify(mark), { mode: 0o600 });
  } catch {
    // The disk is full; the outbox reports that.
  }
  return {
    [Symbol.dispose]() {
      try {
        rmSync(file, { force: true });
      } catch {
        // The next start then misreports this shutdown; nothing else depends on it.
      }
    },
  };
}
