/** Benchmarks beside the release before, in turns on the same machine. */
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

export async function compareWithPrevious(context: ReleaseContext): Promise<Finding> {
  const [release] = previousReleases(context);
  if (release === undefined) return { summary: 'there is no release before' };
  const before = await installedPrevious(context, release);
  const rounds = context.isLong ? 5 : 3;
  const rows = await benchSqliteBefore(before, { rounds, say: context.say });
  const figures = rows.map((row) => ({ ...row, ratio: Number(row.ratio.toFixed(3)) }));
  for (const { measure, ratio } of figures) context.say(`${ratio.toFixed(2)}  ${measure}`);
  const worse = unexplained(rows, readChanges(context.checkout, context.version) ?? '');
  if (worse.length > 0) {
    throw new StepFailure(
      `more than ${bound * 100} % worse than ${release.version}: ` +
        worse.map(({ measure, ratio }) => `${measure} (${ratio.toFixed(2)})`).join(', '),
      'mend it, or name the row and the reason in the line of this version in agent/CHANGELOG.md',
    );
  }
  return {
    summary: `${rows.length} rows beside ${release.version}, none worse unexplained`,
    figures,
  };
}
