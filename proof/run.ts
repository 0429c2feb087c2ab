/** Plays the cases of a proof in parallel, each from its own seed, and counts. */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Play, ProofCase, Stage } from './case.ts';
import { cases } from './cases/index.ts';
import { noTally, type Tally } from './count.ts';
import { readLoad, type Load } from './machine.ts';
import { seededRandom } from './random.ts';
import { temporaryFolder, type Programs } from './system.ts';
import { numberOf, World } from './world.ts';

export interface ProofOptions {
  programs: Programs;
  seed: number;
  /** Names of cases; all of them when empty. */
  only: readonly string[];
  isShort: boolean;
  /** An empty PostgreSQL database for replicas; null without one. */
  databaseUrl: string | null;
  /** How long faults are played, when `rounds` is null. */
  playMs: number;
  /** Faults of each case, however long that takes. */
  rounds: number | null;
  say: (line: string) => void;
  /** Ends the proof early: its programs are stopped and its files are removed before it rejects. */
  signal: AbortSignal;
}

export interface NotRun {
  name: string;
  reason: string;
}

export interface Proof {
  seed: number;
  startedAt: string;
  durationMs: number;
  cases: { name: string; plays: string; rounds: number }[];
  notRun: NotRun[];
  /** How often each fault was played. */
  faults: Record<string, number>;
  tally: Tally;
  load: { before: Load; after: Load };
}

interface Playing {
  proofCase: ProofCase;
  play: Play;
  rounds: number;
}

const progressEveryMs = 5_000;
const askEveryMs = 500;

function sum(tallies: readonly Tally[]): Tally {
  const total = noTally();
  for (const { findings, missed, ...numbers } of tallies) {
    for (const [line, found] of Object.entries(findings))
      total.findings[line as keyof typeof findings].push(...found);
    for (const [reason, count] of Object.entries(missed))
      total.missed[reason] = (total.missed[reason] ?? 0) + count;
    for (const [name, count] of Object.entries(numbers))
      total[name as keyof typeof numbers] += count;
  }
  return total;
}

/** Resolves after a time, or when a signal says so. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  wait(ms, undefined, { signal }).catch(() => undefined);

async function pauseUntil(
  isSo: () => Promise<boolean>,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (const until = Date.now() + ms; Date.now() < until && !signal.aborted;) {
    if (await isSo()) return true;
    await pause(askEveryMs, signal);
  }
  return signal.aborted;
}

class Run {
  readonly #options: ProofOptions;
  readonly #faults: Record<string, number> = {};
  readonly #playing: Playing[] = [];

  constructor(options: ProofOptions) {
    this.#options = options;
  }

  async run(): Promise<Proof> {
    const { seed, only, isShort, databaseUrl, say } = this.#options;
    const startedAt = Date.now();
    const before = readLoad();
    const requirements = { isShort, databaseUrl };
    const wanted = cases.filter(({ name }) => only.length === 0 || only.includes(name));
    const notRun = wanted.flatMap(({ name, missing }) => {
      const reason = missing?.(requirements) ?? null;
      return reason === null ? [] : [{ name, reason }];
    });
    const able = wanted.filter(({ name }) => notRun.every((each) => each.name !== name));
    for (const { name, reason } of notRun) say(`not run: ${name}, ${reason}`);
    const together = able.filter(({ prepareWorld }) => prepareWorld === undefined);
    const apart = able.filter(({ prepareWorld }) => prepareWorld !== undefined);
    using folder = temporaryFolder();
    const groups = [...(together.length === 0 ? [] : [together]), ...apart.map((each) => [each])];
    const progress = setInterval(() => this.#sayProgress(startedAt), progressEveryMs);
    try {
      const tallies = await Promise.all(
        groups.map((group, index) => this.#runWorld(group, join(folder.path, String(index)))),
      );
      return {
        seed,
        startedAt: new Date(startedAt).toISOString(),
        durationMs: Date.now() - startedAt,
        cases: this.#playing.map(({ proofCase: { name, plays }, rounds }) => ({
          ...{ name, plays, rounds },
        })),
        notRun,
        faults: this.#faults,
        tally: sum(tallies),
        load: { before, after: readLoad() },
      };
    } finally {
      clearInterval(progress);
    }
  }

  #sayProgress(startedAt: number): void {
    const played = Object.values(this.#faults).reduce((all, count) => all + count, 0);
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    this.#options.say(`${seconds} s, ${played} faults played, load ${readLoad().average}`);
  }

  async #runWorld(group: readonly ProofCase[], folder: string): Promise<Tally> {
    const { programs, seed, isShort, databaseUrl, signal } = this.#options;
    mkdirSync(folder, { recursive: true });
    const { settings = {} } = group[0]?.prepareWorld?.(folder, { isShort, databaseUrl }) ?? {};
    await using world = await World.start({ programs, folder, seed, isShort, settings });
    signal.throwIfAborted();
    const abortion = once(signal, 'abort').then(() => Promise.reject(signal.reason as Error));
    return await Promise.race([this.#playIn(world, group), abortion]);
  }

  async #playIn(world: World, group: readonly ProofCase[]): Promise<Tally> {
    const { playMs, rounds, say, signal } = this.#options;
    say(`programs are starting for ${group.map(({ name }) => name).join(', ')}`);
    const playing = await Promise.all(
      group.map(async (proofCase) => ({
        proofCase,
        play: await proofCase.join(world),
        rounds: 0,
      })),
    );
    this.#playing.push(...playing);
    await Promise.all(world.lanes.flatMap(({ agents }) => agents).map((agent) => agent.arrived()));
    world.begin(rounds === null ? Date.now() + playMs : Infinity);
    const ending = AbortSignal.any([
      signal,
      ...(rounds === null ? [AbortSignal.timeout(playMs)] : []),
    ]);
    say('faults are being played');
    await Promise.all(playing.map((each) => this.#playAll(each, world, ending)));
    world.end();
    say('no fault any more, waiting until everything is accounted for');
    return await world.settle(say);
  }

  async #playAll(playing: Playing, world: World, signal: AbortSignal): Promise<void> {
    const { seed, isShort, rounds } = this.#options;
    const { name } = playing.proofCase;
    const stage: Stage = {
      random: seededRandom(seed * 1_000 + numberOf(name)),
      isShort,
      pause: (ms) => pause(ms, signal),
      pauseUntil: (isSo, ms) => pauseUntil(isSo, ms, signal),
      note: (fault) => {
        playing.rounds += 1;
        this.#faults[fault] = (this.#faults[fault] ?? 0) + 1;
      },
    };
    while (!signal.aborted && (rounds === null || playing.rounds < rounds)) {
      try {
        await playing.play(stage);
      } catch (error) {
        const failure = `${name}: ${error instanceof Error ? error.message : String(error)}`;
        this.#options.say(failure);
        world.failures.push(failure);
        return;
      }
    }
  }
}

/** Throws only where nothing could be proved: a program does not start, a folder cannot be written. */
export const prove = (options: ProofOptions): Promise<Proof> => new Run(options).run();
