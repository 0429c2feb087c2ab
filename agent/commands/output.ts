/** How commands print: colours and tables for people, JSON for programs. */
import { sleep, systemClock } from '@monitor/shared/clock.ts';
import { takesEscapes } from '@monitor/shared/command-output.ts';
import { printableValue } from '../printable.ts';
import { createColors } from 'picocolors';
import { processEnvironment } from '../guard-process.ts';

export { table } from '@monitor/shared/text-table.ts';

/** True where a person looks at a terminal that wants colours and lines that change. */
export const isLively = (stream: NodeJS.WriteStream): boolean =>
  takesEscapes(stream, processEnvironment);

export const colorsFor = (stream: NodeJS.WriteStream) => createColors(isLively(stream));

export type Colors = ReturnType<typeof colorsFor>;

/**
 * Asks again and again until all is well, and prints a line for each change. `ask` gives what is wrong in
 * one line, and null where nothing is.
 */
export async function watchUntilWell(
  ask: () => Promise<string | null>,
  everyMs: number,
): Promise<void> {
  let said: string | null | undefined;
  for (;;) {
    const problem = await ask();
    if (problem !== said) {
      const at = new Date(systemClock.now()).toISOString().slice(11, 19);
      console.log(`${at} ${printableValue(problem ?? 'all is well')}`);
    }
    if (problem === null) return;
    said = problem;
    await sleep(systemClock, everyMs);
  }
}
