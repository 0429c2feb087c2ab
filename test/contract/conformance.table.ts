/**
 * The specification as data: one row for each endpoint, parameter, field, default, limit, status and
 * statement, under the heading it stands below. `conformance.test.ts` holds the contract and a running
 * control plane to every row. `rows` and `values` of a section were counted by hand in the
 * specification, so a row that is lost here is noticed.
 */
import { exchangeFields } from '@monitor/shared/contract/check-result.ts';
import { channelConfigs } from '@monitor/shared/contract/alert-channel.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';

export type Kind =
  'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'date' | 'date-time';

/** What the specification says of a value. Absent: it says nothing. */
export interface Facts {
  kind?: Kind;
  /** Kind of the items of an array. */
  of?: Kind;
  nullable?: boolean;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  values?: readonly (string | number)[];
  /** In bodies: a creation without it is refused. */
  required?: boolean;
}

export interface FieldRow extends Facts {
  /** Place in the body: `request.assertions[].source`; `*` stands for any key. */
  at: string;
  kind: Kind;
  /** In responses: always there. */
  always?: boolean;
  /** Which way it travels, when not both. */
  only?: 'request' | 'response';
  /** Only for these operations of the section. */
  operations?: readonly string[];
  /** A valid value to send; `$name` is replaced by what the test has prepared. */
  sample?: unknown;
  /** Null is taken for an empty list, though not published. */
  takesNull?: true;
  /** What is sent may be answered with a value of our own. */
  isOurs?: true;
  /** Further fields that a value needs beside it. */
  beside?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Where we knowingly accept or give more than the specification says, or less; with the reason. */
  differs?: Omit<Facts, 'default'> & { why: string };
  /** It stands inside a free-form object, so a test shows it rather than the schema. */
  proof?: Proof;
  later?: Later;
}

/** A test that shows it; it must exist under that name. */
export interface Proof {
  file: string;
  test: string;
}

/** C: scripts, browsers, artifacts, error groups. D: alerts, public pages. E: agent images. */
export interface Later {
  change: 'C' | 'D' | 'E';
  why: string;
}

export interface OperationRow {
  /** Method and path. */
  endpoint: string;
  status: 200 | 201 | 204;
  /** Name and kind of each path parameter. */
  params?: Readonly<Record<string, 'string' | 'integer'>>;
}

export interface ParameterRow extends Omit<Facts, 'kind'> {
  parameter: string;
  kind: Kind | 'instant';
  required?: boolean;
  operations: readonly string[];
  differs?: { why: string; anyText?: boolean; kind?: Kind };
  sample?: string;
}

/** A request to a running control plane and what must come back. */
export interface RequestRow {
  says: string;
  send: readonly [method: string, path: string, body?: unknown];
  headers?: Readonly<Record<string, string>>;
  status: number;
  /** What the body must have; other fields are free. */
  body?: unknown;
  /** Matched against the whole text of the body. */
  text?: RegExp;
}

/** A fact about a field or parameter that another section states again. */
export interface LimitRow {
  says: string;
  limits: readonly (readonly [operation: string, place: string])[];
  facts: Facts;
}

export interface ProofRow {
  says: string;
  proof: Proof;
}

export interface LaterRow {
  says: string;
  later: Later;
}

/** All values of a named schema. */
export interface EnumRow {
  says: string;
  schema: string;
  values: readonly string[];
}

export type Row =
  FieldRow | OperationRow | ParameterRow | RequestRow | LimitRow | ProofRow | LaterRow | EnumRow;

export interface Section {
  heading: string;
  /** Counted by hand in the specification. */
  rows: number;
  /** Enumerated values, counted by hand. */
  values: number;
  /** Operations whose bodies the field rows describe. */
  requests?: readonly string[];
  /** Operations whose answers the field rows describe. */
  responses?: readonly string[];
  /** Fields of ours that the specification does not know; prefixes of places in answers. */
  further?: readonly string[];
  table: readonly Row[];
}

const here = 'test/contract/conformance-proofs.test.ts';
const windows = 'test/contract/conformance-windows.test.ts';
const imageTests = 'test/scripts/images/dockerfiles.test.ts';
const agentTests = 'test/e2e/agents.test.ts';

export const locationIds = [
  'us-east-1',
  'us-east-2',
  'us-west-1',
  'us-west-2',
  'ca-central-1',
  'sa-east-1',
  'eu-west-1',
  'eu-central-1',
  'eu-west-2',
  'eu-west-3',
  'eu-north-1',
  'eu-south-1',
  'me-south-1',
  'ap-southeast-1',
  'ap-northeast-1',
  'ap-east-1',
  'ap-southeast-2',
  'ap-southeast-3',
  'ap-northeast-2',
  'ap-northeast-3',
  'ap-south-1',
  'af-south-1',
] as const;
const runtimeIds = ['2026.04', '2025.04', '2024.09', '2024.02', '2023.09', '2023.02', '2022.10'];
const checkTypeNames = [
  'AGENTIC',
  'API',
  'BROWSER',
  'HEARTBEAT',
  'ICMP',
  'MULTI_STEP',
  'TCP',
  'PLAYWRIGHT',
  'URL',
  'DNS',
];
const channelTypes = ['EMAIL', 'SLACK', 'WEBHOOK', 'SMS', 'PAGERDUTY', 'OPSGENIE', 'CALL'];
/** Values of ours that the specification does not know. */
export const ownValues: ReadonlySet<unknown> = new Set(
  [...Object.keys(checkTypes), ...Object.keys(channelConfigs)].filter(
    (type) => ![...checkTypeNames, ...channelTypes].includes(type),
  ),
);
export const frequencies = [0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440] as const;
const incidentStatuses = ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'];
const severities = ['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR'];
const notificationStatuses = ['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED'];
const themeColors = [
  'bodyBackgroundColor',
  'headerBackgroundColor',
  'headerFontColor',
  'titleFontColor',
  'bodyFontColor',
  'bodyFontColorMuted',
  'navigationFontColor',
  'linkFontColor',
  'cardBackgroundColor',
  'borderColor',
  'primaryButtonBackgroundColor',
  'primaryButtonFontColor',
];
const themeSample = Object.fromEntries(themeColors.map((name) => [name, '#0A66C2']));

const createChecks = ['createURLMonitor', 'createDNSMonitor', 'createBrowserCheck'];
const monitors = ['createURLMonitor', 'updateURLMonitor', 'createDNSMonitor'];
const checkOperations = [...createChecks, 'updateURLMonitor'];
const groupOperations = ['createCheckGroup', 'updateCheckGroup'];
const analyticsOperations = [
  'getUrlMonitorAnalytics',
  'getTcpCheckAnalytics',
  'getBrowserCheckAnalytics',
];
const updatePage = ['createStatusPage', 'updateStatusPage'];

const wholeNumber = { kind: 'integer', why: 'ids and counts are whole' } as const;
const orNull = (why: string) => ({ nullable: true, why });
const knownClients = orNull('existing clients send null for "none"');

const alertSettingsSample = {
  escalationType: 'RUN_BASED',
  runBasedEscalation: { failedRunThreshold: 2 },
  reminders: { amount: 1, interval: 10 },
  parallelRunFailureThreshold: { enabled: true, percentage: 50 },
};
const retrySample = {
  type: 'FIXED',
  baseBackoffSeconds: 30,
  sameRegion: false,
  maxRetries: 3,
  maxDurationSeconds: 120,
  onlyOn: ['NETWORK_ERROR'],
};
const variableSample = [{ key: 'A', value: 'b', locked: false, secret: false }];
const assertionSample = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
const dnsAssertionSample = { source: 'RESPONSE_CODE', comparison: 'EQUALS', target: 'NOERROR' };
const variablesOver = (count: number) =>
  Array.from({ length: count }, (_unused, index) => ({ ...variableSample[0], key: `K${index}` }));

/** Arrays of a given length for the limits on both sides. */
export const listsOf: Readonly<Record<string, (count: number) => unknown[]>> = {
  environmentVariables: variablesOver,
  services: (count) => Array.from({ length: count }, () => ({ id: '$serviceId' })),
};

const keyAndValue = (at: string, only?: 'response'): FieldRow[] =>
  ['key', 'value'].map((name) => ({
    at: `${at}[].${name}`,
    kind: 'string',
    sample: name,
    ...(only === undefined ? {} : { only }),
  }));

const assertionRows = (
  at: string,
  sample: Record<string, string>,
  source: string,
  takesNull?: true,
): FieldRow[] => [
  { at, kind: 'array', of: 'object', sample: [sample], ...(takesNull ? { takesNull } : {}) },
  { at: `${at}[].source`, kind: 'string', sample: source },
  { at: `${at}[].comparison`, kind: 'string', sample: 'NOT_EQUALS' },
  { at: `${at}[].target`, kind: 'string', sample: '7' },
];

const statistics = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'];

/** Each base metric with its ten variants, and the two that have none. */
function metricNames(...bases: string[]): string[] {
  const variants = bases.flatMap((base) => [base, ...statistics.map((one) => `${base}_${one}`)]);
  return [...variants, 'availability', 'retries'];
}

export const sections: readonly Section[] = [
  {
    heading: 'What the service does',
    rows: 8,
    values: 10,
    table: [
      { says: '1: check types', schema: 'CheckType', values: checkTypeNames },
      {
        says: '2: groups hold shared defaults',
        proof: { file: here, test: 'a check of a group takes what the group decides' },
      },
      {
        says: '3: each run produces a result, a status summarises',
        proof: {
          file: 'test/control-plane/agents.test.ts',
          test: 'a result is stored once, whatever comes twice or late',
        },
      },
      {
        says: '4: notifications go out; those sent can be listed',
        proof: {
          file: 'test/control-plane/notifications/outbox-sender.test.ts',
          test: 'a receiver that recovers gets it once, and the record says how often it was tried',
        },
      },
      {
        says: '5: pages show services in cards; incidents attach to services',
        proof: {
          file: here,
          test: 'a page shows services in cards, an incident is attached to services',
        },
      },
      {
        says: '6: maintenance windows suppress checks selected by tag',
        proof: {
          file: 'test/control-plane/maintenance-in-effect.test.ts',
          test: 'what a window selects by tag is not run, and its slots are not outages',
        },
      },
      {
        says: '7: error groups cluster similar errors',
        proof: {
          file: 'test/e2e/code.test.ts',
          test: 'checks of every type run, and no secret comes out in any encoding',
        },
      },
      {
        says: '8: a check can be triggered through a trigger token',
        proof: { file: here, test: 'a check is triggered through its token' },
      },
    ],
  },
  {
    heading: 'Location identifiers',
    rows: 1,
    values: 22,
    table: [{ says: 'data-center locations', schema: 'DataCenterLocation', values: locationIds }],
  },
  {
    heading: 'Runtime identifiers',
    rows: 1,
    values: 7,
    table: [{ says: 'runtimeId', schema: 'RuntimeId', values: runtimeIds }],
  },
  {
    heading: 'Check: common fields',
    rows: 35,
    values: 42,
    requests: checkOperations,
    responses: checkOperations,
    // Our own, and only where something is missing.
    further: ['warnings'],
    table: [
      { at: 'name', kind: 'string', required: true, always: true, sample: 'renamed' },
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'activated', kind: 'boolean', default: true, sample: false },
      { at: 'muted', kind: 'boolean', default: false, sample: true },
      { at: 'doubleCheck', kind: 'boolean', default: true, sample: false },
      { at: 'shouldFail', kind: 'boolean', default: false, sample: true },
      {
        at: 'locations',
        kind: 'array',
        nullable: true,
        of: 'string',
        values: locationIds,
        sample: ['eu-west-1'],
      },
      { at: 'tags', kind: 'array', of: 'string', sample: ['shop'] },
      { at: 'alertSettings', kind: 'object', sample: alertSettingsSample, differs: knownClients },
      { at: 'useGlobalAlertSettings', kind: 'boolean', default: true, sample: false },
      { at: 'groupId', kind: 'number', nullable: true, sample: '$groupId', differs: wholeNumber },
      {
        at: 'groupOrder',
        kind: 'number',
        nullable: true,
        minimum: 0,
        sample: 3,
        differs: wholeNumber,
      },
      { at: 'runtimeId', kind: 'string', nullable: true, values: runtimeIds, sample: '2026.04' },
      {
        at: 'alertChannelSubscriptions',
        kind: 'array',
        of: 'object',
        sample: [{ alertChannelId: '$channelId', activated: false }],
      },
      {
        at: 'alertChannelSubscriptions[].alertChannelId',
        kind: 'number',
        sample: '$channelId',
        differs: wholeNumber,
      },
      { at: 'alertChannelSubscriptions[].activated', kind: 'boolean', sample: true },
      { at: 'retryStrategy', kind: 'object', sample: retrySample, differs: knownClients },
      {
        at: 'triggerIncident',
        kind: 'object',
        sample: {
          serviceId: '$serviceId',
          severity: 'MAJOR',
          name: 'down',
          description: 'it is down',
          notifySubscribers: true,
        },
        differs: knownClients,
      },
      { at: 'triggerIncident.serviceId', kind: 'string', sample: '$serviceId' },
      { at: 'triggerIncident.severity', kind: 'string', sample: 'MINOR' },
      { at: 'triggerIncident.name', kind: 'string', sample: 'other' },
      { at: 'triggerIncident.description', kind: 'string', sample: 'other' },
      { at: 'triggerIncident.notifySubscribers', kind: 'boolean', sample: false },
      { at: 'runParallel', kind: 'boolean', default: false, sample: true },
      { at: 'description', kind: 'string', nullable: true, maxLength: 500, sample: 'of the shop' },
      {
        at: 'frequency',
        kind: 'integer',
        operations: monitors,
        default: 10,
        values: frequencies,
        sample: 5,
        beside: { '0': { frequencyOffset: 10 } },
      },
      { at: 'frequencyOffset', kind: 'integer', minimum: 1, sample: 7 },
      {
        at: 'degradedResponseTime',
        kind: 'number',
        nullable: true,
        sample: 100.5,
      },
      {
        at: 'maxResponseTime',
        kind: 'number',
        nullable: true,
        sample: 200.5,
      },
      { at: 'privateLocations', kind: 'array', nullable: true, of: 'string', sample: ['$slug'] },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      { at: 'updated_at', kind: 'date-time', nullable: true, only: 'response', always: true },
      { at: 'alertChannels', kind: 'object', only: 'response', always: true },
      { at: 'checkType', kind: 'string', only: 'response', always: true },
      { at: 'request', kind: 'object', operations: monitors, required: true, always: true },
    ],
  },

  {
    heading: 'frequencyOffset rules',
    rows: 3,
    values: 0,
    table: [
      {
        says: '1: frequency 0, offsets 10, 20 and 30 seconds',
        proof: {
          file: here,
          test: 'frequencyOffset: frequency 0 takes 10, 20 and 30 and nothing else',
        },
      },
      {
        says: '2: up to 60, from 1 to ten a minute',
        proof: { file: here, test: 'frequencyOffset: both sides of the bounds of every frequency' },
      },
      {
        says: '3: above 60, from 1 to one an hour',
        proof: { file: here, test: 'frequencyOffset: both sides of the bounds of every frequency' },
      },
    ],
  },
  {
    heading: 'alertSettings object',
    rows: 6,
    values: 0,
    requests: [...checkOperations, ...groupOperations],
    responses: [...checkOperations, ...groupOperations],
    // Time-based escalation is the other half of what `escalationType` leaves open.
    further: ['alertSettings.timeBasedEscalation', 'alertSettings.escalationPolicyId'],
    table: [
      { at: 'alertSettings.escalationType', kind: 'string', sample: 'RUN_BASED' },
      { at: 'alertSettings.runBasedEscalation.failedRunThreshold', kind: 'integer', sample: 3 },
      { at: 'alertSettings.reminders.amount', kind: 'integer', sample: 5 },
      { at: 'alertSettings.reminders.interval', kind: 'integer', sample: 30 },
      { at: 'alertSettings.parallelRunFailureThreshold.enabled', kind: 'boolean', sample: false },
      {
        at: 'alertSettings.parallelRunFailureThreshold.percentage',
        kind: 'number',
        sample: 100,
        differs: { kind: 'integer', why: 'one of the tens that the field knows' },
      },
    ],
  },
  {
    heading: 'retryStrategy object',
    rows: 6,
    values: 0,
    requests: [...checkOperations, ...groupOperations],
    responses: [...checkOperations, ...groupOperations],
    table: [
      { at: 'retryStrategy.type', kind: 'string', sample: 'LINEAR' },
      { at: 'retryStrategy.baseBackoffSeconds', kind: 'number', sample: 10.5 },
      { at: 'retryStrategy.sameRegion', kind: 'boolean', sample: true },
      { at: 'retryStrategy.maxRetries', kind: 'number', sample: 4, differs: wholeNumber },
      { at: 'retryStrategy.maxDurationSeconds', kind: 'number', sample: 90.5 },
      { at: 'retryStrategy.onlyOn', kind: 'array', of: 'string', sample: ['NETWORK_ERROR'] },
    ],
  },
  {
    heading: 'alertChannels object',
    rows: 19,
    values: 0,
    responses: checkOperations,
    table: [
      { at: 'alertChannels.email', kind: 'array', of: 'object', only: 'response' },
      { at: 'alertChannels.email[].address', kind: 'string', only: 'response' },
      { at: 'alertChannels.webhook', kind: 'array', of: 'object', only: 'response' },
      { at: 'alertChannels.webhook[].url', kind: 'string', only: 'response' },
      { at: 'alertChannels.webhook[].name', kind: 'string', only: 'response' },
      { at: 'alertChannels.webhook[].method', kind: 'string', only: 'response' },
      { at: 'alertChannels.webhook[].headers', kind: 'array', of: 'object', only: 'response' },
      ...keyAndValue('alertChannels.webhook[].headers', 'response'),
      { at: 'alertChannels.webhook[].headers[].locked', kind: 'boolean', only: 'response' },
      {
        at: 'alertChannels.webhook[].queryParameters',
        kind: 'array',
        of: 'object',
        only: 'response',
      },
      ...keyAndValue('alertChannels.webhook[].queryParameters', 'response'),
      { at: 'alertChannels.webhook[].queryParameters[].locked', kind: 'boolean', only: 'response' },
      { at: 'alertChannels.slack', kind: 'array', of: 'object', only: 'response' },
      { at: 'alertChannels.slack[].url', kind: 'string', only: 'response' },
      { at: 'alertChannels.sms', kind: 'array', of: 'object', only: 'response' },
      { at: 'alertChannels.sms[].number', kind: 'string', only: 'response' },
      { at: 'alertChannels.sms[].name', kind: 'string', only: 'response' },
    ],
  },
  {
    heading: 'Environment variable object',
    rows: 4,
    values: 0,
    requests: ['createDNSMonitor', 'createBrowserCheck', ...groupOperations],
    responses: ['createDNSMonitor', 'createBrowserCheck', ...groupOperations],
    table: [
      { at: 'environmentVariables[].key', kind: 'string', sample: 'OTHER' },
      {
        at: 'environmentVariables[].value',
        kind: 'string',
        sample: 'other',
        differs: orNull('secrets read as null, and null keeps the stored value'),
      },
      { at: 'environmentVariables[].locked', kind: 'boolean', sample: true },
      // A secret does not read back, so the sample is the one that does.
      { at: 'environmentVariables[].secret', kind: 'boolean', sample: false },
    ],
  },
  {
    heading: 'URL monitor',
    rows: 12,
    values: 1,
    requests: ['createURLMonitor', 'updateURLMonitor'],
    responses: ['createURLMonitor', 'updateURLMonitor'],
    further: [
      'request.httpVersion',
      'request.assertions[].property',
      'request.assertions[].regex',
      'request.assertions[].order',
      // What real clients of the field send and read on every monitor.
      'heartbeat',
      'script',
      'scriptPath',
      'sslCheckDomain',
      'environmentVariables',
      'setupSnippetId',
      'tearDownSnippetId',
      'localSetupScript',
      'localTearDownScript',
    ],
    table: [
      { at: 'request.url', kind: 'string', sample: 'https://b.example/c' },
      { at: 'request.method', kind: 'string', sample: 'GET' },
      { at: 'request.followRedirects', kind: 'boolean', sample: false },
      { at: 'request.skipSSL', kind: 'boolean', sample: true },
      { at: 'request.ipFamily', kind: 'string', sample: 'IPv6' },
      ...assertionRows('request.assertions', assertionSample, 'STATUS_CODE', true),
      {
        at: 'degradedResponseTime',
        kind: 'number',
        nullable: true,
        default: 3000,
        minimum: 0,
        maximum: 30_000,
        sample: 1,
      },
      {
        at: 'maxResponseTime',
        kind: 'number',
        nullable: true,
        default: 5000,
        minimum: 0,
        maximum: 30_000,
        sample: 2,
      },
      { at: 'checkType', kind: 'string', only: 'response', values: ['URL'] },
    ],
  },
  {
    heading: 'DNS monitor',
    rows: 23,
    values: 1,
    requests: ['createDNSMonitor'],
    responses: ['createDNSMonitor'],
    further: [
      'request.assertions[].property',
      'request.assertions[].regex',
      'request.assertions[].order',
    ],
    table: [
      { at: 'name', kind: 'string', required: true, sample: 'of a name' },
      { at: 'request', kind: 'object', required: true },
      {
        at: 'heartbeat',
        kind: 'object',
        required: true,
        sample: {},
        differs: {
          required: false,
          nullable: true,
          why: 'existing clients do not send it, and read null then; STRICT_DNS_BODY requires it',
        },
      },
      {
        at: 'script',
        kind: 'string',
        required: true,
        sample: '',
        differs: {
          required: false,
          nullable: true,
          why: 'existing clients do not send it, and read null then; STRICT_DNS_BODY requires it',
        },
      },
      { at: 'request.query', kind: 'string', sample: 'b.example' },
      { at: 'request.recordType', kind: 'string', sample: 'MX' },
      { at: 'request.nameServer', kind: 'string', sample: '192.0.2.1', differs: knownClients },
      {
        at: 'request.port',
        kind: 'number',
        sample: 5353,
        differs: {
          kind: 'integer',
          nullable: true,
          why: 'a port is whole; clients send null for the default',
        },
      },
      ...assertionRows('request.assertions', dnsAssertionSample, 'TEXT_ANSWER'),
      { at: 'request.protocol', kind: 'string', sample: 'TCP' },
      { at: 'scriptPath', kind: 'string', nullable: true, sample: 'a.spec.ts' },
      { at: 'sslCheckDomain', kind: 'string', sample: 'a.example', differs: knownClients },
      {
        at: 'environmentVariables',
        kind: 'array',
        of: 'object',
        nullable: true,
        maxItems: 50,
        sample: variableSample,
      },
      {
        at: 'setupSnippetId',
        kind: 'number',
        nullable: true,
        sample: '$snippetId',
        differs: wholeNumber,
      },
      {
        at: 'tearDownSnippetId',
        kind: 'number',
        nullable: true,
        sample: '$snippetId',
        differs: wholeNumber,
      },
      { at: 'localSetupScript', kind: 'string', nullable: true, sample: 'let a' },
      { at: 'localTearDownScript', kind: 'string', nullable: true, sample: 'let b' },
      {
        at: 'degradedResponseTime',
        kind: 'number',
        nullable: true,
        default: 500,
        minimum: 0,
        maximum: 5000,
        sample: 1,
      },
      {
        at: 'maxResponseTime',
        kind: 'number',
        nullable: true,
        default: 1000,
        minimum: 0,
        maximum: 5000,
        sample: 2,
      },
      { at: 'checkType', kind: 'string', only: 'response', values: ['DNS'] },
    ],
  },
  {
    heading: 'Browser check',
    rows: 14,
    values: 13,
    requests: ['createBrowserCheck'],
    responses: ['createBrowserCheck'],
    further: ['playwrightConfig'],
    table: [
      { at: 'name', kind: 'string', required: true, sample: 'of a shop' },
      { at: 'script', kind: 'string', required: true, nullable: true, sample: 'let c' },
      {
        at: 'environmentVariables',
        kind: 'array',
        of: 'object',
        nullable: true,
        maxItems: 50,
        sample: variableSample,
      },
      { at: 'scriptPath', kind: 'string', nullable: true, sample: 'a.spec.ts' },
      {
        at: 'dependencies',
        kind: 'array',
        of: 'object',
        nullable: true,
        sample: [{ path: 'a.ts', content: 'let d' }],
      },
      { at: 'dependencies[].path', kind: 'string', sample: 'b.ts' },
      { at: 'dependencies[].content', kind: 'string', sample: 'let e' },
      { at: 'sslCheckDomain', kind: 'string', nullable: true, sample: 'www.a.example' },
      { at: 'frequency', kind: 'integer', default: 10, values: frequencies.slice(1), sample: 5 },
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'alertChannels', kind: 'object', only: 'response', always: true },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      { at: 'updated_at', kind: 'date-time', nullable: true, only: 'response', always: true },
      { at: 'checkType', kind: 'string', only: 'response', values: ['BROWSER'] },
    ],
  },
  {
    heading: 'Check group',
    rows: 40,
    values: 29,
    requests: groupOperations,
    responses: groupOperations,
    further: [
      'badgeToken',
      'apiCheckDefaults.headers[].locked',
      'apiCheckDefaults.queryParameters[].locked',
      'apiCheckDefaults.assertions[].property',
      'apiCheckDefaults.assertions[].regex',
      'apiCheckDefaults.assertions[].order',
    ],
    table: [
      { at: 'name', kind: 'string', required: true, always: true, sample: 'renamed' },
      { at: 'activated', kind: 'boolean', default: true, always: true, sample: false },
      { at: 'muted', kind: 'boolean', default: false, sample: true },
      { at: 'tags', kind: 'array', of: 'string', sample: ['shop'], takesNull: true },
      {
        at: 'locations',
        kind: 'array',
        of: 'string',
        values: locationIds,
        sample: ['eu-west-1'],
        differs: knownClients,
      },
      {
        at: 'concurrency',
        kind: 'number',
        default: 3,
        always: true,
        minimum: 1,
        sample: 7,
        differs: wholeNumber,
      },
      {
        at: 'apiCheckDefaults',
        kind: 'object',
        always: true,
        sample: {
          url: 'https://a.example',
          headers: [{ key: 'a', value: 'b' }],
          queryParameters: [{ key: 'a', value: 'b' }],
          assertions: [assertionSample],
          basicAuth: { username: 'u', password: 'p' },
        },
        differs: knownClients,
      },
      {
        at: 'apiCheckDefaults.url',
        kind: 'string',
        sample: 'https://b.example',
        differs: knownClients,
      },
      {
        at: 'apiCheckDefaults.headers',
        kind: 'array',
        of: 'object',
        sample: [{ key: 'c', value: 'd' }],
      },
      ...keyAndValue('apiCheckDefaults.headers'),
      {
        at: 'apiCheckDefaults.queryParameters',
        kind: 'array',
        of: 'object',
        sample: [{ key: 'c', value: 'd' }],
      },
      ...keyAndValue('apiCheckDefaults.queryParameters'),
      ...assertionRows('apiCheckDefaults.assertions', assertionSample, 'TEXT_BODY'),
      {
        at: 'apiCheckDefaults.basicAuth',
        kind: 'object',
        sample: { username: 'v', password: 'q' },
        differs: knownClients,
      },
      { at: 'apiCheckDefaults.basicAuth.username', kind: 'string', sample: 'w' },
      { at: 'apiCheckDefaults.basicAuth.password', kind: 'string', sample: 'r' },
      {
        at: 'browserCheckDefaults',
        kind: 'string',
        sample: 'x',
        differs: { nullable: true, why: 'existing clients send an object or null' },
      },
      { at: 'runtimeId', kind: 'string', nullable: true, values: runtimeIds, sample: '2025.04' },
      {
        at: 'environmentVariables',
        kind: 'array',
        of: 'object',
        nullable: true,
        maxItems: 100,
        sample: variableSample,
      },
      {
        at: 'alertChannelSubscriptions',
        kind: 'array',
        of: 'object',
        sample: [{ alertChannelId: '$channelId', activated: false }],
      },
      {
        at: 'alertChannelSubscriptions[].alertChannelId',
        kind: 'number',
        sample: '$channelId',
        differs: wholeNumber,
      },
      { at: 'alertChannelSubscriptions[].activated', kind: 'boolean', sample: true },
      {
        at: 'setupSnippetId',
        kind: 'number',
        nullable: true,
        sample: '$snippetId',
        differs: wholeNumber,
      },
      {
        at: 'tearDownSnippetId',
        kind: 'number',
        nullable: true,
        sample: '$snippetId',
        differs: wholeNumber,
      },
      { at: 'localSetupScript', kind: 'string', nullable: true, sample: 'let a' },
      { at: 'localTearDownScript', kind: 'string', nullable: true, sample: 'let b' },
      { at: 'privateLocations', kind: 'array', of: 'string', nullable: true, sample: ['$slug'] },
      { at: 'runParallel', kind: 'boolean', nullable: true, sample: true },
      { at: 'alertSettings', kind: 'object', sample: alertSettingsSample, differs: knownClients },
      {
        at: 'retryStrategy',
        kind: 'object',
        default: 'FALLBACK',
        sample: retrySample,
        differs: { nullable: true, why: 'null overrides the checks with "no retries"' },
      },
      { at: 'useGlobalAlertSettings', kind: 'boolean', nullable: true, sample: false },
      { at: 'doubleCheck', kind: 'boolean', default: false, sample: true },
      { at: 'id', kind: 'number', only: 'response', always: true },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      { at: 'updated_at', kind: 'date-time', nullable: true, only: 'response', always: true },
    ],
  },
  {
    heading: 'Check result',
    rows: 62,
    values: 2,
    responses: ['listCheckResults'],
    further: [
      '[].checkType',
      '[].scheduledFor',
      '[].underLoad',
      '[].agentWaitMs',
      '[].apiCheckResult.networkDiagnostics',
      '[].isCancelled',
      '[].isLate',
      '[].isPayloadDropped',
      '[].payloadError',
      '[].encryptedResult',
      '[].encryptedResult.envelope',
      '[].encryptedResult.envelope.version',
      '[].encryptedResult.envelope.accountId',
      '[].encryptedResult.envelope.session',
      '[].encryptedResult.envelope.recipients',
      '[].encryptedResult.envelope.recipients[].id',
      '[].encryptedResult.envelope.recipients[].enc',
      '[].encryptedResult.envelope.recipients[].key',
      '[].encryptedResult.envelope.nonce',
      '[].encryptedResult.envelope.ciphertext',
      '[].detailsOmitted',
      // Shapes that the specification does not show.
      '[].browserCheckResult',
      '[].multiStepCheckResult',
      '[].playwrightCheckResult',
      ...exchangeFields.filter((field) => field !== 'apiCheckResult').map((field) => `[].${field}`),
      '[].apiCheckResult.degradedReason',
      '[].apiCheckResult.assertions[].order',
      '[].apiCheckResult.assertions[].comparison',
      '[].apiCheckResult.assertions[].property',
      '[].apiCheckResult.assertions[].regex',
      '[].apiCheckResult.assertions[].actual',
      '[].apiCheckResult.assertions[].error',
      '[].apiCheckResult.jobLog.',
    ],
    table: [
      {
        at: '[].resultType',
        kind: 'string',
        only: 'response',
        always: true,
        values: ['FINAL', 'ATTEMPT'],
      },
      { at: '[].id', kind: 'string', only: 'response' },
      { at: '[].name', kind: 'string', only: 'response' },
      { at: '[].checkId', kind: 'string', only: 'response' },
      { at: '[].hasFailures', kind: 'boolean', only: 'response' },
      { at: '[].hasErrors', kind: 'boolean', only: 'response' },
      { at: '[].isDegraded', kind: 'boolean', nullable: true, only: 'response' },
      { at: '[].overMaxResponseTime', kind: 'boolean', nullable: true, only: 'response' },
      { at: '[].runLocation', kind: 'string', only: 'response' },
      { at: '[].startedAt', kind: 'date-time', nullable: true, only: 'response' },
      { at: '[].stoppedAt', kind: 'date-time', nullable: true, only: 'response' },
      { at: '[].created_at', kind: 'date-time', only: 'response' },
      { at: '[].responseTime', kind: 'number', only: 'response' },
      {
        at: '[].apiCheckResult',
        kind: 'object',
        only: 'response',
        differs: orNull('null for scripted checks, as the others are for monitors'),
      },
      { at: '[].apiCheckResult.assertions', kind: 'array', of: 'object', only: 'response' },
      { at: '[].apiCheckResult.assertions[].source', kind: 'string', only: 'response' },
      { at: '[].apiCheckResult.assertions[].target', kind: 'string', only: 'response' },
      { at: '[].apiCheckResult.request', kind: 'object', only: 'response' },
      ...['method', 'url', 'data', 'headers', 'params'].map((name): FieldRow => ({
        at: `[].apiCheckResult.request.${name}`,
        kind: 'string',
        only: 'response',
        proof: {
          file: here,
          test: 'the result of a URL monitor has every field of a request and a response',
        },
      })),
      {
        at: '[].apiCheckResult.response',
        kind: 'object',
        only: 'response',
        differs: orNull('null when nothing came back'),
      },
      ...['status', 'statusText', 'body', 'headers', 'timings', 'timingPhases'].map(
        (name): FieldRow => ({
          at: `[].apiCheckResult.response.${name}`,
          kind: 'string',
          only: 'response',
          proof: {
            file: here,
            test: 'the result of a URL monitor has every field of a request and a response',
          },
        }),
      ),
      {
        at: '[].apiCheckResult.requestError',
        kind: 'string',
        only: 'response',
        differs: orNull('null when the request went well'),
      },
      { at: '[].apiCheckResult.jobLog', kind: 'object', only: 'response' },
      {
        at: '[].apiCheckResult.jobAssets',
        kind: 'array',
        of: 'string',
        only: 'response',
        differs: orNull('null without assets'),
      },
      {
        at: '[].apiCheckResult.pcapDataUrl',
        kind: 'string',
        only: 'response',
        differs: orNull('null without a capture'),
      },
      {
        at: '[].browserCheckResult',
        kind: 'object',
        only: 'response',
        differs: orNull('null for checks of every other type, as in the shown sample'),
      },
      {
        at: '[].multiStepCheckResult',
        kind: 'object',
        only: 'response',
        differs: orNull('null for checks of every other type, as in the shown sample'),
      },
      {
        at: '[].agenticCheckResult',
        kind: 'object',
        only: 'response',
        differs: orNull('null for checks of every other type'),
      },
      { at: '[].agenticCheckResult.summary', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.prompt', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.assertions', kind: 'array', of: 'object', only: 'response' },
      { at: '[].agenticCheckResult.assertions[].condition', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.assertions[].passed', kind: 'boolean', only: 'response' },
      { at: '[].agenticCheckResult.assertions[].actual', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.assertions[].expected', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.suggestions', kind: 'array', of: 'object', only: 'response' },
      { at: '[].agenticCheckResult.suggestions[].summary', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.suggestions[].prompt', kind: 'string', only: 'response' },
      {
        at: '[].agenticCheckResult.suggestions[].secrets',
        kind: 'array',
        of: 'string',
        only: 'response',
      },
      { at: '[].agenticCheckResult.suggestions[].category', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.steps', kind: 'array', of: 'object', only: 'response' },
      { at: '[].agenticCheckResult.steps[].type', kind: 'string', only: 'response' },
      { at: '[].agenticCheckResult.steps[].name', kind: 'string', only: 'response' },
      {
        at: '[].agenticCheckResult.steps[].input',
        kind: 'object',
        only: 'response',
        proof: { file: here, test: 'what an agentic step took and gave is free-form' },
      },
      {
        at: '[].agenticCheckResult.steps[].output',
        kind: 'object',
        only: 'response',
        proof: { file: here, test: 'what an agentic step took and gave is free-form' },
      },
      { at: '[].agenticCheckResult.steps[].timestamp', kind: 'date-time', only: 'response' },
      { at: '[].agenticCheckResult.steps[].sequenceNumber', kind: 'number', only: 'response' },
      { at: '[].agenticCheckResult.errors', kind: 'array', of: 'object', only: 'response' },
      { at: '[].agenticCheckResult.artifactManifest', kind: 'object', only: 'response' },
      { at: '[].checkRunId', kind: 'number', only: 'response' },
      { at: '[].attempts', kind: 'number', only: 'response' },
      { at: '[].sequenceId', kind: 'string', nullable: true, only: 'response' },
      { at: '[].errorGroupIds', kind: 'array', of: 'string', nullable: true, only: 'response' },
    ],
  },
  {
    heading: 'Check status',
    rows: 12,
    values: 0,
    responses: ['getCheckStatus'],
    further: ['unservedLocations'],
    table: [
      { at: 'name', kind: 'string', only: 'response', always: true },
      { at: 'checkId', kind: 'string', only: 'response' },
      { at: 'hasFailures', kind: 'boolean', only: 'response' },
      { at: 'hasErrors', kind: 'boolean', only: 'response' },
      { at: 'isDegraded', kind: 'boolean', only: 'response' },
      { at: 'longestRun', kind: 'number', nullable: true, only: 'response' },
      { at: 'shortestRun', kind: 'number', nullable: true, only: 'response' },
      { at: 'lastRunLocation', kind: 'string', nullable: true, only: 'response' },
      { at: 'lastCheckRunId', kind: 'string', nullable: true, only: 'response' },
      { at: 'sslDaysRemaining', kind: 'number', nullable: true, only: 'response' },
      { at: 'created_at', kind: 'date', only: 'response' },
      { at: 'updated_at', kind: 'date-time', nullable: true, only: 'response' },
    ],
  },
  {
    heading: 'Analytics response',
    rows: 17,
    values: 10,
    responses: analyticsOperations,
    further: ['truncated', 'series[].'],
    table: [
      { at: 'checkId', kind: 'string', only: 'response' },
      { at: 'name', kind: 'string', only: 'response' },
      { at: 'checkType', kind: 'string', only: 'response', values: checkTypeNames },
      { at: 'activated', kind: 'boolean', only: 'response' },
      { at: 'muted', kind: 'boolean', only: 'response' },
      { at: 'frequency', kind: 'number', only: 'response' },
      { at: 'from', kind: 'date', only: 'response' },
      { at: 'to', kind: 'date', only: 'response' },
      { at: 'tags', kind: 'array', of: 'string', only: 'response' },
      {
        at: 'series',
        kind: 'array',
        of: 'string',
        only: 'response',
        differs: {
          of: 'object',
          why: 'a series of text could carry no numbers; the field gives objects',
        },
      },
      { at: 'pagination', kind: 'object', only: 'response' },
      { at: 'pagination.page', kind: 'number', only: 'response' },
      { at: 'pagination.limit', kind: 'number', only: 'response' },
      { at: 'metadata', kind: 'object', only: 'response' },
      { at: 'metadata.*.unit', kind: 'string', only: 'response' },
      { at: 'metadata.*.label', kind: 'string', only: 'response' },
      { at: 'metadata.*.aggregation', kind: 'string', only: 'response' },
    ],
  },
  {
    heading: 'Status page',
    rows: 50,
    values: 3,
    requests: updatePage,
    responses: ['getStatusPage', 'updateStatusPage'],
    further: [
      'accountId',
      'created_at',
      'updated_at',
      'customDomainStatus',
      'language',
      'languages',
      'timezone',
      'customDomainChallenge',
    ],
    table: [
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'name', kind: 'string', required: true, always: true, sample: 'renamed' },
      { at: 'url', kind: 'string', required: true, always: true, sample: 'other-$unique' },
      {
        at: 'cards',
        kind: 'array',
        of: 'object',
        required: true,
        sample: [{ name: 'a', services: [{ id: '$serviceId' }] }],
      },
      { at: 'cards[].name', kind: 'string', sample: 'b' },
      { at: 'cards[].id', kind: 'string', sample: '$cardId', isOurs: true },
      {
        at: 'cards[].statusPageId',
        kind: 'string',
        only: 'request',
        sample: '$pageId',
        differs: orNull('clients of the field do not know it before the first creation'),
      },
      { at: 'cards[].services', kind: 'array', of: 'object', sample: [{ id: '$serviceId' }] },
      { at: 'cards[].services[].id', kind: 'string', sample: '$serviceId' },
      { at: 'cards[].created_at', kind: 'date', only: 'response' },
      {
        at: 'cards[].updated_at',
        kind: 'date',
        only: 'response',
        differs: orNull('null before the first change'),
      },
      { at: 'cards[].services[].name', kind: 'string', only: 'response' },
      { at: 'cards[].services[].accountId', kind: 'string', only: 'response' },
      { at: 'cards[].services[].created_at', kind: 'date', only: 'response' },
      {
        at: 'cards[].services[].updated_at',
        kind: 'date',
        only: 'response',
        differs: orNull('null before the first change'),
      },
      { at: 'description', kind: 'string', nullable: true, maxLength: 500, sample: 'of the shop' },
      { at: 'customDomain', kind: 'string', nullable: true, sample: 'status-$unique.a.example' },
      {
        at: 'themeColors',
        kind: 'object',
        sample: { light: themeSample, dark: themeSample },
        differs: knownClients,
      },
      { at: 'themeColors.light', kind: 'object', sample: themeSample },
      { at: 'themeColors.dark', kind: 'object', sample: themeSample },
      ...['light', 'dark'].flatMap((theme) =>
        themeColors.map((color): FieldRow => ({
          at: `themeColors.${theme}.${color}`,
          kind: 'string',
          sample: '#FFFFFF',
        })),
      ),
      { at: 'logo', kind: 'string', nullable: true, sample: 'https://a.example/logo.svg' },
      { at: 'redirectTo', kind: 'string', nullable: true, sample: 'https://a.example' },
      { at: 'favicon', kind: 'string', nullable: true, sample: 'https://a.example/favicon.ico' },
      { at: 'defaultTheme', kind: 'string', values: ['LIGHT', 'DARK', 'AUTO'], sample: 'DARK' },
      { at: 'whiteLabel', kind: 'boolean', only: 'response' },
      { at: 'isPrivate', kind: 'boolean', only: 'response' },
    ],
  },
  {
    heading: 'Status page subscription',
    rows: 6,
    values: 3,
    responses: ['listStatusPageSubscriptions'],
    table: [
      { at: '[].id', kind: 'string', only: 'response', always: true },
      {
        at: '[].type',
        kind: 'string',
        only: 'response',
        always: true,
        values: ['EMAIL'],
        differs: { values: ['EMAIL', 'WEBHOOK'], why: 'programs subscribe too' },
      },
      { at: '[].address', kind: 'string', only: 'response', always: true },
      {
        at: '[].status',
        kind: 'string',
        only: 'response',
        always: true,
        values: ['PENDING', 'VERIFIED'],
      },
      { at: '[].created_at', kind: 'date', only: 'response', always: true },
      { at: '[].updated_at', kind: 'date', only: 'response', always: true },
    ],
    further: ['[].services'],
  },
  {
    heading: 'Incident',
    rows: 20,
    values: 12,
    requests: ['updateIncident'],
    responses: ['updateIncident'],
    table: [
      {
        at: 'name',
        kind: 'string',
        required: true,
        always: true,
        maxLength: 255,
        sample: 'renamed',
      },
      {
        at: 'severity',
        kind: 'string',
        required: true,
        always: true,
        values: severities,
        sample: 'MINOR',
      },
      {
        at: 'services',
        kind: 'array',
        of: 'object',
        required: true,
        always: true,
        minItems: 1,
        sample: [{ id: '$serviceId' }],
      },
      { at: 'services[].name', kind: 'string', only: 'response' },
      { at: 'services[].id', kind: 'string', sample: '$serviceId' },
      { at: 'services[].accountId', kind: 'string', only: 'response' },
      { at: 'services[].created_at', kind: 'date', only: 'response' },
      {
        at: 'services[].updated_at',
        kind: 'date',
        only: 'response',
        differs: orNull('null before the first change'),
      },
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'incidentUpdates', kind: 'array', of: 'object', only: 'response', always: true },
      { at: 'incidentUpdates[].description', kind: 'string', only: 'response' },
      { at: 'incidentUpdates[].id', kind: 'string', only: 'response' },
      { at: 'incidentUpdates[].created_at', kind: 'date', only: 'response' },
      {
        at: 'incidentUpdates[].status',
        kind: 'string',
        only: 'response',
        values: incidentStatuses,
      },
      { at: 'incidentUpdates[].publicIncidentUpdateDate', kind: 'date-time', only: 'response' },
      { at: 'incidentUpdates[].notifySubscribers', kind: 'boolean', only: 'response' },
      {
        at: 'lastUpdateStatus',
        kind: 'string',
        only: 'response',
        always: true,
        values: incidentStatuses,
      },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      {
        at: 'updated_at',
        kind: 'date',
        only: 'response',
        differs: orNull('null before the first change'),
      },
      { at: 'duration', kind: 'integer', nullable: true, only: 'response' },
    ],
  },
  {
    heading: 'Maintenance window',
    rows: 10,
    values: 0,
    requests: ['createMaintenanceWindow'],
    responses: ['createMaintenanceWindow'],
    further: [
      ...['timezone', 'description', 'pauseAllChecks', 'silenceAlertsTags', 'silenceAllAlerts'],
      ...['nextOccurrences', 'warnings'],
    ],
    table: [
      { at: 'id', kind: 'number', only: 'response', always: true },
      { at: 'name', kind: 'string', required: true, always: true, sample: 'renamed' },
      {
        at: 'startsAt',
        kind: 'date',
        required: true,
        always: true,
        sample: '2026-12-01T01:00:00.000Z',
      },
      {
        at: 'endsAt',
        kind: 'date',
        required: true,
        always: true,
        sample: '2026-12-01T04:00:00.000Z',
      },
      {
        at: 'repeatUnit',
        kind: 'string',
        required: true,
        always: true,
        sample: 'WEEK',
        differs: {
          ...orNull('how existing clients say that a window does not repeat'),
          required: false,
        },
      },
      { at: 'tags', kind: 'array', of: 'string', sample: ['shop'] },
      {
        at: 'repeatInterval',
        kind: 'number',
        nullable: true,
        minimum: 1,
        sample: 2,
        differs: { kind: 'integer', why: 'a share of a week is nothing to repeat after' },
      },
      { at: 'repeatEndsAt', kind: 'date', nullable: true, sample: '2027-12-01T00:00:00.000Z' },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      { at: 'updated_at', kind: 'date', nullable: true, only: 'response', always: true },
    ],
  },
  {
    heading: 'Account entitlements',
    rows: 29,
    values: 0,
    responses: ['getMyEntitlements'],
    table: [
      { at: 'plan', kind: 'string', only: 'response', always: true },
      { at: 'planDisplayName', kind: 'string', only: 'response' },
      { at: 'locations', kind: 'object', only: 'response', always: true },
      { at: 'locations.all', kind: 'array', of: 'object', only: 'response' },
      { at: 'locations.all[].id', kind: 'string', only: 'response' },
      { at: 'locations.all[].name', kind: 'string', only: 'response' },
      { at: 'locations.all[].available', kind: 'boolean', only: 'response' },
      { at: 'locations.maxPerCheck', kind: 'number', only: 'response' },
      { at: 'entitlements', kind: 'array', of: 'object', only: 'response', always: true },
      { at: 'entitlements[].key', kind: 'string', only: 'response' },
      { at: 'entitlements[].name', kind: 'string', only: 'response' },
      { at: 'entitlements[].description', kind: 'string', only: 'response' },
      { at: 'entitlements[].type', kind: 'string', only: 'response' },
      { at: 'entitlements[].enabled', kind: 'boolean', only: 'response' },
      { at: 'entitlements[].quantity', kind: 'number', only: 'response' },
      { at: 'entitlements[].requiredPlan', kind: 'string', only: 'response' },
      { at: 'entitlements[].requiredPlanDisplayName', kind: 'string', only: 'response' },
      { at: 'entitlements[].requiredAddon', kind: 'object', only: 'response' },
      ...['name', 'displayName', 'tier', 'tierDisplayName'].map((name): FieldRow => ({
        at: `entitlements[].requiredAddon.${name}`,
        kind: 'string',
        only: 'response',
      })),
      { at: 'addons', kind: 'object', only: 'response' },
      ...['communicate', 'resolve'].flatMap((addon): FieldRow[] => [
        { at: `addons.${addon}`, kind: 'object', only: 'response' },
        { at: `addons.${addon}.tier`, kind: 'string', only: 'response' },
        { at: `addons.${addon}.tierDisplayName`, kind: 'string', only: 'response' },
      ]),
    ],
  },
  {
    heading: 'Check trigger',
    rows: 6,
    values: 0,
    responses: ['createCheckTrigger'],
    table: [
      { at: 'id', kind: 'number', only: 'response', always: true },
      { at: 'token', kind: 'string', only: 'response', always: true },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      { at: 'checkId', kind: 'string', only: 'response', always: true },
      { at: 'called_at', kind: 'date', nullable: true, only: 'response' },
      { at: 'updated_at', kind: 'date', nullable: true, only: 'response' },
    ],
  },
  {
    heading: 'Client certificate',
    rows: 5,
    values: 0,
    // What a client certificate is of no use without, and is never given back.
    further: ['key', 'passphrase'],
    requests: ['createClientCertificate'],
    responses: ['createClientCertificate'],
    table: [
      { at: 'host', kind: 'string', required: true, always: true, sample: '*.b.example' },
      { at: 'cert', kind: 'string', required: true, always: true, sample: '$cert' },
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'ca', kind: 'string', nullable: true, sample: '$cert' },
      { at: 'created_at', kind: 'date-time', only: 'response' },
    ],
  },
  {
    heading: 'Private location key',
    rows: 5,
    values: 0,
    responses: ['createPrivateLocationKey'],
    table: [
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'rawKey', kind: 'string', only: 'response', always: true },
      { at: 'maskedKey', kind: 'string', only: 'response', always: true },
      { at: 'created_at', kind: 'date', only: 'response', always: true },
      { at: 'updated_at', kind: 'date', nullable: true, only: 'response' },
    ],
  },
  {
    heading: 'Alert notification record',
    rows: 11,
    values: 21,
    responses: ['listAlertNotifications'],
    table: [
      { at: '[].id', kind: 'string', only: 'response' },
      { at: '[].type', kind: 'string', only: 'response', values: channelTypes },
      { at: '[].status', kind: 'string', only: 'response', values: notificationStatuses },
      { at: '[].alertConfig', kind: 'object', only: 'response' },
      {
        at: '[].notificationResult',
        kind: 'string',
        only: 'response',
        differs: orNull('null while it is being sent'),
      },
      { at: '[].timestamp', kind: 'date-time', only: 'response' },
      { at: '[].checkType', kind: 'string', only: 'response', values: checkTypeNames },
      { at: '[].checkId', kind: 'string', only: 'response' },
      {
        at: '[].checkAlertId',
        kind: 'string',
        only: 'response',
        differs: orNull('null for a notification without an alert'),
      },
      { at: '[].alertChannelId', kind: 'number', only: 'response' },
      {
        at: '[].checkResultId',
        kind: 'string',
        only: 'response',
        differs: orNull('null for an alert without a result'),
      },
    ],
  },
  {
    heading: 'Error group',
    rows: 9,
    values: 0,
    responses: ['getErrorGroup', 'updateErrorGroup'],
    further: ['rootCauseAnalyses[].'],
    table: [
      { at: 'id', kind: 'string', only: 'response', always: true },
      { at: 'checkId', kind: 'string', only: 'response', always: true },
      { at: 'errorHash', kind: 'string', only: 'response', always: true },
      { at: 'rawErrorMessage', kind: 'string', nullable: true, only: 'response', always: true },
      { at: 'cleanedErrorMessage', kind: 'string', only: 'response', always: true },
      { at: 'firstSeen', kind: 'date', only: 'response', always: true },
      { at: 'lastSeen', kind: 'date', only: 'response', always: true },
      { at: 'archivedUntilNextEvent', kind: 'boolean', only: 'response', always: true },
      { at: 'rootCauseAnalyses', kind: 'array', of: 'object', only: 'response' },
    ],
  },
  {
    heading: 'States and transitions',
    rows: 6,
    values: 12,
    table: [
      {
        says: 'incident, lastUpdateStatus and status of an update',
        schema: 'IncidentStatus',
        values: incidentStatuses,
      },
      {
        says: 'subscription, status',
        limits: [['listStatusPageSubscriptions', '[].status']],
        facts: { values: ['PENDING', 'VERIFIED'] },
      },
      {
        says: 'alert notification, status',
        limits: [['listAlertNotifications', '[].status']],
        facts: { values: notificationStatuses },
      },
      {
        says: 'check result, resultType; ALL is a filter value',
        limits: [['listCheckResults', '[].resultType']],
        facts: { values: ['FINAL', 'ATTEMPT'] },
      },
      {
        says: 'check and group, activated: true runs, false does not',
        proof: { file: windows, test: 'a check that is not activated is given to no agent' },
      },
      {
        says: 'error group, archivedUntilNextEvent is set by its update',
        proof: { file: here, test: 'an error group is read and archived' },
      },
    ],
  },
  {
    heading: 'Endpoints: common',
    rows: 10,
    values: 0,
    table: [
      {
        says: 'header Authorization is required',
        send: ['GET', '/v1/client-certificates'],
        headers: { authorization: '' },
        status: 401,
        body: { statusCode: 401, error: 'Unauthorized' },
      },
      {
        says: 'header x-service-account is optional',
        send: ['GET', '/v1/client-certificates'],
        headers: { 'x-service-account': '$accountId' },
        status: 200,
      },
      {
        says: '201 for creations',
        proof: {
          file: here,
          test: 'every creation of the specification is declared with 201, the deletion with 204, the rest with 200',
        },
      },
      {
        says: '204 with no body for the delete',
        proof: {
          file: here,
          test: 'an update of an incident of a dashboard is deleted without a body',
        },
      },
      {
        says: 'Successful for the others',
        proof: {
          file: here,
          test: 'every creation of the specification is declared with 201, the deletion with 204, the rest with 200',
        },
      },
      ...['updateURLMonitor', 'createDNSMonitor', 'createBrowserCheck', 'updateCheckGroup'].map(
        (operation): ParameterRow => ({
          parameter: 'autoAssignAlerts',
          kind: 'boolean',
          default: true,
          operations: [operation],
        }),
      ),
      {
        says: 'autoAssignAlerts subscribes a new check to all channels',
        proof: {
          file: here,
          test: 'a new check is subscribed to all channels unless autoAssignAlerts is false',
        },
      },
    ],
  },
  {
    heading: 'Endpoints: Checks',
    rows: 6,
    values: 0,
    table: [
      { endpoint: 'PUT /v1/checks/url/{id}', status: 200, params: { id: 'string' } },
      { endpoint: 'POST /v1/checks/dns', status: 201 },
      { endpoint: 'POST /v1/checks/browser', status: 201 },
      { endpoint: 'GET /v1/check-statuses/{checkId}', status: 200, params: { checkId: 'string' } },
      {
        says: 'the status may be null',
        send: ['GET', '/v1/check-statuses/$urlId'],
        status: 200,
        text: /^null$/,
      },
      {
        endpoint: 'POST /v1/triggers/checks/{checkId}',
        status: 201,
        params: { checkId: 'string' },
      },
    ],
  },
  {
    heading: 'Endpoints: Check groups',
    rows: 1,
    values: 0,
    table: [{ endpoint: 'PUT /v2/check-groups/{id}', status: 200, params: { id: 'integer' } }],
  },
  {
    heading: 'Endpoints: Check results',
    rows: 9,
    values: 35,
    table: [
      { endpoint: 'GET /v1/check-results/{checkId}', status: 200, params: { checkId: 'string' } },
      {
        parameter: 'limit',
        kind: 'integer',
        default: 10,
        minimum: 1,
        maximum: 100,
        operations: ['listCheckResults'],
      },
      {
        parameter: 'page',
        kind: 'number',
        default: 1,
        operations: ['listCheckResults'],
        differs: { kind: 'integer', why: 'pages are whole' },
      },
      { parameter: 'from', kind: 'instant', operations: ['listCheckResults'] },
      { parameter: 'to', kind: 'instant', operations: ['listCheckResults'] },
      {
        parameter: 'location',
        kind: 'string',
        values: locationIds,
        operations: ['listCheckResults'],
        differs: {
          anyText: true,
          why: 'results come from private locations too, which go by their slugs',
        },
      },
      {
        parameter: 'checkType',
        kind: 'string',
        values: checkTypeNames,
        operations: ['listCheckResults'],
      },
      { parameter: 'hasFailures', kind: 'boolean', operations: ['listCheckResults'] },
      {
        parameter: 'resultType',
        kind: 'string',
        values: ['FINAL', 'ATTEMPT', 'ALL'],
        default: 'FINAL',
        operations: ['listCheckResults'],
      },
    ],
  },
  {
    heading: 'Endpoints: Analytics',
    rows: 18,
    values: 240,
    table: [
      { endpoint: 'GET /v1/analytics/url-monitors/{id}', status: 200, params: { id: 'string' } },
      { endpoint: 'GET /v1/analytics/tcp-checks/{id}', status: 200, params: { id: 'string' } },
      { endpoint: 'GET /v1/analytics/browser-checks/{id}', status: 200, params: { id: 'string' } },
      { parameter: 'from', kind: 'instant', operations: analyticsOperations },
      { parameter: 'to', kind: 'instant', operations: analyticsOperations },
      {
        parameter: 'quickRange',
        kind: 'string',
        default: 'last24Hours',
        values: [
          'last24Hours',
          'last7Days',
          'last30Days',
          'thisWeek',
          'thisMonth',
          'lastWeek',
          'lastMonth',
        ],
        operations: analyticsOperations,
      },
      {
        parameter: 'aggregationInterval',
        kind: 'number',
        minimum: 1,
        maximum: 43_200,
        operations: analyticsOperations,
        differs: { kind: 'integer', why: 'buckets are of whole minutes' },
      },
      {
        parameter: 'filterByStatus',
        kind: 'array',
        values: ['success', 'failure'],
        operations: analyticsOperations,
      },
      {
        parameter: 'metrics',
        kind: 'array',
        required: true,
        operations: analyticsOperations,
        sample: 'availability,retries',
      },
      {
        parameter: 'limit',
        kind: 'integer',
        default: 10,
        minimum: 1,
        maximum: 100,
        operations: analyticsOperations.slice(0, 2),
      },
      {
        parameter: 'page',
        kind: 'number',
        default: 1,
        operations: analyticsOperations.slice(0, 2),
        differs: { kind: 'integer', why: 'pages are whole' },
      },
      {
        says: 'limit and page of browser checks are those of the others',
        limits: [
          ['getBrowserCheckAnalytics', '?limit'],
          ['getBrowserCheckAnalytics', '?page'],
        ],
        facts: {},
      },
      {
        parameter: 'groupBy',
        kind: 'string',
        values: ['runLocation', 'statusCode'],
        operations: ['getUrlMonitorAnalytics'],
      },
      {
        parameter: 'groupBy',
        kind: 'string',
        values: ['runLocation'],
        operations: ['getTcpCheckAnalytics'],
      },
      {
        parameter: 'groupBy',
        kind: 'string',
        values: ['runLocation', 'pageIndex'],
        operations: ['getBrowserCheckAnalytics'],
      },
      {
        parameter: 'metrics',
        kind: 'array',
        required: true,
        values: metricNames('responseTime', 'wait', 'dns', 'tcp', 'firstByte', 'download'),
        operations: ['getUrlMonitorAnalytics'],
      },
      {
        parameter: 'metrics',
        kind: 'array',
        required: true,
        values: metricNames('total', 'dns', 'connection', 'data'),
        operations: ['getTcpCheckAnalytics'],
      },
      {
        parameter: 'metrics',
        kind: 'array',
        required: true,
        values: metricNames(
          'responseTime',
          'TTFB',
          'FCP',
          'LCP',
          'CLS',
          'TBT',
          'consoleErrors',
          'networkErrors',
          'userScriptErrors',
          'documentErrors',
        ),
        operations: ['getBrowserCheckAnalytics'],
      },
    ],
  },
  {
    heading: 'Endpoints: Status pages and incidents',
    rows: 5,
    values: 0,
    table: [
      {
        endpoint: 'GET /v1/status-pages/{statusPageId}',
        status: 200,
        params: { statusPageId: 'string' },
      },
      {
        endpoint: 'PUT /v1/status-pages/{statusPageId}',
        status: 200,
        params: { statusPageId: 'string' },
      },
      {
        endpoint: 'GET /v1/status-pages/{statusPageId}/subscriptions',
        status: 200,
        params: { statusPageId: 'string' },
      },
      {
        endpoint: 'PUT /v1/status-pages/incidents/{incidentId}',
        status: 200,
        params: { incidentId: 'string' },
      },
      {
        endpoint: 'DELETE /v1/incidents/{incidentId}/updates/{id}',
        status: 204,
        params: { incidentId: 'string', id: 'string' },
      },
    ],
  },
  {
    heading: 'Endpoints: Maintenance windows, account, certificates, private locations',
    rows: 4,
    values: 0,
    table: [
      { endpoint: 'POST /v1/maintenance-windows', status: 201 },
      { endpoint: 'GET /v1/accounts/me/entitlements', status: 200 },
      { endpoint: 'GET /v1/client-certificates', status: 200 },
      { endpoint: 'POST /v1/private-locations/{id}/keys', status: 201, params: { id: 'string' } },
    ],
  },
  {
    heading: 'Endpoints: Error groups',
    rows: 4,
    values: 0,
    requests: ['updateErrorGroup'],
    table: [
      { endpoint: 'GET /v1/error-groups/{id}', status: 200, params: { id: 'string' } },
      { endpoint: 'PATCH /v1/error-groups/{id}', status: 200, params: { id: 'string' } },
      { at: 'archiveForEver', kind: 'boolean', only: 'request', sample: true },
      { at: 'archivedUntilNextEvent', kind: 'boolean', only: 'request', sample: true },
    ],
  },
  {
    heading: 'Endpoints: Alert notifications list',
    rows: 11,
    values: 0,
    table: [
      { endpoint: 'GET /v1/alert-notifications', status: 200 },
      {
        parameter: 'limit',
        kind: 'integer',
        minimum: 1,
        maximum: 100,
        operations: ['listAlertNotifications'],
      },
      {
        parameter: 'page',
        kind: 'number',
        operations: ['listAlertNotifications'],
        differs: { kind: 'integer', why: 'pages are whole' },
      },
      { parameter: 'from', kind: 'instant', operations: ['listAlertNotifications'] },
      { parameter: 'to', kind: 'instant', operations: ['listAlertNotifications'] },
      { parameter: 'alertChannelId', kind: 'integer', operations: ['listAlertNotifications'] },
      { parameter: 'hasFailures', kind: 'boolean', operations: ['listAlertNotifications'] },
      ...[
        'at most 24 hours',
        'neither: the last 24 hours',
        'only to: 24 hours before it',
        'only from: 24 hours after it',
      ].map((says): ProofRow => ({
        says,
        proof: { file: windows, test: 'alert notifications are listed in windows of 24 hours' },
      })),
    ],
  },
  {
    heading: 'Endpoints: Private location agent probes',
    rows: 6,
    values: 0,
    table: [
      {
        says: 'GET /-/readiness is 200 when ready',
        proof: {
          file: agentTests,
          test: 'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        },
      },
      {
        says: 'GET /-/readiness is 503 during shutdown',
        proof: {
          file: agentTests,
          test: 'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        },
      },
      {
        says: 'GET /-/liveness is 200',
        proof: {
          file: agentTests,
          test: 'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        },
      },
      {
        says: 'GET /health is 200',
        proof: {
          file: agentTests,
          test: 'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        },
      },
      {
        says: 'port 8081 by default',
        proof: {
          file: here,
          test: 'the health port of an agent is 8081 unless AGENT_HEALTH_PORT says otherwise',
        },
      },
      {
        says: 'AGENT_HEALTH_PORT',
        proof: {
          file: here,
          test: 'the health port of an agent is 8081 unless AGENT_HEALTH_PORT says otherwise',
        },
      },
    ],
  },
  {
    heading: 'Authentication',
    rows: 5,
    values: 0,
    table: [
      {
        says: '1: Authorization: Bearer with an API key',
        send: ['GET', '/v1/checks'],
        headers: { authorization: 'Basic $apiKey' },
        status: 401,
      },
      {
        says: '2: the account in x-service-account',
        send: ['GET', '/v1/checks'],
        headers: { 'x-service-account': '00000000-0000-4000-8000-000000000000' },
        status: 403,
      },
      {
        says: '2: header names in any case',
        send: ['GET', '/v1/checks'],
        headers: { 'X-SERVICE-Account': '$accountId' },
        status: 200,
      },
      {
        says: '3: an invalid token',
        send: ['GET', '/v1/checks'],
        headers: { authorization: 'Bearer nonsense-nonsense' },
        status: 401,
        body: { statusCode: 401, error: 'Unauthorized', message: 'Bad Token' },
      },
      {
        says: '4: rawKey once, then maskedKey only',
        proof: {
          file: 'test/control-plane/private-locations.test.ts',
          test: 'a key is shown raw once, kept as a hash, and dead when it is revoked',
        },
      },
    ],
  },
  {
    heading: 'Events',
    rows: 5,
    values: 7,
    table: [
      {
        says: '1: notifications on failure and recovery, unless muted',
        proof: {
          file: 'test/control-plane/alerting.test.ts',
          test: 'a check notifies when it fails and when it recovers, unless it is muted',
        },
      },
      { says: '1: channel types', schema: 'AlertChannelType', values: channelTypes },
      {
        says: '2: each sent notification is recorded',
        proof: {
          file: 'test/control-plane/notifications/outbox-sender.test.ts',
          test: 'a receiver that recovers gets it once, and the record says how often it was tried',
        },
      },
      {
        says: '3: triggerIncident creates and resolves an incident',
        proof: {
          file: 'test/control-plane/incidents/incident-automation.test.ts',
          test: 'an alert opens one incident, the recovery resolves it, the next alert opens another',
        },
      },
      {
        says: '4: a webhook sends its method, url, headers and query parameters',
        proof: {
          file: 'test/control-plane/notifications/channels/webhook.test.ts',
          test: 'method, address, headers, query and body are completed, with the variables of account, group and check',
        },
      },
    ],
  },
  {
    heading: 'Errors',
    rows: 5,
    values: 0,
    table: [
      {
        says: '1: statusCode, error, message, attributes',
        proof: { file: here, test: 'every refusal has the four fields of an error' },
      },
      {
        says: '2: 401 Unauthorized',
        send: ['GET', '/v1/checks'],
        headers: { authorization: 'Bearer nonsense-nonsense' },
        status: 401,
        body: { statusCode: 401, error: 'Unauthorized' },
      },
      {
        says: '3: failures stand in the result',
        proof: {
          file: 'test/agent/worker/attempt.test.ts',
          test: 'what breaks on our side is an error, never a failure',
        },
      },
      {
        says: '4: the check status may be null',
        send: ['GET', '/v1/check-statuses/$urlId'],
        status: 200,
        text: /^null$/,
      },
      {
        says: '5: the alert notification list is rate limited',
        proof: {
          file: windows,
          test: 'the alert notification list takes five requests in ten seconds',
        },
      },
    ],
  },
  {
    heading: 'Limits',
    rows: 17,
    values: 0,
    table: [
      {
        says: 'description length',
        limits: [...checkOperations, ...updatePage].map(
          (operation) => [operation, 'description'] as const,
        ),
        facts: { maxLength: 500 },
      },
      {
        says: 'incident name length',
        limits: [
          ['updateIncident', 'name'],
          ['createIncident', 'name'],
          ['patchIncident', 'name'],
        ],
        facts: { maxLength: 255 },
      },
      {
        says: 'environmentVariables of checks',
        limits: checkOperations.map((operation) => [operation, 'environmentVariables'] as const),
        facts: { maxItems: 50 },
      },
      {
        says: 'environmentVariables of groups',
        limits: [...groupOperations, 'createCheckGroupV1'].map(
          (operation) => [operation, 'environmentVariables'] as const,
        ),
        facts: { maxItems: 100 },
      },
      {
        says: 'response times of a URL monitor',
        limits: ['createURLMonitor', 'updateURLMonitor'].flatMap((operation) => [
          [operation, 'degradedResponseTime'] as const,
          [operation, 'maxResponseTime'] as const,
        ]),
        facts: { minimum: 0, maximum: 30_000 },
      },
      {
        says: 'response times of a DNS monitor',
        limits: ['createDNSMonitor', 'updateDNSMonitor'].flatMap((operation) => [
          [operation, 'degradedResponseTime'] as const,
          [operation, 'maxResponseTime'] as const,
        ]),
        facts: { minimum: 0, maximum: 5000 },
      },
      {
        says: 'groupOrder',
        limits: checkOperations.map((operation) => [operation, 'groupOrder'] as const),
        facts: { minimum: 0 },
      },
      {
        says: 'concurrency',
        limits: groupOperations.map((operation) => [operation, 'concurrency'] as const),
        facts: { minimum: 1 },
      },
      {
        says: 'frequencyOffset',
        limits: monitors.map((operation) => [operation, 'frequencyOffset'] as const),
        facts: { minimum: 1 },
      },
      {
        says: 'repeatInterval',
        limits: [
          ['createMaintenanceWindow', 'repeatInterval'],
          ['updateMaintenanceWindow', 'repeatInterval'],
        ],
        facts: { minimum: 1 },
      },
      {
        says: 'services of an incident',
        limits: [
          ['createIncident', 'services'],
          ['updateIncident', 'services'],
          ['patchIncident', 'services'],
        ],
        facts: { minItems: 1 },
      },
      {
        says: 'limit',
        limits: [
          ['listCheckResults', '?limit'],
          ...analyticsOperations.map((operation) => [operation, '?limit'] as const),
        ],
        facts: { minimum: 1, maximum: 100, default: 10 },
      },
      {
        says: 'aggregationInterval',
        limits: analyticsOperations.map(
          (operation) => [operation, '?aggregationInterval'] as const,
        ),
        facts: { minimum: 1, maximum: 43_200 },
      },
      {
        says: 'window of check results',
        proof: {
          file: windows,
          test: 'check results: the last six hours, or six hours after from',
        },
      },
      {
        says: 'window of alert notifications',
        proof: { file: windows, test: 'alert notifications are listed in windows of 24 hours' },
      },
      {
        says: 'request rate of the alert notification list',
        proof: {
          file: windows,
          test: 'the alert notification list takes five requests in ten seconds',
        },
      },
      {
        says: 'artifact upload size',
        proof: {
          file: 'test/control-plane/results/artifacts/uploads.test.ts',
          test: 'exactly 157,286,400 bytes pass, chunked',
        },
      },
    ],
  },
  {
    heading: 'Versioning',
    rows: 19,
    values: 7,
    table: [
      {
        says: '1: /v1, and /v2 for check groups',
        proof: { file: here, test: 'paths carry a major version' },
      },
      {
        says: '2: doubleCheck is deprecated',
        proof: { file: here, test: 'doubleCheck is published as deprecated' },
      },
      { says: '3: runtime identifiers', schema: 'RuntimeId', values: runtimeIds },
      {
        says: 'agent 7.0.2: a migration image with several runtimes',
        proof: {
          file: imageTests,
          test: 'the full image has 2026.04 and 2025.04, the migration image 2024.09 too',
        },
      },
      {
        says: 'agent 7.0.1: ICMP without root',
        proof: {
          file: 'test/agent/net/icmp/ping.test.ts',
          test: 'many pings at once each get their own replies',
        },
      },
      {
        says: 'agent 7.0.0: uptime image, EXTERNAL_OBSERVABILITY',
        proof: {
          file: 'test/scripts/images/uptime-image.test.ts',
          test: 'with these packages alone the agent serves monitors, offers nothing else, and stops',
        },
      },
      {
        says: 'agent 6.3.2: artifacts of up to 150 MB',
        proof: {
          file: 'test/control-plane/results/artifacts/uploads.test.ts',
          test: 'exactly 157,286,400 bytes pass, chunked',
        },
      },
      {
        says: 'agent 6.3.1: health probes',
        proof: {
          file: agentTests,
          test: 'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        },
      },
      {
        says: 'agent 6.3.0: dev image',
        proof: {
          file: imageTests,
          test: 'the dev image adds compilers and package managers to the full one',
        },
      },
      {
        says: 'agent 6.2.0: no devDependencies in the image',
        proof: {
          file: imageTests,
          test: 'no image installs devDependencies: one script installs packages, and omits them',
        },
      },
      {
        says: 'agent 6.1.7: the Authorization header is scrubbed',
        proof: {
          file: 'test/agent/runners/multi-step.test.ts',
          test: 'requests stand under the steps that made them, with their times and without credentials',
        },
      },
      {
        says: 'agent 6.1.6: variables of Playwright suites',
        proof: {
          file: 'test/agent/runners/playwright/suite-environment.test.ts',
          test: 'CI is set for sessions, deployments and the command line, and never otherwise',
        },
      },
      {
        says: 'agent 6.1.5: Playwright metrics',
        proof: {
          file: 'test/agent/runners/playwright/run-playwright.test.ts',
          test: 'a suite runs with the browser of this machine, and every test is listed',
        },
      },
      {
        says: 'agent 6.1.4: reporting',
        proof: {
          file: 'test/agent/runners/playwright/run-playwright.test.ts',
          test: 'a suite without tests, with a broken configuration or command fails and says so',
        },
      },
      {
        says: 'agent 6.1.3: central scrubbing of secrets',
        proof: {
          file: 'test/e2e/code.test.ts',
          test: 'checks of every type run, and no secret comes out in any encoding',
        },
      },
      {
        says: 'agent 6.1.2: SERVICE_SECRET_ variables',
        proof: {
          file: 'test/e2e/code.test.ts',
          test: 'checks of every type run, and no secret comes out in any encoding',
        },
      },
      {
        says: 'agent 6.1.1: proxy variables during installation',
        proof: {
          file: 'test/agent/runners/playwright/install-suite.test.ts',
          test: 'an install command of the check outranks lock files, and sees proxies and variables',
        },
      },
      {
        says: 'agent 6.1.0: secrets found at run time',
        proof: {
          file: 'test/agent/runners/browser.test.ts',
          test: 'a page that never stops ends at the deadline; the next run is green, answers a dialog and has its secrets learned',
        },
      },
      {
        says: 'agent 6.0.7: networking',
        proof: {
          file: 'test/agent/misbehaving.test.ts',
          test: 'a result that is refused is set aside, and the others flow on',
        },
      },
    ],
  },
];
