/** A plan for people and for programs. Neither shows a credential. */
import { reportClasses } from '@monitor/shared/contract/file-import.ts';
import type { Plan, ReportClass, ReportLine } from './plan.ts';

const titles: Readonly<Record<ReportClass, string>> = {
  EXACT: 'exact',
  CHANGED: 'changed',
  APPROXIMATE: 'approximate',
  DEACTIVATED: 'switched off',
  NOT_CARRIED: 'not carried over',
  SECRET: 'secrets',
  HISTORY: 'history',
};

/** Names of resource types, shorter where they say whose they are. */
const kindOf = (type: string, count: number): string =>
  `${type.replace(/^(check|alert-channel|status-page)-(?=group|subscription|service)/, '').replaceAll('-', ' ')}${count === 1 ? '' : 's'}`;

const countByType = ({ resources }: Plan) =>
  [...Map.groupBy(resources, ({ type }) => type)].map(
    ([type, same]) => [type, same.length] as const,
  );

const maxNames = 3;

/** What is said of the objects with these names; of none where it is about the whole source. */
export interface Said {
  text: string;
  names: readonly string[];
}

/** Each text once, with all that it is said of. */
function folded(lines: readonly ReportLine[]): Said[] {
  return [...Map.groupBy(lines, ({ text }) => text)].map(([text, same]) => ({
    text,
    names: same.flatMap(({ name, place }) =>
      name === null ? [] : [`«${name}»${place === null ? '' : ` (${place})`}`],
    ),
  }));
}

/** What is created, and how much of it is the same. */
export function summary(plan: Plan): [created: string, exact: string] {
  const created = countByType(plan).map(([type, count]) => `${count} ${kindOf(type, count)}`);
  return [
    `${plan.title} → project ${plan.project}: ${created.length === 0 ? 'nothing' : created.join(', ')}.`,
    `${titles.EXACT}: ${plan.counts().EXACT} of ${plan.entries.length} objects become exactly the same`,
  ];
}

/** What differs and what is missing, each text once. */
export function sections(plan: Plan): (readonly [title: string, said: readonly Said[]])[] {
  const lines = plan.report();
  const missing = plan.missing.map((text) => ({ text, names: [] }));
  return [
    ...reportClasses.map((kind) => {
      const own = lines.filter((line) => line.class === kind);
      return [`${titles[kind]}: ${own.length}`, folded(own)] as const;
    }),
    ['missing, and nothing is written without:', missing] as const,
  ].filter(([, said]) => said.length > 0);
}

/** Lines for a terminal: what is created, what differs, what is missing. */
export function planText(plan: Plan): string[] {
  const [created, exact] = summary(plan);
  const line = ({ names, text }: Said, most: number): string => {
    const further = names.length - most;
    const shown = names.slice(0, most).join(', ');
    const named = `${shown}${further > 0 ? ` and ${further} more` : ''}`;
    return `    ${named === '' ? '' : `${named}: `}${text}`;
  };
  const parts = sections(plan).flatMap(([title, said]) => {
    // Somebody must set each of them.
    const most = title.startsWith(titles.SECRET) ? Infinity : maxNames;
    return ['', `  ${title}`, ...said.map((each) => line(each, most))];
  });
  return [created, '', `  ${exact}`, ...parts];
}

/** The same for programs. */
export function planToWire(plan: Plan) {
  return {
    source: plan.title,
    project: plan.project,
    resources: Object.fromEntries(countByType(plan)),
    counts: plan.counts(),
    report: plan.report(),
    missing: plan.missing,
    findings: plan.findings,
    variables: plan.variables.map(({ key }) => key),
  };
}
