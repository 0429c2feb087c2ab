/** What the demo shows: a live table on a terminal, a line per result elsewhere. */
import { createLogUpdate } from 'log-update';
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

const historyLength = 20;
const alertsShown = 4;

const paint: Record<Outcome, (text: string) => string> = {
  passing: colors.green,
  degraded: colors.yellow,
  failing: colors.red,
  error: colors.magenta,
};
const mark: Record<Outcome, string> = { passing: '●', degraded: '▲', failing: '✖', error: '!' };

function clock(at: Date): string {
  return at.toTimeString().slice(0, 8);
}

export interface View {
  show(result: SeenResult): void;
  /** Says something once; on a terminal it stays below the table. */
  note(text: string): void;
  /** Says what the people who were alerted have heard; on a terminal the latest stay. */
  alert(text: string): void;
  /** Ends the live part; what is printed next stands below it. */
  done(): void;
}

class LiveTable implements View {
  readonly #update = createLogUpdate(process.stdout);
  readonly #latest = new Map<string, SeenResult>();
  readonly #history = new Map<string, Outcome[]>();
  readonly #notes: string[] = [];
  #alerts: string[] = [];

  constructor(checkNames: readonly string[]) {
    for (const name of checkNames) this.#history.set(name, []);
    this.#draw();
  }

  show(result: SeenResult): void {
    this.#latest.set(result.checkName, result);
    const history = this.#history.get(result.checkName) ?? [];
    this.#history.set(result.checkName, [...history, result.outcome].slice(-historyLength));
    this.#draw();
  }

  note(text: string): void {
    this.#notes.push(text);
    this.#draw();
  }

  alert(text: string): void {
    this.#alerts = [...this.#alerts, text].slice(-alertsShown);
    this.#draw();
  }

  /** What kept agents from running checks; the last line of each says what to do. */
  #errors(): string[] {
    const reasons = [...this.#latest.values()]
      .filter(({ outcome, reason }) => outcome === 'error' && reason !== '')
      .map(({ reason }) => reason);
    return [...new Set(reasons)].map((reason) => colors.magenta(reason));
  }

  #draw(): void {
    const header = `${'check'.padEnd(26)}${'type'.padEnd(11)}${'state'.padEnd(10)}${'time'.padStart(8)}  ${'location'.padEnd(14)}${'at'.padEnd(10)}last ${historyLength}`;
    const rows = [...this.#history].map(([name, history]) => {
      const result = this.#latest.get(name);
      const dots = history.map((outcome) => paint[outcome](mark[outcome])).join('');
      if (result === undefined)
        return `${name.padEnd(26)}${colors.dim('waiting for the first result')}`;
      const { outcome } = result;
      return (
        name.padEnd(26) +
        colors.dim(result.checkType.padEnd(11)) +
        paint[outcome](outcome.padEnd(10)) +
        `${result.responseTimeMs} ms`.padStart(8) +
        `  ${result.location.padEnd(14)}` +
        colors.dim(clock(result.at).padEnd(10)) +
        dots
      );
    });
    const below = [this.#errors(), this.#alerts, this.#notes].flatMap((lines) =>
      lines.length === 0 ? [] : ['', ...lines],
    );
    this.#update([colors.bold(header), ...rows, ...below].join('\n'));
  }

  done(): void {
    this.#update.done();
  }
}

class Lines implements View {
  show(result: SeenResult): void {
    const { at, outcome, checkName, checkType, responseTimeMs, location, reason } = result;
    const line = `${clock(at)} ${outcome.toUpperCase().padEnd(8)} ${checkName} (${checkType}, ${location}) ${responseTimeMs} ms`;
    console.log(reason === '' ? line : `${line}: ${reason.replaceAll('\n', '\n         ')}`);
  }

  note(text: string): void {
    console.log(text);
  }

  alert(text: string): void {
    console.log(text);
  }

  done(): void {}
}

/** The view that suits where the output goes. */
export function openView(checkNames: readonly string[]): View {
  return process.stdout.isTTY ? new LiveTable(checkNames) : new Lines();
}
