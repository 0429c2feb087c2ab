/** DNS monitor. Spec: DNS monitor (`checkType` DNS). */
import { z } from 'zod';
import { assertionSchema, comparison, maxAssertions, numericComparisons } from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import {
  checkBodies,
  agentMonitorTraits,
  textOrNull,
  type AddressReading,
  type AgentCheckType,
} from './check-type.ts';
import { metrics, responseTimeAnalytics } from './metric.ts';
import { readText } from './parsed-text.ts';

/** Record types. The first seven are common in the field; the others are additions. spec: open */
export const recordType = z
  .enum([
    'A',
    'AAAA',
    'CNAME',
    'MX',
    'TXT',
    'SOA',
    'NS',
    'HTTPS',
    'SRV',
    'PTR',
    'CAA',
    'DS',
    'DNSKEY',
    'TLSA',
    'NAPTR',
  ])
  .meta({ id: 'RecordType' });

export const dnsRequest = z
  .object({
    query: z.string().min(1).max(253),
    recordType,
    nameServer: z.string().max(100).nullable().exactOptional(),
    port: z.int().min(1).max(65_535).nullable().exactOptional(),
    protocol: z.enum(['UDP', 'TCP']).default('UDP'),
    assertions: z
      .array(
        assertionSchema([
          { source: 'RESPONSE_TIME', comparisons: numericComparisons },
          { source: 'RESPONSE_CODE', comparisons: comparison.options as ['EQUALS'] },
          { source: 'TEXT_ANSWER', comparisons: comparison.options as ['EQUALS'] },
          { source: 'JSON_ANSWER', comparisons: comparison.options as ['EQUALS'] },
        ]),
      )
      .max(maxAssertions)
      .default([]),
  })
  .meta({ id: 'DnsRequest' });
export type DnsRequest = z.output<typeof dnsRequest>;

const bodies = checkBodies('DNS', {
  ...scheduledCheckFields,
  ...responseTimeLimits(500, 1000, 5000),
  ...inheritedFields,
  request: dnsRequest,
});

const requiredByTheSpecification = {
  heartbeat: z
    .looseObject({})
    .meta({ description: 'Required, but without meaning for DNS', example: {} }),
  script: z.string().max(262_144).meta({ description: 'Required, but without meaning for DNS' }),
};

/** `dns://[server[:port]/]name[?type=MX]`. */
function readAddress(address: string): AddressReading | null {
  if (!/^dns:\/\//i.test(address)) return null;
  const match = /^dns:\/\/(?:([^/?]+)\/)?([^/?]+)(?:\?(.*))?$/.exec(address);
  if (match === null) return { problem: 'the name is missing' };
  const [, server, query, search = ''] = match;
  const type = new URLSearchParams(search).get('type') ?? 'A';
  const parsed = recordType.safeParse(type.toUpperCase());
  if (!parsed.success) return { problem: `there is no record type ${type}` };
  const nameServer = server === undefined ? {} : { nameServer: server };
  return { request: { query, recordType: parsed.data, ...nameServer } };
}

export const dnsMonitor: AgentCheckType<DnsRequest> = {
  pathPart: 'dns',
  title: 'DNS monitor',
  label: 'DNS',
  target: '{request.recordType} {request.query}',
  sample: { request: { query: 'a.example', recordType: 'A' } },
  ...bodies,
  strictCreate: bodies.create.extend(requiredByTheSpecification),
  ...agentMonitorTraits,
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'dns', id: 'getDnsAnalytics' },
    metrics: [metrics.total],
    chart: { time: metrics.total, parts: [], isStacked: false },
  },
  address: { form: 'dns://[server[:port]/]name[?type=MX]', read: readAddress },
  trace({ request, response }) {
    const times = (response?.['timings'] ?? {}) as Record<string, unknown>;
    return {
      attributes: {
        'dns.question.name': textOrNull(request['query']),
        'server.address': textOrNull(request['nameServer']),
        'network.transport': textOrNull(request['protocol'])?.toLowerCase() ?? null,
      },
      phases: [['query', times['sent'], times['answered']]],
    };
  },
  judging: {
    hasResponseTimeLimits: true,
    readSource(assertion, measurement, extract) {
      const response = measurement.response;
      if (assertion.source === 'RESPONSE_TIME') {
        return { actual: measurement.responseTime ?? undefined, isList: false };
      }
      if (assertion.source === 'RESPONSE_CODE') {
        return { actual: response?.['returnCode'], isList: false };
      }
      if (assertion.source === 'JSON_ANSWER') {
        const values = extract.byJsonPath(response?.['jsonAnswer'], assertion.property || '$');
        return { actual: values, isList: true };
      }
      return readText(
        assertion,
        measurement,
        { text: response?.['answer'], what: 'answer' },
        extract,
      );
    },
    /** NOERROR passes and any other code fails, unless an assertion checks the code. */
    ownVerdict(measurement, definition) {
      const code = measurement.response?.['returnCode'];
      const isJudgedByAssertion = definition.request.assertions.some(
        (assertion) => assertion.source === 'RESPONSE_CODE',
      );
      const isErrorCode = typeof code === 'string' && code !== 'NOERROR' && !isJudgedByAssertion;
      return {
        failed: isErrorCode ? `the name server answered ${code}` : null,
        degraded: null,
        isInvertible: false,
      };
    },
  },
};
