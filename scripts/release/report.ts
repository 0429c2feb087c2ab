/** What became of the steps, for machines and for people. */
import type { Finding } from './step.ts';

export type Outcome = 'passed' | 'failed' | 'left out';

export interface StepReport {
  name: string;
  title: string;
  outcome: Outcome;
  seconds: number;
  summary: string;
  figures?: Finding['figures'];
  /** What to do about a failure. */
  next?: string;
}

export interface ReleaseReport {
  version: string;
  commit: string;
  machine: string;
  steps: StepReport[];
}

/** Every step passed or was left out on purpose. */
export function isReady({ steps }: ReleaseReport): boolean {
  return steps.every(({ outcome }) => outcome !== 'failed');
}

const cell = (text: string): string => text.split('\n')[0]?.replaceAll('|', '\\|') ?? '';

export function asMarkdown(report: ReleaseReport): string {
  const { version, commit, machine, steps } = report;
  const leftOut = steps.filter(({ outcome }) => outcome === 'left out').map(({ name }) => name);
  const ready = isReady(report) ? 'ready to be published' : 'NOT ready';
  const without = leftOut.length === 0 ? '' : `, without ${leftOut.join(', ')}`;
  return [
    `# Release ${version}: ${ready}${without}`,
    '',
    `Commit ${commit}. ${machine}`,
    '',
    '| step | outcome | seconds | found |',
    '| --- | --- | ---: | --- |',
    ...steps.map(
      ({ name, outcome, seconds, summary }) =>
        `| ${name} | ${outcome} | ${seconds.toFixed(0)} | ${cell(summary)} |`,
    ),
    ...steps.flatMap(({ name, next, summary }) =>
      next === undefined ? [] : ['', `## ${name}`, '', '```', summary, '```', '', `Next: ${next}.`],
    ),
    '',
  ].join('\n');
}
