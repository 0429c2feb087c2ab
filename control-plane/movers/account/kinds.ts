/**
 * What an account has, by the operations that list it, and what becomes of fields of answers that no body of a
 * creation has. A field without a line here is named in the report by itself.
 */
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import type { Fields } from '@monitor/shared/fields.ts';

/** How an operation gives its entries: pages by number, pages by cursor, or all at once. */
export type Paging = 'pages' | 'cursor' | 'whole';

export interface SourceList {
  path: string;
  paging: Paging;
  /** Of older or other installations the operation is unknown, or not part of a plan. */
  isOptional?: true;
}

/** All lists that are read, by what they hold. */
export const sourceLists = {
  'private-location': { path: '/v1/private-locations', paging: 'whole' },
  'alert-channel': { path: '/v1/alert-channels', paging: 'pages' },
  variable: { path: '/v1/variables', paging: 'pages' },
  snippet: { path: '/v1/snippets', paging: 'pages' },
  'escalation-policy': { path: '/v1/escalation-policies', paging: 'pages', isOptional: true },
  'status-page-service': { path: '/v1/status-pages/services', paging: 'cursor' },
  'check-group': { path: '/v1/check-groups', paging: 'pages' },
  check: { path: '/v1/checks', paging: 'pages' },
  'status-page': { path: '/v1/status-pages', paging: 'cursor' },
  'maintenance-window': { path: '/v1/maintenance-windows', paging: 'pages' },
  dashboard: { path: '/v1/dashboards', paging: 'pages' },
  'client-certificate': { path: '/v1/client-certificates', paging: 'whole', isOptional: true },
  incident: { path: '/v1/status-pages/incidents', paging: 'cursor' },
  'deployment-trigger': { path: '/v1/deployment-triggers', paging: 'whole', isOptional: true },
} as const satisfies Partial<Record<ResourceType, SourceList>> & Record<string, SourceList>;
export type SourceListName = keyof typeof sourceLists;

export interface SourceAccount {
  /** Where it was read. */
  host: string;
  /** The answer that describes it. */
  account: Fields;
  lists: Readonly<Record<SourceListName, readonly Fields[]>>;
  /** Lists that the other side does not give, and why. */
  unread: readonly { path: string; why: string }[];
  /** Of status pages, by the id of the page. */
  subscribers: ReadonlyMap<string, readonly Fields[]>;
}

type Paths = Readonly<Record<string, ResourceType>>;

export interface SourceKind {
  type: ResourceType & SourceListName;
  /** The field that names it in paths. */
  key?: string;
  /** Fields with ids of other objects. */
  references?: Paths;
  /** What becomes of fields that are not settings, or are not carried over, in words after their name. */
  reasons?: Readonly<Record<string, string>>;
}

/** Of every answer. They say nothing that a person chose. */
export const madeAnew = [
  ...['id', 'created_at', 'updated_at', 'createdAt', 'updatedAt', 'accountId', 'statusPageId'],
  ...['projectBindings', 'project', 'logicalId', 'member', 'pending', 'warnings'],
];

const ofBoth: Paths = {
  ...{ setupSnippetId: 'snippet', tearDownSnippetId: 'snippet' },
  'alertSettings.escalationPolicyId': 'escalation-policy',
};
const inScope = (field: string): Paths => ({
  ...{ [`${field}.checkIds.*`]: 'check', [`${field}.groupIds.*`]: 'check-group' },
  [`${field}.serviceIds.*`]: 'status-page-service',
  [`${field}.statusPageIds.*`]: 'status-page',
});

const throughChannels = ' are carried over with the alert channels';
const ofAgents = ' is about the agents there';

/** In the order in which they are made: none but a service refers to a later one. */
export const sourceKinds: readonly SourceKind[] = [
  {
    type: 'private-location',
    reasons: {
      keys: ' are hashes there: make a key here and start an agent with it',
      lastSeen: ofAgents,
      agentCount: ofAgents,
      state: ofAgents,
      lastRefusal: ofAgents,
      minAgentVersion: ofAgents,
      runningAgents: ofAgents,
    },
  },
  { type: 'alert-channel', reasons: { subscriptions: ' are carried over one by one' } },
  { type: 'variable', key: 'key' },
  { type: 'snippet' },
  { type: 'escalation-policy', references: { 'steps.*.alertChannelIds.*': 'alert-channel' } },
  {
    type: 'status-page-service',
    references: { 'follows.checkIds.*': 'check', 'follows.groupIds.*': 'check-group' },
    reasons: { stateOverride: ' is over by itself: set it here if it still holds' },
  },
  {
    type: 'check-group',
    references: ofBoth,
    reasons: {
      alertChannelSubscriptions: throughChannels,
      badgeToken: ' is another here: take the address of the badge from the console',
    },
  },
  {
    type: 'check',
    references: {
      ...{ ...ofBoth, groupId: 'check-group' },
      'triggerIncident.serviceId': 'status-page-service',
    },
    reasons: {
      ...{ alertChannels: throughChannels, alertChannelSubscriptions: throughChannels },
      signature: ' is of the other installation: sign the check here',
    },
  },
  {
    type: 'status-page',
    references: { 'cards.*.services.*': 'status-page-service' },
    reasons: {
      'cards.services.name': ' is that of the service',
      customDomainStatus: ' is proved anew here: the DNS of the domain must lead here',
      customDomainChallenge: ' is another here, see the page in the console',
      whiteLabel: ' is always so here',
      version: ' is 2 here',
    },
  },
  {
    type: 'maintenance-window',
    references: {
      ...{ ...inScope('pauseScope'), ...inScope('silenceScope') },
      'statusPageVisibility.serviceIds.*': 'status-page-service',
      'statusPageVisibility.statusPageIds.*': 'status-page',
      'ownerAlertChannelIds.*': 'alert-channel',
    },
    reasons: { nextOccurrences: ' follow from the schedule' },
  },
  {
    type: 'dashboard',
    reasons: {
      keys: ' are credentials of the dashboard there: a private one gets new ones here',
      dashboardId: ' is another here, so an address without `customUrl` changes',
    },
  },
];
