/** What the API would refuse: one object of a source must not keep all others from being imported. */
import type { z } from 'zod';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { createCheckGroupBody } from '@monitor/shared/contract/check-group.ts';
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { type Fields } from './source-object.ts';

/** Stands for the id of what a reference leads to. */
const anyUuid = '00000000-0000-4000-8000-000000000000';

interface Acceptance {
  schema(payload: Fields): z.ZodType | undefined;
  /** The payload with ids in place of references. */
  resolved?(payload: Fields): Fields;
  /** What fields contradict each other. */
  contradiction?(payload: Fields): string | null;
}

function resolvedCheck(payload: Fields): Fields {
  const { checkType: _type, groupId, triggerIncident, ...fields } = payload;
  return {
    ...fields,
    groupId: isFields(groupId) ? 1 : null,
    ...(isFields(triggerIncident)
      ? { triggerIncident: { ...triggerIncident, serviceId: anyUuid } }
      : {}),
  };
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
  if (type !== 'WEBHOOK' || !isFields(config)) return null;
  const headers = Array.isArray(config['headers']) ? config['headers'].filter(isFields) : [];
  const isForeign = (text: unknown) =>
    String(text).includes('{{') && !ownVariable.test(String(text));
  const found = [
    ['url', config['url']] as const,
    ...headers.map((one) => ['headers', one['value']] as const),
  ].find(([, text]) => isForeign(text));
  return found === undefined
    ? null
    : `\`config.${found[0]}\` contains {{, which begins a template here`;
}

const acceptances: Readonly<Record<string, Acceptance>> = {
  check: {
    schema: ({ checkType }) => findCheckType(String(checkType))?.create,
    resolved: resolvedCheck,
    contradiction: (payload) => {
      const found = findCheckType(String(payload['checkType']))?.contradictionIn?.(payload) ?? null;
      // What takes a while to find is found when the plan is applied.
      if (found === null || found instanceof Promise) return null;
      return `\`${found.field}\` ${found.problem}`;
    },
  },
  'check-group': {
    schema: () => createCheckGroupBody,
    resolved: ({ v: _version, ...fields }) => fields,
  },
  'alert-channel': {
    schema: () => alertChannelRoutes.createAlertChannel.body,
    contradiction: channelContradiction,
  },
  'maintenance-window': {
    schema: () => maintenanceWindowRoutes.createMaintenanceWindow.body,
    contradiction: windowContradiction,
  },
  'status-page-service': { schema: () => serviceRoutes.createService.body },
  'status-page': {
    schema: () => statusPageRoutes.createStatusPage.body,
    resolved: (payload) => ({
      ...payload,
      cards: (payload['cards'] as { name: string; services: unknown[] }[]).map((card) => ({
        ...card,
        services: card.services.map(() => ({ id: anyUuid })),
      })),
    }),
  },
};

/** Why the API would refuse a resource; null when it would not. Values are never named. */
export function refusalOf(type: string, payload: Fields): string | null {
  const acceptance = acceptances[type];
  if (acceptance === undefined) return null;
  const parsed = acceptance.schema(payload)?.safeParse(acceptance.resolved?.(payload) ?? payload);
  const issue = parsed?.error?.issues[0];
  if (issue !== undefined) {
    const problem =
      issue.code === 'custom' || /^must /.test(issue.message) ? issue.message : 'is not accepted';
    return `\`${issue.path.join('.')}\` ${problem}`;
  }
  return acceptance.contradiction?.(payload) ?? null;
}
