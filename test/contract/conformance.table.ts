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
}

/** A test that shows it; it must exist under that name. */
export interface Proof {
  file: string;
  test: string;
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

/** All values of a named schema. */
export interface EnumRow {
  says: string;
  schema: string;
  values: readonly string[];
}

export type Row =
  FieldRow | OperationRow | ParameterRow | RequestRow | LimitRow | ProofRow | EnumRow;

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

const isFlag = (word: string): boolean =>
  ['nullable', 'required', 'always', 'takesNull', 'isOurs'].includes(word);

/** A field in a line: its place and kind, then `of` which kind, `in` requests or responses alone, and what is true of it. */
function field(line: string, more: Partial<FieldRow> = {}): FieldRow {
  const [at = '', kind, ...words] = line.split(' ');
  const row: Record<string, unknown> = { at, kind, ...more };
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (isFlag(word)) row[word] = true;
    else if (word === 'of') row['of'] = words.shift();
    else if (word === 'in') row['only'] = words.shift();
    else throw new Error(`"${word}" says nothing of a field: ${line}`);
  }
  return row as unknown as FieldRow;
}

/** What is said, and the test of a file that shows it. */
const shownBy = (file: string, tests: Readonly<Record<string, string>>): ProofRow[] =>
  Object.entries(tests).map(([says, test]) => ({ says, proof: { file, test } }));

const shown = (says: string, file: string, test: string): ProofRow => ({
  says,
  proof: { file, test },
});

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
      shown(
        '2: groups hold shared defaults',
        'test/control-plane/check-groups.test.ts',
        'the checks of a group come in its order, with its settings applied',
      ),
      shown(
        '3: each run produces a result, a status summarises',
        'test/control-plane/agents.test.ts',
        'a result is stored once, whatever comes twice or late',
      ),
      shown(
        '4: notifications go out; those sent can be listed',
        'test/control-plane/notifications/outbox-sender.test.ts',
        'a receiver that recovers gets it once, and the record says how often it was tried',
      ),
      shown(
        '5: pages show services in cards; incidents attach to services',
        'test/control-plane/status-pages.test.ts',
        'a status page keeps what a change leaves out and the cards it repeats',
      ),
      shown(
        '6: maintenance windows suppress checks selected by tag',
        'test/control-plane/maintenance-in-effect.test.ts',
        'what a window selects by tag is not run, and its slots are not outages',
      ),
      shown(
        '7: error groups cluster similar errors',
        'test/e2e/code.test.ts',
        'checks of every type run, and no secret comes out in any encoding',
      ),
      shown(
        '8: a check can be triggered through a trigger token',
        here,
        'a check is triggered through its token',
      ),
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
    // Our own, and only where something is missing; and what newer clients send and read.
    further: [
      ...[
        'warnings',
        'signature',
        'aiAutoRepairEnabled',
        'intent',
        'intent.goal',
        'intent.requiredOutcomes',
      ],
      ...['intent.mustPreserve', 'projectBindings', 'project', 'logicalId', 'member', 'pending'],
    ],
    table: [
      field('name string required always', { sample: 'renamed' }),
      field('id string always in response'),
      field('activated boolean', { default: true, sample: false }),
      field('muted boolean', { default: false, sample: true }),
      field('doubleCheck boolean', { default: true, sample: false }),
      field('shouldFail boolean', { default: false, sample: true }),
      field('locations array of string nullable', { values: locationIds, sample: ['eu-west-1'] }),
      field('tags array of string', { sample: ['shop'] }),
      field('alertSettings object', { sample: alertSettingsSample, differs: knownClients }),
      field('useGlobalAlertSettings boolean', { default: true, sample: false }),
      field('groupId number nullable', { sample: '$groupId', differs: wholeNumber }),
      field('groupOrder number nullable', { minimum: 0, sample: 3, differs: wholeNumber }),
      field('runtimeId string nullable', { values: runtimeIds, sample: '2026.04' }),
      field('alertChannelSubscriptions array of object', {
        sample: [{ alertChannelId: '$channelId', activated: false }],
      }),
      field('alertChannelSubscriptions[].alertChannelId number', {
        sample: '$channelId',
        differs: wholeNumber,
      }),
      field('alertChannelSubscriptions[].activated boolean', { sample: true }),
      field('retryStrategy object', { sample: retrySample, differs: knownClients }),
      field('triggerIncident object', {
        sample: {
          serviceId: '$serviceId',
          severity: 'MAJOR',
          name: 'down',
          description: 'it is down',
          notifySubscribers: true,
        },
        differs: knownClients,
      }),
      field('triggerIncident.serviceId string', { sample: '$serviceId' }),
      field('triggerIncident.severity string', { sample: 'MINOR' }),
      field('triggerIncident.name string', { sample: 'other' }),
      field('triggerIncident.description string', { sample: 'other' }),
      field('triggerIncident.notifySubscribers boolean', { sample: false }),
      field('runParallel boolean', { default: false, sample: true }),
      field('description string nullable', { maxLength: 500, sample: 'of the shop' }),
      field('frequency integer', {
        operations: monitors,
        default: 10,
        values: frequencies,
        sample: 5,
        beside: { '0': { frequencyOffset: 10 } },
      }),
      field('frequencyOffset integer', { minimum: 1, sample: 7 }),
      field('degradedResponseTime number nullable', { sample: 100.5 }),
      field('maxResponseTime number nullable', { sample: 200.5 }),
      field('privateLocations array of string nullable', { sample: ['$slug'] }),
      field('created_at date always in response'),
      field('updated_at date-time nullable always in response'),
      field('alertChannels object always in response'),
      field('checkType string always in response'),
      field('request object required always', { operations: monitors }),
    ],
  },

  {
    heading: 'frequencyOffset rules',
    rows: 3,
    values: 0,
    table: [
      ...shownBy(here, {
        '1: frequency 0, offsets 10, 20 and 30 seconds':
          'frequencyOffset: frequency 0 takes 10, 20 and 30 and nothing else',
        '2: up to 60, from 1 to ten a minute':
          'frequencyOffset: both sides of the bounds of every frequency',
        '3: above 60, from 1 to one an hour':
          'frequencyOffset: both sides of the bounds of every frequency',
      }),
    ],
  },
  {
    heading: 'alertSettings object',
    rows: 6,
    values: 0,
    requests: [...checkOperations, ...groupOperations],
    responses: [...checkOperations, ...groupOperations],
    // Time-based escalation is the other half of what `escalationType` leaves open.
    further: [
      ...['alertSettings.timeBasedEscalation', 'alertSettings.escalationPolicyId'],
      ...['', '.enabled', '.alertThreshold'].map((part) => `alertSettings.sslCertificates${part}`),
    ],
    table: [
      field('alertSettings.escalationType string', { sample: 'RUN_BASED' }),
      field('alertSettings.runBasedEscalation.failedRunThreshold integer', { sample: 3 }),
      field('alertSettings.reminders.amount integer', { sample: 5 }),
      field('alertSettings.reminders.interval integer', { sample: 30 }),
      field('alertSettings.parallelRunFailureThreshold.enabled boolean', { sample: false }),
      field('alertSettings.parallelRunFailureThreshold.percentage number', {
        sample: 100,
        differs: { kind: 'integer', why: 'one of the tens that the field knows' },
      }),
    ],
  },
  {
    heading: 'retryStrategy object',
    rows: 6,
    values: 0,
    requests: [...checkOperations, ...groupOperations],
    responses: [...checkOperations, ...groupOperations],
    table: [
      field('retryStrategy.type string', { sample: 'LINEAR' }),
      field('retryStrategy.baseBackoffSeconds number', { sample: 10.5 }),
      field('retryStrategy.sameRegion boolean', { sample: true }),
      field('retryStrategy.maxRetries number', { sample: 4, differs: wholeNumber }),
      field('retryStrategy.maxDurationSeconds number', { sample: 90.5 }),
      field('retryStrategy.onlyOn array of string', { sample: ['NETWORK_ERROR'] }),
    ],
  },
  {
    heading: 'alertChannels object',
    rows: 19,
    values: 0,
    responses: checkOperations,
    table: [
      field('alertChannels.email array of object in response'),
      field('alertChannels.email[].address string in response'),
      field('alertChannels.webhook array of object in response'),
      field('alertChannels.webhook[].url string in response'),
      field('alertChannels.webhook[].name string in response'),
      field('alertChannels.webhook[].method string in response'),
      field('alertChannels.webhook[].headers array of object in response'),
      ...keyAndValue('alertChannels.webhook[].headers', 'response'),
      field('alertChannels.webhook[].headers[].locked boolean in response'),
      field('alertChannels.webhook[].queryParameters array of object in response'),
      ...keyAndValue('alertChannels.webhook[].queryParameters', 'response'),
      field('alertChannels.webhook[].queryParameters[].locked boolean in response'),
      field('alertChannels.slack array of object in response'),
      field('alertChannels.slack[].url string in response'),
      field('alertChannels.sms array of object in response'),
      field('alertChannels.sms[].number string in response'),
      field('alertChannels.sms[].name string in response'),
    ],
  },
  {
    heading: 'Environment variable object',
    rows: 4,
    values: 0,
    requests: ['createDNSMonitor', 'createBrowserCheck', ...groupOperations],
    responses: ['createDNSMonitor', 'createBrowserCheck', ...groupOperations],
    table: [
      field('environmentVariables[].key string', { sample: 'OTHER' }),
      field('environmentVariables[].value string', {
        sample: 'other',
        differs: orNull('secrets read as null, and null keeps the stored value'),
      }),
      field('environmentVariables[].locked boolean', { sample: true }),
      // A secret does not read back, so the sample is the one that does.
      field('environmentVariables[].secret boolean', { sample: false }),
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
      field('request.url string', { sample: 'https://b.example/c' }),
      field('request.method string', { sample: 'GET' }),
      field('request.followRedirects boolean', { sample: false }),
      field('request.skipSSL boolean', { sample: true }),
      field('request.ipFamily string', { sample: 'IPv6' }),
      ...assertionRows('request.assertions', assertionSample, 'STATUS_CODE', true),
      field('degradedResponseTime number nullable', {
        default: 3000,
        minimum: 0,
        maximum: 30_000,
        sample: 1,
      }),
      field('maxResponseTime number nullable', {
        default: 5000,
        minimum: 0,
        maximum: 30_000,
        sample: 2,
      }),
      field('checkType string in response', { values: ['URL'] }),
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
      field('name string required', { sample: 'of a name' }),
      field('request object required'),
      field('heartbeat object required', {
        sample: {},
        differs: {
          required: false,
          nullable: true,
          why: 'existing clients do not send it, and read null then; STRICT_DNS_BODY requires it',
        },
      }),
      field('script string required', {
        sample: '',
        differs: {
          required: false,
          nullable: true,
          why: 'existing clients do not send it, and read null then; STRICT_DNS_BODY requires it',
        },
      }),
      field('request.query string', { sample: 'b.example' }),
      field('request.recordType string', { sample: 'MX' }),
      field('request.nameServer string', { sample: '192.0.2.1', differs: knownClients }),
      field('request.port number', {
        sample: 5353,
        differs: {
          kind: 'integer',
          nullable: true,
          why: 'a port is whole; clients send null for the default',
        },
      }),
      ...assertionRows('request.assertions', dnsAssertionSample, 'TEXT_ANSWER'),
      field('request.protocol string', { sample: 'TCP' }),
      field('scriptPath string nullable', { sample: 'a.spec.ts' }),
      field('sslCheckDomain string', { sample: 'a.example', differs: knownClients }),
      field('environmentVariables array of object nullable', {
        maxItems: 50,
        sample: variableSample,
      }),
      field('setupSnippetId number nullable', { sample: '$snippetId', differs: wholeNumber }),
      field('tearDownSnippetId number nullable', { sample: '$snippetId', differs: wholeNumber }),
      field('localSetupScript string nullable', { sample: 'let a' }),
      field('localTearDownScript string nullable', { sample: 'let b' }),
      field('degradedResponseTime number nullable', {
        default: 500,
        minimum: 0,
        maximum: 5000,
        sample: 1,
      }),
      field('maxResponseTime number nullable', {
        default: 1000,
        minimum: 0,
        maximum: 5000,
        sample: 2,
      }),
      field('checkType string in response', { values: ['DNS'] }),
    ],
  },
  {
    heading: 'Browser check',
    rows: 14,
    values: 13,
    requests: ['createBrowserCheck'],
    responses: ['createBrowserCheck'],
    further: ['playwrightConfig', 'screenshotMasks', 'snapshots'],
    table: [
      field('name string required', { sample: 'of a shop' }),
      field('script string nullable required', { sample: 'let c' }),
      field('environmentVariables array of object nullable', {
        maxItems: 50,
        sample: variableSample,
      }),
      field('scriptPath string nullable', { sample: 'a.spec.ts' }),
      field('dependencies array of object nullable', {
        sample: [{ path: 'a.ts', content: 'let d' }],
      }),
      field('dependencies[].path string', { sample: 'b.ts' }),
      field('dependencies[].content string', { sample: 'let e' }),
      field('sslCheckDomain string nullable', { sample: 'www.a.example' }),
      field('frequency integer', { default: 10, values: frequencies.slice(1), sample: 5 }),
      field('id string always in response'),
      field('alertChannels object always in response'),
      field('created_at date always in response'),
      field('updated_at date-time nullable always in response'),
      field('checkType string in response', { values: ['BROWSER'] }),
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
      'projectBindings',
      'apiCheckDefaults.headers[].locked',
      'apiCheckDefaults.queryParameters[].locked',
      'apiCheckDefaults.assertions[].property',
      'apiCheckDefaults.assertions[].regex',
      'apiCheckDefaults.assertions[].order',
    ],
    table: [
      field('name string required always', { sample: 'renamed' }),
      field('activated boolean always', { default: true, sample: false }),
      field('muted boolean', { default: false, sample: true }),
      field('tags array of string takesNull', { sample: ['shop'] }),
      field('locations array of string', {
        values: locationIds,
        sample: ['eu-west-1'],
        differs: knownClients,
      }),
      field('concurrency number always', {
        default: 3,
        minimum: 1,
        sample: 7,
        differs: wholeNumber,
      }),
      field('apiCheckDefaults object always', {
        sample: {
          url: 'https://a.example',
          headers: [{ key: 'a', value: 'b' }],
          queryParameters: [{ key: 'a', value: 'b' }],
          assertions: [assertionSample],
          basicAuth: { username: 'u', password: 'p' },
        },
        differs: knownClients,
      }),
      field('apiCheckDefaults.url string', { sample: 'https://b.example', differs: knownClients }),
      field('apiCheckDefaults.headers array of object', { sample: [{ key: 'c', value: 'd' }] }),
      ...keyAndValue('apiCheckDefaults.headers'),
      field('apiCheckDefaults.queryParameters array of object', {
        sample: [{ key: 'c', value: 'd' }],
      }),
      ...keyAndValue('apiCheckDefaults.queryParameters'),
      ...assertionRows('apiCheckDefaults.assertions', assertionSample, 'TEXT_BODY'),
      field('apiCheckDefaults.basicAuth object', {
        sample: { username: 'v', password: 'q' },
        differs: knownClients,
      }),
      field('apiCheckDefaults.basicAuth.username string', { sample: 'w' }),
      field('apiCheckDefaults.basicAuth.password string', { sample: 'r' }),
      field('browserCheckDefaults string', {
        sample: 'x',
        differs: { nullable: true, why: 'existing clients send an object or null' },
      }),
      field('runtimeId string nullable', { values: runtimeIds, sample: '2025.04' }),
      field('environmentVariables array of object nullable', {
        maxItems: 100,
        sample: variableSample,
      }),
      field('alertChannelSubscriptions array of object', {
        sample: [{ alertChannelId: '$channelId', activated: false }],
      }),
      field('alertChannelSubscriptions[].alertChannelId number', {
        sample: '$channelId',
        differs: wholeNumber,
      }),
      field('alertChannelSubscriptions[].activated boolean', { sample: true }),
      field('setupSnippetId number nullable', { sample: '$snippetId', differs: wholeNumber }),
      field('tearDownSnippetId number nullable', { sample: '$snippetId', differs: wholeNumber }),
      field('localSetupScript string nullable', { sample: 'let a' }),
      field('localTearDownScript string nullable', { sample: 'let b' }),
      field('privateLocations array of string nullable', { sample: ['$slug'] }),
      field('runParallel boolean nullable', { sample: true }),
      field('alertSettings object', { sample: alertSettingsSample, differs: knownClients }),
      field('retryStrategy object', {
        default: 'FALLBACK',
        sample: retrySample,
        differs: { nullable: true, why: 'null overrides the checks with "no retries"' },
      }),
      field('useGlobalAlertSettings boolean nullable', { sample: false }),
      field('doubleCheck boolean', { default: false, sample: true }),
      field('id number always in response'),
      field('created_at date always in response'),
      field('updated_at date-time nullable always in response'),
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
      field('[].resultType string always in response', { values: ['FINAL', 'ATTEMPT'] }),
      field('[].id string in response'),
      field('[].name string in response'),
      field('[].checkId string in response'),
      field('[].hasFailures boolean in response'),
      field('[].hasErrors boolean in response'),
      field('[].isDegraded boolean nullable in response'),
      field('[].overMaxResponseTime boolean nullable in response'),
      field('[].runLocation string in response'),
      field('[].startedAt date-time nullable in response'),
      field('[].stoppedAt date-time nullable in response'),
      field('[].created_at date-time in response'),
      field('[].responseTime number in response'),
      field('[].apiCheckResult object in response', {
        differs: orNull('null for scripted checks, as the others are for monitors'),
      }),
      field('[].apiCheckResult.assertions array of object in response'),
      field('[].apiCheckResult.assertions[].source string in response'),
      field('[].apiCheckResult.assertions[].target string in response'),
      field('[].apiCheckResult.request object in response'),
      ...['method', 'url', 'data', 'headers', 'params'].map((name): FieldRow => ({
        at: `[].apiCheckResult.request.${name}`,
        kind: 'string',
        only: 'response',
        proof: {
          file: here,
          test: 'the result of a URL monitor has every field of a request and a response',
        },
      })),
      field('[].apiCheckResult.response object in response', {
        differs: orNull('null when nothing came back'),
      }),
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
      field('[].apiCheckResult.requestError string in response', {
        differs: orNull('null when the request went well'),
      }),
      field('[].apiCheckResult.jobLog object in response'),
      field('[].apiCheckResult.jobAssets array of string in response', {
        differs: orNull('null without assets'),
      }),
      field('[].apiCheckResult.pcapDataUrl string in response', {
        differs: orNull('null without a capture'),
      }),
      field('[].browserCheckResult object in response', {
        differs: orNull('null for checks of every other type, as in the shown sample'),
      }),
      field('[].multiStepCheckResult object in response', {
        differs: orNull('null for checks of every other type, as in the shown sample'),
      }),
      field('[].agenticCheckResult object in response', {
        differs: orNull('null for checks of every other type'),
      }),
      field('[].agenticCheckResult.summary string in response'),
      field('[].agenticCheckResult.prompt string in response'),
      field('[].agenticCheckResult.assertions array of object in response'),
      field('[].agenticCheckResult.assertions[].condition string in response'),
      field('[].agenticCheckResult.assertions[].passed boolean in response'),
      field('[].agenticCheckResult.assertions[].actual string in response'),
      field('[].agenticCheckResult.assertions[].expected string in response'),
      field('[].agenticCheckResult.suggestions array of object in response'),
      field('[].agenticCheckResult.suggestions[].summary string in response'),
      field('[].agenticCheckResult.suggestions[].prompt string in response'),
      field('[].agenticCheckResult.suggestions[].secrets array of string in response'),
      field('[].agenticCheckResult.suggestions[].category string in response'),
      field('[].agenticCheckResult.steps array of object in response'),
      field('[].agenticCheckResult.steps[].type string in response'),
      field('[].agenticCheckResult.steps[].name string in response'),
      field('[].agenticCheckResult.steps[].input object in response', {
        proof: { file: here, test: 'what an agentic step took and gave is free-form' },
      }),
      field('[].agenticCheckResult.steps[].output object in response', {
        proof: { file: here, test: 'what an agentic step took and gave is free-form' },
      }),
      field('[].agenticCheckResult.steps[].timestamp date-time in response'),
      field('[].agenticCheckResult.steps[].sequenceNumber number in response'),
      field('[].agenticCheckResult.errors array of object in response'),
      field('[].agenticCheckResult.artifactManifest object in response'),
      field('[].checkRunId number in response'),
      field('[].attempts number in response'),
      field('[].sequenceId string nullable in response'),
      field('[].errorGroupIds array of string nullable in response'),
    ],
  },
  {
    heading: 'Check status',
    rows: 12,
    values: 0,
    responses: ['getCheckStatus'],
    further: ['unservedLocations'],
    table: [
      field('name string always in response'),
      field('checkId string in response'),
      field('hasFailures boolean in response'),
      field('hasErrors boolean in response'),
      field('isDegraded boolean in response'),
      field('longestRun number nullable in response'),
      field('shortestRun number nullable in response'),
      field('lastRunLocation string nullable in response'),
      field('lastCheckRunId string nullable in response'),
      field('sslDaysRemaining number nullable in response'),
      field('created_at date in response'),
      field('updated_at date-time nullable in response'),
    ],
  },
  {
    heading: 'Analytics response',
    rows: 17,
    values: 10,
    responses: analyticsOperations,
    further: ['truncated', 'series[].'],
    table: [
      field('checkId string in response'),
      field('name string in response'),
      field('checkType string in response', { values: checkTypeNames }),
      field('activated boolean in response'),
      field('muted boolean in response'),
      field('frequency number in response'),
      field('from date in response'),
      field('to date in response'),
      field('tags array of string in response'),
      field('series array of string in response', {
        differs: {
          of: 'object',
          why: 'a series of text could carry no numbers; the field gives objects',
        },
      }),
      field('pagination object in response'),
      field('pagination.page number in response'),
      field('pagination.limit number in response'),
      field('metadata object in response'),
      field('metadata.*.unit string in response'),
      field('metadata.*.label string in response'),
      field('metadata.*.aggregation string in response'),
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
      ...['logoDark', 'version', 'projectBindings'],
    ],
    table: [
      field('id string always in response'),
      field('name string required always', { sample: 'renamed' }),
      field('url string required always', { sample: 'other-$unique' }),
      field('cards array of object required', {
        sample: [{ name: 'a', services: [{ id: '$serviceId' }] }],
      }),
      field('cards[].name string', { sample: 'b' }),
      field('cards[].id string isOurs', { sample: '$cardId' }),
      field('cards[].statusPageId string in request', {
        sample: '$pageId',
        differs: orNull('clients of the field do not know it before the first creation'),
      }),
      field('cards[].services array of object', { sample: [{ id: '$serviceId' }] }),
      field('cards[].services[].id string', { sample: '$serviceId' }),
      field('cards[].created_at date in response'),
      field('cards[].updated_at date in response', {
        differs: orNull('null before the first change'),
      }),
      field('cards[].services[].name string in response'),
      field('cards[].services[].accountId string in response'),
      field('cards[].services[].created_at date in response'),
      field('cards[].services[].updated_at date in response', {
        differs: orNull('null before the first change'),
      }),
      field('description string nullable', { maxLength: 500, sample: 'of the shop' }),
      field('customDomain string nullable', { sample: 'status-$unique.a.example' }),
      field('themeColors object', {
        sample: { light: themeSample, dark: themeSample },
        differs: knownClients,
      }),
      field('themeColors.light object', { sample: themeSample }),
      field('themeColors.dark object', { sample: themeSample }),
      ...['light', 'dark'].flatMap((theme) =>
        themeColors.map((color): FieldRow => ({
          at: `themeColors.${theme}.${color}`,
          kind: 'string',
          sample: '#FFFFFF',
        })),
      ),
      field('logo string nullable', { sample: 'https://a.example/logo.svg' }),
      field('redirectTo string nullable', { sample: 'https://a.example' }),
      field('favicon string nullable', { sample: 'https://a.example/favicon.ico' }),
      field('defaultTheme string', { values: ['LIGHT', 'DARK', 'AUTO'], sample: 'DARK' }),
      field('whiteLabel boolean in response'),
      field('isPrivate boolean in response'),
    ],
  },
  {
    heading: 'Status page subscription',
    rows: 6,
    values: 3,
    responses: ['listStatusPageSubscriptions'],
    table: [
      field('[].id string always in response'),
      field('[].type string always in response', {
        values: ['EMAIL'],
        differs: { values: ['EMAIL', 'WEBHOOK'], why: 'programs subscribe too' },
      }),
      field('[].address string always in response'),
      field('[].status string always in response', { values: ['PENDING', 'VERIFIED'] }),
      field('[].created_at date always in response'),
      field('[].updated_at date always in response'),
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
      field('name string required always', { maxLength: 255, sample: 'renamed' }),
      field('severity string required always', { values: severities, sample: 'MINOR' }),
      field('services array of object required always', {
        minItems: 1,
        sample: [{ id: '$serviceId' }],
      }),
      field('services[].name string in response'),
      field('services[].id string', { sample: '$serviceId' }),
      field('services[].accountId string in response'),
      field('services[].created_at date in response'),
      field('services[].updated_at date in response', {
        differs: orNull('null before the first change'),
      }),
      field('id string always in response'),
      field('incidentUpdates array of object always in response'),
      field('incidentUpdates[].description string in response'),
      field('incidentUpdates[].id string in response'),
      field('incidentUpdates[].created_at date in response'),
      field('incidentUpdates[].status string in response', { values: incidentStatuses }),
      field('incidentUpdates[].publicIncidentUpdateDate date-time in response'),
      field('incidentUpdates[].notifySubscribers boolean in response'),
      field('lastUpdateStatus string always in response', { values: incidentStatuses }),
      field('created_at date always in response'),
      field('updated_at date in response', { differs: orNull('null before the first change') }),
      field('duration integer nullable in response'),
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
      ...['nextOccurrences', 'warnings', 'ownerAlertChannelIds', 'projectBindings'],
      ...['pauseScope', 'silenceScope'].flatMap((scope) => [
        scope,
        ...['checkIds', 'groupIds', 'serviceIds', 'statusPageIds'].map((ids) => `${scope}.${ids}`),
      ]),
      'statusPageVisibility',
      ...['enabled', 'severity', 'affectAllServices', 'showAffectedServices', 'statusPageIds']
        .concat('serviceIds', 'notifyOnStart', 'notifyOnEnd', 'reminderMinutesBefore')
        .concat('suppressAutoIncidents', 'autoStart', 'autoEnd')
        .map((name) => `statusPageVisibility.${name}`),
    ],
    table: [
      field('id number always in response'),
      field('name string required always', { sample: 'renamed' }),
      field('startsAt date required always', { sample: '2026-12-01T01:00:00.000Z' }),
      field('endsAt date required always', { sample: '2026-12-01T04:00:00.000Z' }),
      field('repeatUnit string required always', {
        sample: 'WEEK',
        differs: {
          ...orNull('how existing clients say that a window does not repeat'),
          required: false,
        },
      }),
      field('tags array of string', { sample: ['shop'] }),
      field('repeatInterval number nullable', {
        minimum: 1,
        sample: 2,
        differs: { kind: 'integer', why: 'a share of a week is nothing to repeat after' },
      }),
      field('repeatEndsAt date nullable', { sample: '2027-12-01T00:00:00.000Z' }),
      field('created_at date always in response'),
      field('updated_at date nullable always in response'),
    ],
  },
  {
    heading: 'Account entitlements',
    rows: 29,
    values: 0,
    responses: ['getMyEntitlements'],
    table: [
      field('plan string always in response'),
      field('planDisplayName string in response'),
      field('locations object always in response'),
      field('locations.all array of object in response'),
      field('locations.all[].id string in response'),
      field('locations.all[].name string in response'),
      field('locations.all[].available boolean in response'),
      field('locations.maxPerCheck number in response'),
      field('entitlements array of object always in response'),
      field('entitlements[].key string in response'),
      field('entitlements[].name string in response'),
      field('entitlements[].description string in response'),
      field('entitlements[].type string in response'),
      field('entitlements[].enabled boolean in response'),
      field('entitlements[].quantity number in response'),
      field('entitlements[].requiredPlan string in response'),
      field('entitlements[].requiredPlanDisplayName string in response'),
      field('entitlements[].requiredAddon object in response'),
      ...['name', 'displayName', 'tier', 'tierDisplayName'].map((name): FieldRow => ({
        at: `entitlements[].requiredAddon.${name}`,
        kind: 'string',
        only: 'response',
      })),
      field('addons object in response'),
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
      field('id number always in response'),
      field('token string always in response'),
      field('created_at date always in response'),
      field('checkId string always in response'),
      field('called_at date nullable in response'),
      field('updated_at date nullable in response'),
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
      field('host string required always', { sample: '*.b.example' }),
      field('cert string required always', { sample: '$cert' }),
      field('id string always in response'),
      field('ca string nullable', { sample: '$cert' }),
      field('created_at date-time in response'),
    ],
  },
  {
    heading: 'Private location key',
    rows: 5,
    values: 0,
    responses: ['createPrivateLocationKey'],
    table: [
      field('id string always in response'),
      field('rawKey string always in response'),
      field('maskedKey string always in response'),
      field('created_at date always in response'),
      field('updated_at date nullable in response'),
    ],
  },
  {
    heading: 'Alert notification record',
    rows: 11,
    values: 21,
    responses: ['listAlertNotifications'],
    table: [
      field('[].id string in response'),
      field('[].type string in response', { values: channelTypes }),
      field('[].status string in response', { values: notificationStatuses }),
      field('[].alertConfig object in response'),
      field('[].notificationResult string in response', {
        differs: orNull('null while it is being sent'),
      }),
      field('[].timestamp date-time in response'),
      field('[].checkType string in response', { values: checkTypeNames }),
      field('[].checkId string in response'),
      field('[].checkAlertId string in response', {
        differs: orNull('null for a notification without an alert'),
      }),
      field('[].alertChannelId number in response'),
      field('[].checkResultId string in response', {
        differs: orNull('null for an alert without a result'),
      }),
    ],
  },
  {
    heading: 'Error group',
    rows: 9,
    values: 0,
    responses: ['getErrorGroup', 'updateErrorGroup'],
    further: ['rootCauseAnalyses[].'],
    table: [
      field('id string always in response'),
      field('checkId string always in response'),
      field('errorHash string always in response'),
      field('rawErrorMessage string nullable always in response'),
      field('cleanedErrorMessage string always in response'),
      field('firstSeen date always in response'),
      field('lastSeen date always in response'),
      field('archivedUntilNextEvent boolean always in response'),
      field('rootCauseAnalyses array of object in response'),
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
      shown(
        'check and group, activated: true runs, false does not',
        windows,
        'a check that is not activated is given to no agent',
      ),
      shown(
        'error group, archivedUntilNextEvent is set by its update',
        here,
        'an error group is read and archived',
      ),
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
      ...shownBy(here, {
        '201 for creations':
          'every creation of the specification is declared with 201, the deletion with 204, the rest with 200',
        'Successful for the others':
          'every creation of the specification is declared with 201, the deletion with 204, the rest with 200',
      }),
      shown(
        '204 with no body for the delete',
        'test/control-plane/dashboards.test.ts',
        'updates of a dashboard incident are added, reworded and deleted',
      ),
      ...['updateURLMonitor', 'createDNSMonitor', 'createBrowserCheck', 'updateCheckGroup'].map(
        (operation): ParameterRow => ({
          parameter: 'autoAssignAlerts',
          kind: 'boolean',
          default: true,
          operations: [operation],
        }),
      ),
      shown(
        'autoAssignAlerts subscribes a new check to all channels',
        here,
        'a new check is subscribed to all channels unless autoAssignAlerts is false',
      ),
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
      field('archiveForEver boolean in request', { sample: true }),
      field('archivedUntilNextEvent boolean in request', { sample: true }),
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
      ...shownBy(agentTests, {
        'GET /-/readiness is 200 when ready':
          'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        'GET /-/readiness is 503 during shutdown':
          'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        'GET /-/liveness is 200':
          'SIGTERM lets a running check finish, keeps liveness and ends with 0',
        'GET /health is 200': 'SIGTERM lets a running check finish, keeps liveness and ends with 0',
      }),
      ...shownBy(here, {
        'port 8081 by default':
          'the health port of an agent is 8081 unless AGENT_HEALTH_PORT says otherwise',
        AGENT_HEALTH_PORT:
          'the health port of an agent is 8081 unless AGENT_HEALTH_PORT says otherwise',
      }),
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
      shown(
        '4: rawKey once, then maskedKey only',
        'test/control-plane/private-locations.test.ts',
        'a key is shown raw once, kept as a hash, and dead when it is revoked',
      ),
    ],
  },
  {
    heading: 'Events',
    rows: 5,
    values: 7,
    table: [
      shown(
        '1: notifications on failure and recovery, unless muted',
        'test/control-plane/alerting.test.ts',
        'a check notifies when it fails and when it recovers, unless it is muted',
      ),
      { says: '1: channel types', schema: 'AlertChannelType', values: channelTypes },
      shown(
        '2: each sent notification is recorded',
        'test/control-plane/notifications/outbox-sender.test.ts',
        'a receiver that recovers gets it once, and the record says how often it was tried',
      ),
      shown(
        '3: triggerIncident creates and resolves an incident',
        'test/control-plane/incidents/incident-automation.test.ts',
        'an alert opens one incident, the recovery resolves it, the next alert opens another',
      ),
      shown(
        '4: a webhook sends its method, url, headers and query parameters',
        'test/control-plane/notifications/channels/webhook.test.ts',
        'method, address, headers, query and body are completed, with the variables of account, group and check',
      ),
    ],
  },
  {
    heading: 'Errors',
    rows: 5,
    values: 0,
    table: [
      shown(
        '1: statusCode, error, message, attributes',
        here,
        'every refusal has the four fields of an error',
      ),
      {
        says: '2: 401 Unauthorized',
        send: ['GET', '/v1/checks'],
        headers: { authorization: 'Bearer nonsense-nonsense' },
        status: 401,
        body: { statusCode: 401, error: 'Unauthorized' },
      },
      shown(
        '3: failures stand in the result',
        'test/agent/worker/attempt.test.ts',
        'what breaks on our side is an error, never a failure',
      ),
      {
        says: '4: the check status may be null',
        send: ['GET', '/v1/check-statuses/$urlId'],
        status: 200,
        text: /^null$/,
      },
      shown(
        '5: the alert notification list is rate limited',
        windows,
        'the alert notification list takes five requests in ten seconds',
      ),
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
      ...shownBy(windows, {
        'window of check results': 'check results: the last six hours, or six hours after from',
        'window of alert notifications': 'alert notifications are listed in windows of 24 hours',
        'request rate of the alert notification list':
          'the alert notification list takes five requests in ten seconds',
      }),
      shown(
        'artifact upload size',
        'test/control-plane/results/artifacts/uploads.test.ts',
        'exactly 157,286,400 bytes pass, chunked',
      ),
    ],
  },
  {
    heading: 'Versioning',
    rows: 19,
    values: 7,
    table: [
      ...shownBy(here, {
        '1: /v1, and /v2 for check groups': 'paths carry a major version',
        '2: doubleCheck is deprecated': 'doubleCheck is published as deprecated',
      }),
      { says: '3: runtime identifiers', schema: 'RuntimeId', values: runtimeIds },
      shown(
        'agent 7.0.2: a migration image with several runtimes',
        imageTests,
        'the full image has 2026.04 and 2025.04, the migration image 2024.09 too',
      ),
      shown(
        'agent 7.0.1: ICMP without root',
        'test/agent/net/icmp/ping.test.ts',
        'many pings at once each get their own replies',
      ),
      shown(
        'agent 7.0.0: uptime image, EXTERNAL_OBSERVABILITY',
        'test/scripts/images/uptime-image.test.ts',
        'with these packages alone the agent serves monitors, offers nothing else, and stops',
      ),
      shown(
        'agent 6.3.2: artifacts of up to 150 MB',
        'test/control-plane/results/artifacts/uploads.test.ts',
        'exactly 157,286,400 bytes pass, chunked',
      ),
      shown(
        'agent 6.3.1: health probes',
        agentTests,
        'SIGTERM lets a running check finish, keeps liveness and ends with 0',
      ),
      ...shownBy(imageTests, {
        'agent 6.3.0: dev image':
          'the dev image adds compilers and package managers to the full one',
        'agent 6.2.0: no devDependencies in the image':
          'no image installs devDependencies: one script installs packages, and omits them',
      }),
      shown(
        'agent 6.1.7: the Authorization header is scrubbed',
        'test/agent/runners/multi-step.test.ts',
        'requests stand under the steps that made them, with their times and without credentials',
      ),
      shown(
        'agent 6.1.6: variables of Playwright suites',
        'test/agent/runners/playwright/suite-environment.test.ts',
        'CI is set for sessions, deployments and the command line, and never otherwise',
      ),
      ...shownBy('test/agent/runners/playwright/run-playwright.test.ts', {
        'agent 6.1.5: Playwright metrics':
          'a suite runs with the browser of this machine, every test is listed, and no file of the machine is handed out',
        'agent 6.1.4: reporting':
          'a suite without tests, with a broken configuration or command fails and says so',
      }),
      ...shownBy('test/e2e/code.test.ts', {
        'agent 6.1.3: central scrubbing of secrets':
          'checks of every type run, and no secret comes out in any encoding',
        'agent 6.1.2: SERVICE_SECRET_ variables':
          'checks of every type run, and no secret comes out in any encoding',
      }),
      shown(
        'agent 6.1.1: proxy variables during installation',
        'test/agent/runners/playwright/install-suite.test.ts',
        'an install command of the check outranks lock files, and sees proxies and variables',
      ),
      shown(
        'agent 6.1.0: secrets found at run time',
        'test/agent/runners/browser.test.ts',
        'a page that never stops ends at the deadline; the next run counts what goes wrong in its pages, answers a dialog and has its secrets learned',
      ),
      shown(
        'agent 6.0.7: networking',
        'test/agent/worker/submit-loop.test.ts',
        'what is refused for itself is set aside, so that others get through',
      ),
    ],
  },
];
