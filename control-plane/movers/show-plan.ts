/** A plan for people and for programs. Neither shows a credential. */
import { reportClasses, type Plan, type ReportClass, type ReportLine } from './plan.ts';

const titles: Readonly<Record<ReportClass, string>> = {
  EXACT: 'exact',
  CHANGED: 'changed',
  APPROXIMATE: 'approximate',
  DEACTIVATED: 'switched off',
  NOT_CARRIED: 'not carried over',
  SECRET: 'secrets',
  HISTORY: 'history',
};

/** Names of resource types, for one and for several. */
const kinds: Readonly<Record<string, readonly [string, string]>> = {
  check: ['check', 'checks'],
  'check-group': ['group', 'groups'],
  'alert-channel': ['alert channel', 'alert channels'],
  'alert-channel-subscription': ['subscription', 'subscriptions'],
  'maintenance-window': ['maintenance window', 'maintenance windows'],
  'status-page-service': ['service', 'services'],
  'status-page': ['status page', 'status pages'],
};

function countByType(plan: Plan): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { type } of plan.resources) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

const maxNames = 3;

/** One line for all objects of which the same is said, with the first of their names. */
function folded(lines: readonly ReportLine[]): string[] {
  return [...Map.groupBy(lines, ({ text }) => text)].flatMap(([text, same]) => {
    const named = same.flatMap(({ name, place }) =>
      name === null ? [] : [`«${name}»${place === null ? '' : ` (${place})`}`],
    );
    if (named.length === 0) return same.map(() => text);
    const further = named.length - maxNames;
    const shown = named.slice(0, maxNames).join(', ');
    return [`${shown}${further > 0 ? ` and ${further} more` : ''}: ${text}`];
  });
}

/** Lines for a terminal: what is created, what differs, what is missing. */
export function planText(plan: Plan): string[] {
  const lines = plan.report();
  const counts = plan.counts();
  const created = [...countByType(plan)].map(
    ([type, count]) => `${count} ${(kinds[type] ?? [type, type])[count === 1 ? 0 : 1]}`,
  );
  return [
    `${plan.title} → project ${plan.project}: ${created.length === 0 ? 'nothing' : created.join(', ')}.`,
    '',
    `  ${titles.EXACT}: ${counts.EXACT} of ${plan.entries.length} objects become exactly the same`,
    ...reportClasses.flatMap((kind) => {
      const own = lines.filter((line) => line.class === kind);
      if (own.length === 0) return [];
      return ['', `  ${titles[kind]}: ${own.length}`, ...folded(own).map((line) => `    ${line}`)];
    }),
    ...(plan.missing.length === 0
      ? []
      : [
          '',
          '  missing, and nothing is written without:',
          ...plan.missing.map((what) => `    ${what}`),
        ]),
  ];
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
