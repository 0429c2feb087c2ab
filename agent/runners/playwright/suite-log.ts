/** The log of a suite: what each stage said, when it began and how long it took. */
import type { RunnerContext } from '../runner.ts';

type Level = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';

/** What a result keeps of the log; the rest is counted. */
const maxLines = 10_000;
const maxCharacters = 2_000_000;

/** 950 ms, 12.3 s, 4 min 5 s. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export class SuiteLog {
  readonly lines: { time: number; msg: string; level: string }[] = [];
  readonly durations = new Map<string, number>();
  readonly #context: Pick<RunnerContext, 'clock' | 'log'>;
  #characters = 0;
  #dropped = 0;
  #stage = 'start';
  #stageBegan = 0;
  #onActivity: () => void = () => undefined;

  constructor(context: Pick<RunnerContext, 'clock' | 'log'>) {
    this.#context = context;
  }

  get stage(): string {
    return this.#stage;
  }

  /** Milliseconds since the stage began. */
  get stageMs(): number {
    return this.#context.clock.monotonic() - this.#stageBegan;
  }

  /** Calls back whenever a program of the suite says something. */
  onActivity(callback: () => void): void {
    this.#onActivity = callback;
  }

  add(msg: string, level: Level = 'INFO'): void {
    this.#context.log(msg, level);
    if (this.lines.length >= maxLines || this.#characters >= maxCharacters) {
      this.#dropped += 1;
      return;
    }
    this.#characters += msg.length;
    this.lines.push({ time: this.#context.clock.now(), msg, level });
  }

  /** A line that a program of this stage wrote. */
  output(line: string, stream: 'stdout' | 'stderr'): void {
    this.#onActivity();
    this.add(`[${this.#stage}] ${line}`, stream === 'stderr' ? 'WARN' : 'INFO');
  }

  async during<T>(stage: string, work: () => Promise<T>): Promise<T> {
    this.#stage = stage;
    this.#stageBegan = this.#context.clock.monotonic();
    this.#onActivity();
    let ending = 'failed';
    try {
      const value = await work();
      ending = 'done';
      return value;
    } finally {
      const ms = this.stageMs;
      this.durations.set(stage, ms);
      this.add(`${stage}: ${ending} after ${durationText(ms)}`);
    }
  }

  /** Says how much did not fit. */
  close(): void {
    if (this.#dropped === 0) return;
    this.lines.push({
      time: this.#context.clock.now(),
      msg: `${this.#dropped} more lines are not kept with the result`,
      level: 'WARN',
    });
  }
}
