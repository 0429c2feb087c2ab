/** Alert channels and escalation policies. */
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { alertChannelsOf, escalationPoliciesOf } from '../../alerting/index.ts';
import { type Kind, kindOf, refuseSubscriptions } from './kind.ts';

const channelKind = kindOf({
  type: 'alert-channel',
  route: alertChannelRoutes.createAlertChannel,
  of: alertChannelsOf,
});

export const channels: Kind = {
  ...channelKind,
  keptUnlessGiven: ['grouping', 'timezone', 'autoSubscribe', 'sentByAgents'],
  keptWhenReplaced: ['grouping', 'timezone', 'autoSubscribe'],
  parse(payload, references, slugs) {
    refuseSubscriptions(payload, 'subscriptions');
    const { subscriptions: _none, ...body } = channelKind.parse(payload, references, slugs);
    return body;
  },
  isOther: (stored, body) => stored['type'] !== body['type'],
};

export const policies: Kind = {
  ...kindOf({
    type: 'escalation-policy',
    route: escalationPolicyRoutes.createEscalationPolicy,
    of: escalationPoliciesOf,
    references: { 'steps.*.alertChannelIds.*': 'alert-channel' },
  }),
  isUnknownToClients: true,
};
