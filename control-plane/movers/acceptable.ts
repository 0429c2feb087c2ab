/** What the API would refuse: one object of a source must not keep all others from being imported. */
import { configProblem } from '@monitor/shared/contract/alert-channel.ts';
import { contradictionOf } from '@monitor/shared/contract/checks/target.ts';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { bodyOfResource } from '@monitor/shared/contract/resource-bodies.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { recordsIn, type Fields } from './source-object.ts';

/** Stands for the id of what a reference leads to. */
const anyUuid = '00000000-0000-4000-8000-000000000000';

/** The payload with ids in place of references, and without what tells which body it is. */
function resolved({ checkType: _type, v: _version, ...payload }: Fields): unknown {
  return JSON.parse(JSON.stringify(payload), (name: string, value: unknown) => {
    if (!isFields(value) || !('ref' in value)) return value;
    // Of the services of a card.
    const isListed = /^\d+$/.test(name);
    return isListed ? { id: anyUuid } : name === 'groupId' ? 1 : anyUuid;
  });
}

const dayMs = 86_400_000;
const unitDays: Readonly<Record<string, number>> = { DAY: 1, WEEK: 7, MONTH: 28 };

function windowContradiction(payload: Fields): string | null {
  const { startsAt, endsAt, repeatEndsAt, repeatUnit, repeatInterval } = payload;
  const at = (time: unknown) => Date.parse(`${String(time)}Z`);
  if (at(endsAt) <= at(startsAt)) return 'it ends before it starts';
  if (typeof repeatEndsAt === 'string' && at(repeatEndsAt) < at(startsAt)) {
    return 'its repetition ends before it starts';
  }
  const days = (unitDays[String(repeatUnit)] ?? Infinity) * Number(repeatInterval ?? 1);
  return at(endsAt) - at(startsAt) > days * dayMs ? 'it lasts longer than until it repeats' : null;
}

/** Nothing but a variable of the import itself. */
const ownVariable = /^\{\{[A-Z0-9_]+\}\}$/;

/** Texts of webhooks are templates here, and were none there. */
function channelContradiction({ type, config }: Fields): string | null {
  if (!isFields(config)) return null;
  const refused = configProblem(config);
  if (refused !== null) return `\`${refused.field}\` ${refused.problem}`;
  if (type !== 'WEBHOOK') return null;
  const headers = recordsIn(config['headers']).map(({ value }) => ['headers', value] as const);
  const [found] = [['url', config['url']] as const, ...headers].filter(([, given]) => {
    const text = String(given);
    return text.includes('{{') && !ownVariable.test(text);
  });
  return found === undefined
    ? null
    : `\`config.${found[0]}\` contains {{, which begins a template here`;
}

function checkContradiction(payload: Fields): string | null {
  const found = contradictionOf(String(payload['checkType']), payload);
  // What takes a while to find is found when the plan is applied.
  if (found === null || found instanceof Promise) return null;
  return `\`${found.field}\` ${found.problem}`;
}

const contradictions: Readonly<Record<string, (payload: Fields) => string | null>> = {
  check: checkContradiction,
  'alert-channel': channelContradiction,
  'maintenance-window': windowContradiction,
};

/** Why the API would refuse a resource; null when it would not. Values are never named. */
export function refusalOf(type: string, payload: Fields): string | null {
  const issue = bodyOfResource(type as ResourceType, payload)?.safeParse(resolved(payload)).error
    ?.issues[0];
  if (issue === undefined) return contradictions[type]?.(payload) ?? null;
  const isPlain = issue.code === 'custom' || /^must /.test(issue.message);
  return `\`${issue.path.join('.')}\` ${isPlain ? issue.message : 'is not accepted'}`;
}
