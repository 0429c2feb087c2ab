/**
 * Benchmarks beside the release before, in turns on the same machine: both are measured by this commit's
 * `npm run bench`.
 *
 * A row is worse when its median pair is more than 5 % worse, and all pairs but one in nine are worse at all. By
 * chance alone the second happens to one row in fifty. Each row has three pairs; one that looks worse gets nine.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { median, type ShownRow } from '../bench/measure.ts';
import { readJson } from './packages.ts';
import { installedPrevious, noRelease, previousReleases, type Release } from './previous.ts';
import { runLogged, StepFailure, type Finding, type ReleaseContext } from './step.ts';
import { readChanges } from './version.ts';

const bound = 0.05;
const fewPairs = 3;
const manyPairs = 9;
/** An older program may never do what a benchmark waits for. */
const partLimitMs = 15 * 60_000;

/** Parts of `npm run bench`. */
const parts = [
  ...['api', 'status-page', 'ingest', 'fleet', 'start', 'http', 'tcp', 'dns', 'icmp', 'browser'],
  ...['scrub', 'encryption', 'slots', 'console'],
];

/** Less is better, but of rates. */
const measured = /^(\d+(?:\.\d+)?) (?:ms|µs|s|MiB|KB|kB|bytes|\w+\/s)$/;

/** The figures of a row that can be compared, by its name and theirs: what is plain stands for other programs. */
export function figuresIn(rows: readonly ShownRow[]): Map<string, { value: number; unit: string }> {
  const found = new Map<string, { value: number; unit: string }>();
  for (const { label, values } of rows) {
    for (const [name, text] of Object.entries(values)) {
      const [, number] = measured.exec(text) ?? [];
      if (number === undefined || name.startsWith('plain')) continue;
      const unit = text.slice(number.length + 1);
      found.set(`${label}: ${name}`, { value: Number(number), unit });
    }
  }
  return found;
}

type Figures = ReturnType<typeof figuresIn>;

/** How much worse each figure is after, as a ratio: 1.1 is a tenth worse. */
export function pairOf(before: Figures, after: Figures): Map<string, number> {
  return new Map(
    [...after].flatMap(([name, { value, unit }]) => {
      const old = before.get(name)?.value ?? 0;
      if (old === 0 || value === 0) return [];
      return [[name, unit.endsWith('/s') ? old / value : value / old] as const];
    }),
  );
}

export const looksWorse = (ratios: readonly number[]): boolean => median(ratios) > 1 + bound;

export function isWorse(ratios: readonly number[]): boolean {
  const others = ratios.filter((ratio) => ratio <= 1).length;
  return looksWorse(ratios) && others <= Math.floor(ratios.length / manyPairs);
}

interface Side {
  name: 'before' | 'after';
  /** A folder with both programs. */
  built: string;
}

async function measure(
  context: ReleaseContext,
  { name, built }: Side,
  part: string,
): Promise<Figures> {
  const rows = join(context.work, `bench-${name}.jsonl`);
  rmSync(rows, { force: true });
  await runLogged(context, {
    name: `bench-${part}-${name}`,
    words: ['npx', 'node', 'scripts/bench/main.ts', part],
    limitMs: partLimitMs,
    environment: { BENCH_ROUNDS: '1', BENCH_ROWS: rows, TEST_PROGRAMS: built },
    next: `run \`BENCH_ROUNDS=1 npm run bench -- ${part}\`, and mend what it names`,
  });
  const lines = existsSync(rows) ? readFileSync(rows, 'utf8').trim().split('\n') : [];
  return figuresIn(lines.map((line) => JSON.parse(line) as ShownRow));
}

async function pairsOf(
  context: ReleaseContext,
  [before, after]: readonly [Side, Side],
  part: string,
): Promise<Map<string, number[]> | string> {
  const ratios = new Map<string, number[]>();
  const looks = (): boolean => [...ratios.values()].some(looksWorse);
  const first = context.isLong ? manyPairs : fewPairs;
  for (let pair = 0; pair < first || (pair < manyPairs && looks()); pair += 1) {
    const found = new Map<Side, Figures>();
    for (const side of pair % 2 === 0 ? [before, after] : [after, before]) {
      try {
        found.set(side, await measure(context, side, part));
      } catch (error) {
        if (side === after || !(error instanceof StepFailure)) throw error;
        return `it does not run with that version: ${join(context.logs, `bench-${part}-before.log`)}`;
      }
    }
    const [old, own] = [found.get(before), found.get(after)];
    if (old === undefined || own === undefined) continue;
    for (const [name, ratio] of pairOf(old, own)) {
      ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
    }
  }
  return ratios.size === 0 ? 'it has no rows there' : ratios;
}

/** The programs of the release before: as users install them, where it had packages. */
async function sideBefore(context: ReleaseContext, release: Release): Promise<Side> {
  const checkout = await installedPrevious(context, release);
  const { scripts } = readJson<{ scripts: Record<string, string> }>(join(checkout, 'package.json'));
  if (!('packages' in scripts)) return { name: 'before', built: checkout };
  const built = join(context.work, 'bench-before');
  await runLogged(context, {
    name: 'bench-build',
    words: ['npm', 'run', 'packages', '--', '--built', built, '--out', join(built, 'packed')],
    folder: checkout,
    next: 'name another release with --previous',
  });
  return { name: 'before', built };
}

const shown = (ratio: number): string =>
  `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(0)} %`;

export async function compareWithPrevious(context: ReleaseContext): Promise<Finding> {
  const [release] = previousReleases(context);
  if (release === undefined) return noRelease;
  const sides = [
    await sideBefore(context, release),
    { name: 'after', built: join(context.work, 'built') },
  ] as const;
  const changes = readChanges(context.checkout, context.version) ?? '';
  const rows: { row: string; worse: number; least: number; most: number; pairs: number }[] = [];
  const stopping: string[] = [];
  const noisy: string[] = [];
  const left: string[] = [];
  for (const part of parts) {
    const pairs = await pairsOf(context, sides, part);
    if (typeof pairs === 'string') {
      context.say(`${part}: not compared, ${pairs}`);
      left.push(`${part} (${pairs})`);
      continue;
    }
    for (const [row, ratios] of pairs) {
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
      const text = `${row} ${shown(median(ratios))} (${shown(least)} to ${shown(most)}, ${ratios.length} pairs)`;
      context.say(text);
      rows.push({ row, worse: median(ratios), least, most, pairs: ratios.length });
      if (!looksWorse(ratios) || changes.includes(row.split(':')[0] ?? row)) continue;
      (isWorse(ratios) ? stopping : noisy).push(text);
    }
  }
  if (stopping.length > 0) {
    const load = `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`;
    throw new StepFailure(
      `worse than ${release.version} by more than ${bound * 100} % (${load}): ${stopping.join('; ')}`,
      'repeat it alone on the machine; mend it, or name the row and the reason in the section of this version in CHANGELOG.md',
    );
  }
  const more = [
    ...(noisy.length > 0 ? [`within the spread: ${noisy.join(', ')}`] : []),
    ...(left.length > 0 ? [`not in both: ${left.join(', ')}`] : []),
  ];
  return {
    summary: [
      `${rows.length} rows beside ${release.version}, none worse unexplained`,
      ...more,
    ].join('; '),
    figures: rows,
    ...(rows.length === 0 && { notChecked: `nothing runs with ${release.version}` }),
  };
}
