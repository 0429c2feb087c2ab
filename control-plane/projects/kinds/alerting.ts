/** Alert channels and escalation policies. */
import {
  alertChannelRoutes,
  type AlertChannelType,
} from '@monitor/shared/contract/alert-channel.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { roleOf } from '@monitor/shared/contract/route.ts';
import {
  alertChannelHandlers,
  escalationPolicyHandlers,
  fieldsOfPolicy,
  preferencesOf,
} from '../../alerting/index.ts';
import type { Services } from '../../core/services.ts';
import { fromJson } from '../../db/columns.ts';
import { type References } from '../references.ts';
import {
  type Fields,
  inputOf,
  type Kind,
  parseBy,
  plain,
  refuseSubscriptions,
  related,
} from './kind.ts';
import { rowsOf } from './rows.ts';

/** Their warnings are for people who make a channel by hand. */
const channelHandlers = (services: Services) => alertChannelHandlers(services, true);

export const channels: Kind = {
  type: 'alert-channel',
  own: ['grouping', 'timezone'],
  write: (stored) => stored,
  role: roleOf(alertChannelRoutes.createAlertChannel),
  parse(payload, references) {
    refuseSubscriptions(payload, 'subscriptions');
    const { createAlertChannel: route } = alertChannelRoutes;
    const { subscriptions: _none, ...body } = parseBy(
      route.body,
      payload,
      related(route),
      references,
    );
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
  async create({ services, call }, body) {
    return (await channelHandlers(services).createAlertChannel(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return channelHandlers(services).updateAlertChannel(
      inputOf({ params: { id: Number(handle) }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return channelHandlers(services).deleteAlertChannel(
      inputOf({ params: { id: Number(handle) } }),
      call,
    );
  },
  isOther: (stored, body) => stored['type'] !== body['type'],
};

export const policies: Kind = {
  type: 'escalation-policy',
  isUnknownToClients: true,
  role: roleOf(escalationPolicyRoutes.createEscalationPolicy),
  parse(payload, references) {
    const { createEscalationPolicy: route } = escalationPolicyRoutes;
    const given = payload['steps'];
    const steps = Array.isArray(given)
      ? given.map((step: unknown, at) => stepOf(step, references, `steps.${at}`))
      : given;
    return parseBy(route.body, plain({ ...payload, steps }) as Fields, related(route), references);
  },
  async read(unit, ids) {
    const rows = await rowsOf('escalation_policies', unit, ids);
    return new Map(
      rows.map((row) => [row.id, { handle: row.id, fields: { ...fieldsOfPolicy(row) } }]),
    );
  },
  write: (stored) => stored,
  async create({ services, call }, body) {
    return (
      await escalationPolicyHandlers(services).createEscalationPolicy(inputOf({ body }), call)
    ).id;
  },
  update({ services, call }, { handle }, body) {
    return escalationPolicyHandlers(services).updateEscalationPolicy(
      inputOf({ params: { id: handle }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return escalationPolicyHandlers(services).deleteEscalationPolicy(
      inputOf({ params: { id: handle } }),
      call,
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
