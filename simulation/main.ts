/**
 * `npm run simulate [-- --seeds 500 --from 1 --minutes 10 --case clock,drain --json]`: plays seeds, each a story in a
 * world of its own. `--replay <seed>` tells one story with its timeline; a seed that fails is shrunk to the fewest
 * events. Ends with 1 when something was wrong.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readOptions, refuse } from '../scripts/options.ts';
import { breaks, casesOf } from './breaks.ts';
import { cases, situations, type Event } from './events.ts';
import { found as seedsThatFound, ofLongTier } from './found.ts';
import type { Order, Outcome, Story } from './order.ts';

const { values } = readOptions({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    /** These seeds in place of so many from one on: as 5,39,52. */
    only: { type: 'string' },
    /** The seeds that found something as well: `all`, or the `few` that no other test stands for. */
    found: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    case: { type: 'string' },
    /** Agents, checks, and how often these run, as 2x20@10; small and by the seed without it. */
    size: { type: 'string' },
    replay: { type: 'string' },
    /** A story in place of the one that the seed draws: a file with a list of events. */
    story: { type: 'string' },
    jobs: { type: 'string', default: String(Math.max(1, availableParallelism() - 1)) },
    /** Puts these faults in on purpose, one after the other, and says whether each is found; `all` for all. */
    break: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  },
});

function wholeNumber(
  name: 'seeds' | 'from' | 'minutes' | 'jobs' | 'replay',
  least: number,
): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < least)
    refuse(
      `--${name} must be a whole number of at least ${least}, and is ${values[name] ?? 'missing'}`,
    );
  return number;
}
const minutes = wholeNumber('minutes', 6);
const chosen = values.case?.split(',') ?? null;
const unknown = chosen?.find((name) => !(name in cases));
if (unknown !== undefined)
  refuse(`There is no case "${unknown}"; there are ${Object.keys(cases).join(', ')}.`);
const size =
  /^(\d+)x(\d+)@(10|20|30|60)$/
    .exec(values.size ?? '')
    ?.slice(1)
    .map(Number) ?? null;
if (values.size !== undefined && (size === null || size.includes(0)))
  refuse(
    `--size must be as 2x20@10 (agents, checks, every 10, 20, 30 or 60 seconds): ${values.size}`,
  );
const [agents = 0, checks = 0, everySeconds = 0] = size ?? [];
const broken = breaks.map(({ name }) => name);
const wanted = values.break?.includes('all') === true ? broken : (values.break ?? []);
for (const name of wanted)
  if (!broken.includes(name))
    refuse(`There is no break "${name}"; there are ${broken.join(', ')}.`);

/** Memory is where files of simulated disks belong. */
const folder = mkdtempSync(join(process.platform === 'linux' ? '/dev/shm' : tmpdir(), 'simulate-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
/** A process keeps something of each world: it plays so many. */
const seedsAProcess = 25;

/** Plays in a process of its own, which ends when nobody wants to hear more. */
async function* play(
  order: Pick<Order, 'stories' | 'hasTimeline'>,
  fault: string | undefined,
): AsyncGenerator<Outcome> {
  const full: Order = {
    ...{ ...order, folder, minutes },
    size: size === null ? null : { agents, checks, everySeconds },
  };
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'process.ts'),
      JSON.stringify(full),
      ...(fault === undefined ? [] : [fault]),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    for await (const line of createInterface({ input: child.stdout }))
      yield JSON.parse(line) as Outcome;
  } finally {
    child.kill();
  }
}

/** Plays stories in several processes at once, until `hasEnough` of their outcomes. */
async function playAll(
  stories: readonly Story[],
  fault: string | undefined,
  hasEnough: (outcome: Outcome) => boolean,
): Promise<void> {
  const rest = [...stories];
  let isEnough = false;
  await Promise.all(
    Array.from({ length: wholeNumber('jobs', 1) }, async () => {
      while (rest.length > 0 && !isEnough) {
        const own = rest.splice(0, seedsAProcess);
        for await (const outcome of play({ stories: own, hasTimeline: false }, fault)) {
          isEnough = hasEnough(outcome) || isEnough;
          if (isEnough) break;
        }
      }
    }),
  );
}

const storyOf = (seed: number, fault?: string, events: Event[] | null = null): Story => ({
  ...{ seed, events },
  cases: chosen ?? (fault === undefined ? null : (casesOf[fault] ?? null)),
});

async function playStory(seed: number, events: Event[] | null, fault?: string): Promise<Outcome> {
  const stories = [storyOf(seed, fault, events)];
  let outcome: Outcome | undefined;
  for await (const given of play({ stories, hasTimeline: true }, fault)) outcome = given;
  if (outcome === undefined) throw new Error(`the process that played seed ${seed} has ended`);
  return outcome;
}

/** The words of a violation without what differs from story to story. */
const kindOf = (wrong: string): string => wrong.replace(/[\d.]+|[0-9a-f-]{36}/g, '#');

/** Leaves out one event after the other while the same is still wrong. */
async function shrink(first: Outcome): Promise<Outcome> {
  const kind = kindOf(first.wrong[0] ?? '');
  let best = first;
  for (
    let size = Math.ceil(first.events.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < best.events.length;) {
      const fewer = best.events.toSpliced(at, size);
      const outcome = await playStory(first.seed, fewer);
      if (outcome.wrong.some((each) => kindOf(each) === kind)) best = outcome;
      else at += size;
    }
  }
  return best.timeline.length > 0 ? best : playStory(first.seed, best.events);
}

function tell({ seed, hash, events, wrong, timeline }: Outcome): void {
  console.log(`\nseed ${seed}, trace ${hash}, with ${events.length} events:`);
  for (const event of events) console.log(`  ${JSON.stringify(event)},`);
  console.log(timeline.map((line) => `  ${line}`).join('\n'));
  for (const each of wrong) console.log(`  WRONG: ${each}`);
}

async function replay(): Promise<void> {
  const seed = wholeNumber('replay', 0);
  const events =
    values.story === undefined ? null : (JSON.parse(readFileSync(values.story, 'utf8')) as Event[]);
  const outcome = await playStory(seed, events, wanted[0]);
  if (values.json) console.log(JSON.stringify(outcome));
  else tell(outcome);
  if (outcome.wrong.length > 0) process.exitCode = 1;
}

const from = wholeNumber('from', 0);
const seeds =
  values.only?.split(',').map(Number) ??
  Array.from({ length: wholeNumber('seeds', values.found ? 0 : 1) }, (_, index) => from + index);
if (!seeds.every(Number.isInteger)) refuse(`--only must be as 5,39,52: ${values.only}`);

async function simulate(): Promise<void> {
  const outcomes: Outcome[] = [];
  const stories = [
    ...seeds.map((seed) => storyOf(seed)),
    ...(values.found === undefined ? [] : seedsThatFound)
      .filter(({ seed }) => values.found === 'all' || !ofLongTier.includes(seed))
      .map((each) => ({ ...each, events: null })),
  ];
  await playAll(stories, undefined, (outcome) => {
    outcomes.push(outcome);
    if (!values.json && outcome.wrong.length > 0)
      console.log(
        `seed ${outcome.seed}${outcome.cases === null ? '' : ` of ${outcome.cases.join()}`}, trace ${outcome.hash}: ${outcome.wrong.slice(0, 3).join('; ')}`,
      );
    return false;
  });
  const failing = outcomes.filter(({ wrong }) => wrong.length > 0);
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const met = new Map<string, number>();
  for (const { situations: own } of outcomes)
    for (const [name, times] of Object.entries(own)) met.set(name, (met.get(name) ?? 0) + times);
  const report = {
    seeds: outcomes.length,
    failing: failing.map(({ seed, cases: of, hash, wrong }) => ({ seed, cases: of, hash, wrong })),
    cpuMs: Math.round(sum(({ cpuMs }) => cpuMs)),
    virtualMinutes: Math.round(sum(({ virtualMs }) => virtualMs) / 60_000),
    virtualSecondsPerCpuSecond: Math.round(
      sum((each) => each.virtualMs) / sum((each) => each.cpuMs),
    ),
    situations: Object.fromEntries([...met].sort(([one], [other]) => one.localeCompare(other))),
    neverMet: situations.filter((name) => !met.has(name)),
    traces: Object.fromEntries(outcomes.map(({ seed, hash }) => [seed, hash])),
  };
  if (values.json) console.log(JSON.stringify(report));
  else {
    for (const [name, times] of Object.entries(report.situations))
      console.log(`${String(times).padStart(7)}  ${name}`);
    for (const name of report.neverMet) console.log(`  never  ${name}`);
    const [worst] = failing;
    if (worst !== undefined) tell(await shrink(worst));
    const { virtualMinutes, virtualSecondsPerCpuSecond: speed } = report;
    console.log(
      `\n${failing.length} of ${outcomes.length} seeds failed: ${failing.map(({ seed }) => seed).join(', ') || 'none'}; ${virtualMinutes} virtual minutes, ${speed} virtual seconds for each second of CPU`,
    );
  }
  if (failing.length > 0) process.exitCode = 1;
}

/** Whether each fault that is put in on purpose is found. */
async function findBreaks(): Promise<void> {
  let found = 0;
  for (const { name, breaks: what } of breaks.filter((each) => wanted.includes(each.name))) {
    let played = 0;
    let first: Outcome | undefined;
    const stories = seeds.map((seed) => storyOf(seed, name));
    await playAll(stories, name, (outcome) => {
      played += 1;
      if (outcome.wrong.length > 0) first ??= outcome;
      return first !== undefined;
    });
    if (first !== undefined) found += 1;
    const how =
      first === undefined ? `in ${played} seeds` : `seed ${first.seed}: ${first.wrong[0]}`;
    console.log(`${first === undefined ? 'NOT FOUND' : 'found'}  ${name}: ${what}; ${how}`);
  }
  console.log(`${found} of ${wanted.length} breaks found`);
  if (found < wanted.length) process.exitCode = 1;
}

if (values.replay !== undefined) await replay();
else if (wanted.length > 0) await findBreaks();
else await simulate();
