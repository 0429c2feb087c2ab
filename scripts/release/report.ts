/** What became of the steps, for machines and for people. */
import type { Finding } from './step.ts';

export type Outcome = 'passed' | 'failed' | 'not checked' | 'left out' | 'not run yet';

export interface StepReport extends Finding {
  name: string;
  outcome: Outcome;
  seconds: number;
  /** What to do about a failure. */
  next?: string;
  /** Somebody releases without it, by --without. */
  isAccepted?: boolean;
}

export interface ReleaseReport {
  version: string;
  commit: string;
  machine: string;
  /** Every step, in order. */
  steps: StepReport[];
}

/** Every step passed, or somebody releases without it. */
export function isReady({ steps }: ReleaseReport): boolean {
  return steps.every(({ outcome, isAccepted }) => outcome === 'passed' || isAccepted === true);
}

/** What was found stays on record, a failure too, when somebody releases without it. */
export function accepted(step: StepReport): StepReport {
  if (step.outcome === 'passed') return step;
  const outcome = step.outcome === 'not run yet' ? 'left out' : step.outcome;
  return { ...step, outcome, isAccepted: true };
}

const cell = (text: string): string => text.split('\n')[0]?.replaceAll('|', '\\|') ?? '';

export function asMarkdown(report: ReleaseReport): string {
  const { version, commit, machine, steps } = report;
  const without = steps.flatMap(({ name, isAccepted }) => (isAccepted === true ? [name] : []));
  const open = steps.filter(({ outcome, isAccepted }) => outcome !== 'passed' && !isAccepted);
  const words = open.map(({ name, outcome }) => `${name} (${outcome})`).join(', ');
  const ready = open.length === 0 ? 'ready to be published' : `NOT ready: ${words}`;
  return [
    `# Release ${version}: ${ready}${without.length === 0 ? '' : `; without ${without.join(', ')}`}`,
    '',
    `Commit ${commit}. ${machine}`,
    '',
    '| step | outcome | seconds | found |',
    '| --- | --- | ---: | --- |',
    ...steps.map(({ name, outcome, isAccepted, seconds, summary, notChecked }) => {
      const shown = outcome === 'passed' || outcome === 'not run yet' ? outcome : `**${outcome}**`;
      const reason = notChecked === undefined ? '' : `; not checked: ${notChecked}`;
      const accepted = isAccepted === true ? ', accepted' : '';
      return `| ${name} | ${shown}${accepted} | ${seconds.toFixed(0)} | ${cell(summary + reason)} |`;
    }),
    ...steps.flatMap(({ name, next, summary }) =>
      next === undefined ? [] : ['', `## ${name}`, '', '```', summary, '```', '', `Next: ${next}.`],
    ),
    '',
  ].join('\n');
}
