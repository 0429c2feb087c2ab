/** Alert channels and escalation policies. */
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { alertChannelsOf, escalationPoliciesOf } from '../../alerting/index.ts';
import { type References } from '../references.ts';
import { type Fields, type Kind, kindOf, plain, refuseSubscriptions } from './kind.ts';

const channelKind = kindOf({
  type: 'alert-channel',
  route: alertChannelRoutes.createAlertChannel,
  of: alertChannelsOf,
});

export const channels: Kind = {
  ...channelKind,
  own: ['grouping', 'timezone'],
  parse(payload, references, slugs) {
    refuseSubscriptions(payload, 'subscriptions');
    const { subscriptions: _none, ...body } = channelKind.parse(payload, references, slugs);
    return body;
  },
  isOther: (stored, body) => stored['type'] !== body['type'],
};

const policyKind = kindOf({
  type: 'escalation-policy',
  route: escalationPolicyRoutes.createEscalationPolicy,
  of: escalationPoliciesOf,
});

export const policies: Kind = {
  ...policyKind,
  isUnknownToClients: true,
  parse(payload, references, slugs) {
    const given = payload['steps'];
    const steps = Array.isArray(given)
      ? given.map((step: unknown, at) => stepOf(step, references, `steps.${at}`))
      : given;
    return policyKind.parse(plain({ ...payload, steps }) as Fields, references, slugs);
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
