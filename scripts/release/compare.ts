/** Benchmarks beside the release before, in turns on the same machine. */
import { availableParallelism, loadavg } from 'node:os';
import { median } from '../bench/process-cost.ts';
import { benchSqliteBefore } from '../bench/sqlite-before.ts';
import { installedPrevious, previousReleases } from './previous.ts';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';
import { readChanges } from './version.ts';

const bound = 0.05;

export interface Row {
  measure: string;
  /** After / before. */
  ratio: number;
  /** Less is better. */
  isMemory: boolean;
}

/** Rows that became worse by more than the bound. */
export function worseRows(rows: readonly Row[]): Row[] {
  return rows.filter(({ ratio, isMemory }) => {
    const worse = isMemory ? ratio - 1 : 1 / ratio - 1;
    return Number.isNaN(worse) || worse > bound;
  });
}

/** Rows of which the changelog says nothing. */
export function unexplained(rows: readonly Row[], changes: string): Row[] {
  return worseRows(rows).filter(({ measure }) => !changes.includes(measure));
}

/** The median of each row over several passes. */
export function medianRows(passes: readonly (readonly Row[])[]): Row[] {
  return (passes[0] ?? []).map(({ measure, isMemory }) => {
    const ratios = passes.flatMap((rows) =>
      rows.filter((row) => row.measure === measure).map(({ ratio }) => ratio),
    );
    return { measure, isMemory, ratio: median(ratios) };
  });
}

/** Alone on a machine one pass is enough; beside other programs rows differ by more than the bound. */
const maxPasses = 3;

async function measure(context: ReleaseContext, before: string, changes: string): Promise<Row[]> {
  const passes: Row[][] = [];
  const rounds = context.isLong ? 5 : 3;
  for (;;) {
    passes.push(await benchSqliteBefore(before, { rounds, say: context.say }));
    const rows = medianRows(passes);
    const worse = unexplained(rows, changes);
    if (worse.length === 0 || passes.length === maxPasses) return rows;
    context.say(`worse, so measured again: ${worse.map(({ measure: name }) => name).join(', ')}`);
  }
}

export async function compareWithPrevious(context: ReleaseContext): Promise<Finding> {
  const [release] = previousReleases(context);
  if (release === undefined) return { summary: 'there is no release before' };
  const before = await installedPrevious(context, release);
  const changes = readChanges(context.checkout, context.version) ?? '';
  const rows = await measure(context, before, changes).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message.trim().split('\n')[0] : String(error);
    throw new StepFailure(
      `${release.version} cannot be measured with the clients of this commit: ${reason}`,
      'name an older commit of the same protocol with --previous, or leave it out with --without bench',
    );
  });
  const figures = rows.map((row) => ({ ...row, ratio: Number(row.ratio.toFixed(3)) }));
  for (const { measure: name, ratio } of figures) context.say(`${ratio.toFixed(2)}  ${name}`);
  const worse = unexplained(rows, changes);
  if (worse.length > 0) {
    const load = `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`;
    throw new StepFailure(
      `more than ${bound * 100} % worse than ${release.version} (${load}): ` +
        worse.map(({ measure: name, ratio }) => `${name} (${ratio.toFixed(2)})`).join(', '),
      'repeat it alone on the machine; mend it, or name the row and the reason in the line of this version in agent/CHANGELOG.md',
    );
  }
  const summary = `${rows.length} rows beside ${release.version}, none worse unexplained`;
  return { summary, figures };
}
