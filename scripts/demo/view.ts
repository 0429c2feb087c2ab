/** What the demo shows while it runs: a line for each result. The console has the table. */
import colors from 'picocolors';

export type Outcome = 'passing' | 'degraded' | 'failing' | 'error';

export interface SeenResult {
  checkName: string;
  checkType: string;
  outcome: Outcome;
  location: string;
  responseTimeMs: number;
  /** Why, when it did not pass. */
  reason: string;
  at: Date;
}

const paint: Record<Outcome, (text: string) => string> = {
  passing: colors.green,
  degraded: colors.yellow,
  failing: colors.red,
  error: colors.magenta,
};

export function showResult(result: SeenResult): void {
  const { at, outcome, checkName, checkType, responseTimeMs, location, reason } = result;
  const state = paint[outcome](outcome.toUpperCase().padEnd(8));
  const line = `${at.toTimeString().slice(0, 8)} ${state} ${checkName} (${checkType}, ${location}) ${responseTimeMs} ms`;
  console.log(reason === '' ? line : `${line}: ${reason.replaceAll('\n', '\n         ')}`);
}

/** Gives a function that says what the demo does next, with the seconds since it began. */
export function openProgress(): (what: string) => void {
  const begun = performance.now();
  return (what) => {
    const seconds = `${Math.round((performance.now() - begun) / 1000)} s`;
    console.log(`${seconds.padStart(4)}  ${what}`);
  };
}
