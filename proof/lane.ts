/** A lane: a private location with its agents and checks, which suffers from one kind of fault. */
import type { Program } from './program.ts';
import type { CheckWire, System } from './system.ts';

/** What a page does, and so what may be said of it. */
export type SubjectKind =
  | 'healthy'
  | 'slow'
  /** Answers later than its check allows, each time. */
  | 'over-limit'
  /** Takes the request and never answers. */
  | 'hanging'
  | 'failing'
  | 'flapping'
  | 'heartbeat';

export interface Subject {
  check: CheckWire;
  kind: SubjectKind;
  path: string;
  lane: Lane;
  /** How much longer an answer may take than it does, before the check says so; 0 where it has no limit. */
  spareMs: number;
  /** Of heartbeats: the job has stopped, which must be found. */
  isDead?: boolean;
  /** Whether the control plane is right to say that it fails cannot be known. */
  isDoubtful?: boolean;
}

export interface Interval {
  from: number;
  /** Infinity while it lasts. */
  to: number;
}

export function open(intervals: Interval[]): { close(): void } {
  const interval = { from: Date.now(), to: Infinity };
  intervals.push(interval);
  return { close: () => void (interval.to = Date.now()) };
}

export const overlaps = (intervals: readonly Interval[], from: number, to: number): boolean =>
  intervals.some((each) => each.from < to && each.to > from);

/** An agent that can be taken away and brought back. */
export class LaneAgent {
  readonly name: string;
  /** When it did not run, though it should have. */
  readonly away: Interval[] = [];
  /** From its first check-in until it was asked to end; all the time for those that are there from the start. */
  readonly served: Interval = { from: 0, to: Infinity };
  readonly #system: System;
  readonly #key: string;
  readonly #settings: Record<string, string>;
  readonly #firstAbsence: { close(): void };
  program: Program;

  constructor(system: System, name: string, key: string, settings: Record<string, string>) {
    this.name = name;
    this.#system = system;
    this.#key = key;
    this.#settings = settings;
    this.#firstAbsence = open(this.away);
    this.program = this.#start();
  }

  /** Resolves when it knows its checks for the first time. */
  async arrived(): Promise<void> {
    await this.program.log('checked in');
    this.#firstAbsence.close();
  }

  #start(): Program {
    return this.#system.startAgent(this.name, this.#key, this.#settings);
  }

  /** Kills it, does something meanwhile, and waits until another one has started in its place. */
  async replace(meanwhile: () => Promise<void>): Promise<void> {
    const absence = open(this.away);
    await this.program.kill9();
    await meanwhile();
    this.program = this.#start();
    await this.program.log('agent has started');
    absence.close();
  }

  /** Resolves when it has checked in once more than so far. */
  checkedInAgain(): Promise<unknown> {
    const text = '"msg":"checked in"';
    const before = this.program.lines.filter((line) => line.includes(text)).length;
    return this.program.line(text, before + 1);
  }

  /** It was not expected before: until now it was not away. */
  joins(): void {
    this.away.length = 0;
    this.served.from = Date.now();
  }

  /** Asks it to end, which hands over its checks and delivers what it measured. */
  async end(): Promise<void> {
    this.served.to = Date.now();
    this.program.signal('SIGTERM');
    const { code, signal } = await this.program.exited;
    if (code !== 0)
      throw new Error(`${this.name} was asked to end, and ended with ${code ?? signal}`);
  }

  async suspend(work: () => Promise<void>): Promise<void> {
    const absence = open(this.away);
    this.program.signal('SIGSTOP');
    try {
      await work();
    } finally {
      this.program.signal('SIGCONT');
      absence.close();
    }
  }
}

export class Lane {
  readonly name: string;
  readonly agents: LaneAgent[] = [];
  readonly subjects: Subject[] = [];
  /** When results of this lane may be lost: a file is damaged, a disk is full. */
  readonly lossy: Interval[] = [];
  /** When slots may be missed although an agent runs. */
  readonly disturbed: Interval[] = [];
  /** How long a disturbance may show before and after it. */
  aftermathMs = 60_000;
  /** False where a clock was moved: the times of results are not those of the visits. */
  hasTrueTimes = true;

  readonly #start: (place: number) => LaneAgent;
  /** Those that were replaced. */
  readonly #former: LaneAgent[] = [];
  #started = 0;

  constructor(name: string, start: (place: number) => LaneAgent) {
    this.name = name;
    this.#start = start;
  }

  #startNext(): LaneAgent {
    this.#started += 1;
    return this.#start(this.#started - 1);
  }

  addAgent(): void {
    this.agents.push(this.#startNext());
  }

  /** One more agent serves, and the first one is asked to end: nothing may be lost by that. */
  async replaceFirst(): Promise<void> {
    const [old] = this.agents;
    const agent = this.#startNext();
    await agent.arrived();
    agent.joins();
    this.agents.push(agent);
    if (old === undefined) return;
    this.#former.push(old);
    this.agents.shift();
    await old.end();
  }

  /** Longest time in a part of time in which some agent ran. */
  longestPresence(from: number, to: number): number {
    return Math.max(
      0,
      ...[...this.#former, ...this.agents].map(({ away, served }) => {
        let longest = 0;
        let since = Math.max(from, served.from);
        const until = Math.min(to, served.to);
        for (const absence of away.toSorted((one, other) => one.from - other.from)) {
          if (absence.to <= since || absence.from >= until) continue;
          longest = Math.max(longest, absence.from - since);
          since = absence.to;
        }
        return Math.max(longest, until - since);
      }),
    );
  }

  /** The end of a part of time, or of the last absence in it. */
  backBy(from: number, to: number): number {
    const absences = this.agents.flatMap(({ away }) => away);
    const ends = absences.filter((absence) => overlaps([absence], from, to)).map((each) => each.to);
    return Math.max(to, ...ends);
  }

  isAway(from: number, to: number): boolean {
    return [...this.#former, ...this.agents].some(({ away }) => overlaps(away, from, to));
  }
}
