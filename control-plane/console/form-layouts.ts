/** Which field stands where in a form: data alone. `request.url` names a field within a group. */

export interface Section {
  title: string;
  fields: string[];
  /** Closed until it is opened. */
  isFolded?: boolean;
}

const words = (text: string) => text.trim().split(/\s+/);
const section = (title: string, fields: string): Section => ({ title, fields: words(fields) });

/** What a first monitor needs, by type: at most three fields. Everything else has a default. */
const firstFields: Readonly<Record<string, string>> = {
  URL: 'request.url name privateLocations',
  API: 'request.url name privateLocations',
  TCP: 'request.hostname request.port name',
  ICMP: 'request.hostname name privateLocations',
  BROWSER: 'script name privateLocations',
  DNS: 'request.query request.recordType name',
  SSL: 'request.sslConfig.hostname request.sslConfig.port name',
  GRPC: 'request.url request.port name',
  TRACEROUTE: 'request.url name privateLocations',
  HEARTBEAT: 'name heartbeat.period heartbeat.periodUnit',
  MULTI_STEP: 'script name privateLocations',
  PLAYWRIGHT: 'codeBundlePath testCommand name',
  AGENTIC: 'prompt name privateLocations',
};

/**
 * What a new one begins with, where the default of the API alone would be refused, or where leaving it out would leave
 * what is stored.
 */
export const beginnings: Readonly<Record<string, unknown>> = {
  'heartbeat.period': 1,
  'heartbeat.grace': 1,
  'heartbeat.graceUnit': 'hours',
  'request.grpcConfig.mode': 'HEALTH',
  'alertSettings.escalationPolicyId': null,
};

/** The rest of a check, in the order in which people need it. A form has the groups that it has fields of. */
const advancedOfCheck: readonly Section[] = [
  section(
    'Request',
    `request.method request.bodyType request.body request.headers request.queryParameters
    request.basicAuth request.followRedirects request.grpcConfig.mode request.grpcConfig.service
    request.grpcConfig.method request.grpcConfig.message request.grpcConfig.metadata
    request.grpcConfig.serviceDefinition request.grpcConfig.protoContent
    request.grpcConfig.storeResponseBody request.grpcConfig.authority request.grpcConfig.tls
    request.data request.startTls request.nameServer request.protocol request.port
    request.httpVersion request.ipFamily request.skipSSL`,
  ),
  section(
    'Heartbeat',
    'heartbeat.cron heartbeat.timezone heartbeat.grace heartbeat.graceUnit heartbeat.pingToken',
  ),
  section(
    'Suite',
    'shards playwrightVersion workingDir installCommand browsers engine engineVersion quarantinedTests',
  ),
  section(
    'Pass criteria',
    `request.assertions degradedResponseTime maxResponseTime degradedPacketLossThreshold
    maxPacketLossThreshold request.sslConfig.alertDaysBeforeExpiry
    request.sslConfig.securityBaseline shouldFail`,
  ),
  section('Locations', 'privateLocations locations runParallel'),
  section('Schedule', 'frequency frequencyOffset activated'),
  section('Retries', 'retryStrategy'),
  section('Alerts', 'alertChannelSubscriptions useGlobalAlertSettings alertSettings muted'),
  section('Status page', 'triggerIncident'),
  section(
    'Scripts and variables',
    `environmentVariables setupSnippetId localSetupScript tearDownSnippetId localTearDownScript
    dependencies runtimeId sslCheckDomain agentRuntime screenshotMasks`,
  ),
  section('Tags and description', 'tags groupId groupOrder description intent aiAutoRepairEnabled'),
];

/** The sections of the other forms. What they leave out stands under Advanced. */
const sections: Readonly<Record<string, Section[]>> = {
  group: [
    section('', 'name tags privateLocations'),
    section('Alerts', 'alertChannelSubscriptions alertSettings muted'),
  ],
  account: [section('', 'name runtimeId'), section('Alerts', 'alertSettings')],
  variable: [section('', 'key value secret locked')],
  policy: [section('', 'name steps repeats rotation')],
  page: [section('', 'name url description cards')],
  window: [
    section('', 'name startsAt endsAt timezone tags pauseAllChecks pauseScope description'),
    section('Alerts', 'silenceAlertsTags silenceAllAlerts silenceScope'),
    section('Status pages', 'statusPageVisibility ownerAlertChannelIds'),
    section('Repeat', 'repeatUnit repeatInterval repeatEndsAt'),
  ],
};

const rest = (fields: string[], listed: readonly Section[]) =>
  fields.filter((field) => !listed.some(({ fields: named }) => named.includes(field)));

const present = (all: readonly Section[], fields: string[]) =>
  all
    .map((section) => ({
      ...section,
      fields: section.fields.filter((one) => fields.includes(one)),
    }))
    .filter(({ fields: named }) => named.length > 0);

/** `fields` are the paths of all fields of the form; none of them is lost. */
export function sectionsOf(name: string, type: string | undefined, fields: string[]): Section[] {
  if (type === undefined) {
    const listed = present(sections[name] ?? [], fields);
    const others = rest(fields, listed);
    if (listed.length === 0) return [{ title: '', fields }];
    return others.length === 0
      ? listed
      : [...listed, { title: 'Advanced', fields: others, isFolded: true }];
  }
  const first = section('', firstFields[type] ?? 'name');
  const left = rest(fields, [first]);
  const unlisted = rest(left, advancedOfCheck);
  const groups = advancedOfCheck.map((group, index) =>
    index === 0 ? { ...group, fields: [...group.fields, ...unlisted] } : group,
  );
  return [first, ...present(groups, left).map((group) => ({ ...group, isFolded: true }))];
}
