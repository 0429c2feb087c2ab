/** The report of a proof, as Markdown and for programs. */
import { lines, unjudgedShare, type Line } from './count.ts';
import type { Proof } from './run.ts';

const shownOfEach = 20;
const mostUnjudged = 0.1;

export interface Report extends Proof {
  isPassed: boolean;
  /** Of the slots due: the proof cannot say whether they ended as they should. Above a tenth it proves nothing. */
  unjudgedShare: number;
  isConclusive: boolean;
  /** Plays the same faults again. */
  repeat: string;
  counts: Record<Line, number>;
}

export function reportOf(proof: Proof, repeat: string): Report {
  const counts = Object.fromEntries(
    lines.map((line) => [line, proof.tally.findings[line].length]),
  ) as Record<Line, number>;
  const hasPlayed = proof.cases.length > 0 && proof.cases.every(({ rounds }) => rounds > 0);
  const isPassed = hasPlayed && Object.values(counts).every((count) => count === 0);
  const unjudged = unjudgedShare(proof.tally);
  const isConclusive = unjudged <= mostUnjudged;
  return { isPassed, unjudgedShare: unjudged, isConclusive, repeat, counts, ...proof };
}

export const shareText = ({ unjudgedShare: share, isConclusive }: Report): string =>
  `${(share * 100).toFixed(1)} % of the slots could not be judged${isConclusive ? '' : ', above a tenth: this proves nothing'}`;

const table = (head: readonly [string, string], rows: readonly (readonly [string, unknown])[]) =>
  [
    `| ${head[0]} | ${head[1]} |`,
    '| --- | --- |',
    ...rows.map(([name, value]) => `| ${name} | ${String(value)} |`),
  ].join('\n');

export function markdownOf(report: Report): string {
  const { tally, load, faults, counts } = report;
  const missed = Object.entries(tally.missed);
  const found = lines.filter((line) => counts[line] > 0);
  const { before, after } = load;
  const stolen =
    before.stolen === null || after.stolen === null
      ? []
      : [['CPU time taken by other machines, s', (after.stolen - before.stolen) / 100] as const];
  return (
    [
      `# Proof: ${report.isPassed ? 'every line is zero' : 'not every line is zero'}`,
      `${shareText(report)}.`,
      `Seed ${report.seed}, started ${report.startedAt}, ${Math.round(report.durationMs / 1_000)} s. The same faults again: \`${report.repeat}\``,
      '## What must be zero',
      table(
        ['Line', 'Count'],
        lines.map((line) => [line, counts[line]]),
      ),
      ...found.map((line) =>
        [
          `### ${line}`,
          ...tally.findings[line].slice(0, shownOfEach).map((text) => `- ${text}`),
          ...(counts[line] > shownOfEach ? [`- and ${counts[line] - shownOfEach} more`] : []),
        ].join('\n'),
      ),
      '## What happened',
      table(
        ['', 'Count'],
        [
          ['slots due', tally.slots],
          ['slots with a result', tally.finals],
          ...missed.map(([reason, count]) => [`slots missed: ${reason}`, count] as const),
          ['slots whose end a fault delays beyond this proof', tally.delayed],
          ['results whose times are seconds away from their visit', tally.shifted],
          ['visits of the targets', tally.visits],
          ['results that say that the agent could not measure', tally.internalErrors],
          ['attempts that failed and were made again', tally.retries],
          ['results that were sent again, since their answer was lost', tally.sentAgain],
          ['results after the end of their slot, which count for nothing', tally.late],
          ['verdicts that nobody can judge, since the target itself was held up', tally.notJudged],
          ['alerts', tally.alerts],
          ['messages', tally.messages],
          ['messages that arrived again after an interruption', tally.repeated],
        ],
      ),
      '## Faults played',
      table(['Fault', 'Times'], Object.entries(faults).toSorted()),
      '## Cases',
      table(
        ['Case', 'Rounds'],
        report.cases.map(({ name, plays, rounds }) => [`${name}: ${plays}`, rounds]),
      ),
      ...(report.notRun.length === 0
        ? []
        : ['### Not run', ...report.notRun.map(({ name, reason }) => `- ${name}: ${reason}`)]),
      '## The machine',
      table(
        ['', ''],
        [
          ['processors', after.processors],
          ['load average before and after', `${before.average}, ${after.average}`],
          [
            '% of time that something waited for a CPU, before and after',
            `${before.pressure ?? '?'}, ${after.pressure ?? '?'}`,
          ],
          ...stolen,
        ],
      ),
    ].join('\n\n') + '\n'
  );
}
