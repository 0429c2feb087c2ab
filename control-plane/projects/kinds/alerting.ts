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
import { eachOf } from '../../db/expressions.ts';
import { type References } from '../references.ts';
import {
  type Fields,
  inputOf,
  type Kind,
  numbersIn,
  parseBy,
  plain,
  refuseSubscriptions,
  related,
} from './kind.ts';

/** Their warnings are for people who make a channel by hand. */
const channelHandlers = (services: Services) => alertChannelHandlers(services, true);

export const channels: Kind = {
  type: 'alert-channel',
  own: ['grouping', 'timezone'],
  write: (stored) => stored,
  role: roleOf(alertChannelRoutes.createAlertChannel),
  parse(payload) {
    refuseSubscriptions(payload, 'subscriptions');
    const { createAlertChannel: route } = alertChannelRoutes;
    const { subscriptions: _none, ...body } = parseBy(route.body, payload, related(route));
    return body;
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('alert_channels')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
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
    return parseBy(route.body, plain({ ...payload, steps }) as Fields, related(route));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('escalation_policies')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map((row) => [row.id, { handle: row.id, fields: { ...fieldsOfPolicy(row) } }]),
    );
  },
  write: (stored) => stored,
  async create({ services, call }, body) {
    const input = { params: undefined, query: undefined, body: body as never };
    return (await escalationPolicyHandlers(services).createEscalationPolicy(input, call)).id;
  },
  update({ services, call }, { handle }, body) {
    const input = { params: { id: handle }, query: undefined, body: body as never };
    return escalationPolicyHandlers(services).updateEscalationPolicy(input, call);
  },
  remove({ services, call }, { handle }) {
    const input = { params: { id: handle }, query: undefined, body: undefined };
    return escalationPolicyHandlers(services).deleteEscalationPolicy(input, call);
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
