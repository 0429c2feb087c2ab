/** Alert channels and escalation policies. */
import {
  alertChannelRoutes,
  type AlertChannelType,
} from '@monitor/shared/contract/alert-channel.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import {
  alertChannelHandlers,
  escalationPolicyHandlers,
  fieldsOfPolicy,
  preferencesOf,
} from '../../alerting/index.ts';
import { fromJson } from '../../db/columns.ts';
import { type References } from '../references.ts';
import {
  byNumber,
  byText,
  type Fields,
  type Kind,
  kindOf,
  plain,
  refuseSubscriptions,
} from './kind.ts';
import { rowsOf } from './rows.ts';

const channelKind = kindOf(
  'AlertChannel',
  alertChannelRoutes.createAlertChannel,
  // Their warnings are for people who make a channel by hand.
  ({ services }) => alertChannelHandlers(services, true),
  byNumber,
);

export const channels: Kind = {
  ...channelKind,
  type: 'alert-channel',
  own: ['grouping', 'timezone'],
  parse(payload, references, slugs) {
    refuseSubscriptions(payload, 'subscriptions');
    const { subscriptions: _none, ...body } = channelKind.parse(payload, references, slugs);
    return body;
  },
  async read(unit, ids) {
    const { services, accountId } = unit;
    const rows = await rowsOf('alert_channels', unit, ids);
    return new Map(
      rows.map((row) => {
        const config: unknown = fromJson(
          services.secrets.decryptStored(row.config_json, accountId),
        );
        const fields = { type: row.type as AlertChannelType, config, ...preferencesOf(row) };
        return [String(row.id), { handle: String(row.id), fields }];
      }),
    );
  },
  isOther: (stored, body) => stored['type'] !== body['type'],
};

const policyKind = kindOf(
  'EscalationPolicy',
  escalationPolicyRoutes.createEscalationPolicy,
  ({ services }) => escalationPolicyHandlers(services),
  byText('id'),
);

export const policies: Kind = {
  ...policyKind,
  type: 'escalation-policy',
  isUnknownToClients: true,
  parse(payload, references, slugs) {
    const given = payload['steps'];
    const steps = Array.isArray(given)
      ? given.map((step: unknown, at) => stepOf(step, references, `steps.${at}`))
      : given;
    return policyKind.parse(plain({ ...payload, steps }) as Fields, references, slugs);
  },
  async read(unit, ids) {
    const rows = await rowsOf('escalation_policies', unit, ids);
    return new Map(
      rows.map((row) => [row.id, { handle: row.id, fields: { ...fieldsOfPolicy(row) } }]),
    );
  },
};

function stepOf(step: unknown, references: References, field: string): unknown {
  if (typeof step !== 'object' || step === null) return step;
  const { alertChannelIds } = step as Fields;
  if (!Array.isArray(alertChannelIds)) return step;
  const ids = alertChannelIds.map((id: unknown, at) =>
    references.id(id, 'alert-channel', `${field}.alertChannelIds.${at}`),
  );
  return { ...step, alertChannelIds: ids };
}
