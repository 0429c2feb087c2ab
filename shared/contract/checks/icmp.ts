/** ICMP monitor: echo requests, judged by packet loss and latency. */
import { z } from 'zod';
import {
  assertionSchema,
  maxAssertions,
  numericComparisons,
  textComparisons,
} from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { ipFamily } from '../primitives.ts';
import {
  checkBodies,
  agentMonitorTraits,
  numberOrNull,
  textOrNull,
  type AgentCheckType,
  type Measurement,
  familyOf,
  zoned,
} from './check-type.ts';
import { figureOf, metrics, responseTimeAnalytics } from './metric.ts';

export const icmpRequest = z
  .object({
    hostname: z
      .string()
      .min(1)
      .max(2048)
      .regex(/^[^\s/]+$/, 'must be a host name or an address, without scheme or path')
      .meta({ example: 'gateway.internal' }),
    ipFamily: ipFamily
      .nullable()
      .default('IPv4')
      .transform((family) => family ?? 'IPv4'),
    pingCount: z.int().min(1).max(50).default(10),
    assertions: z
      .array(
        assertionSchema([
          {
            source: 'LATENCY',
            comparisons: numericComparisons,
            properties: ['avg', 'min', 'max', 'stdDev'],
          },
          {
            source: 'JSON_RESPONSE',
            comparisons: [...textComparisons, 'IS_NULL', 'NOT_NULL'],
          },
        ]),
      )
      .max(maxAssertions)
      .default([]),
  })
  .meta({ id: 'IcmpRequest' });
export type IcmpRequest = z.output<typeof icmpRequest>;

/** Latencies without the delay of the agent. A reply that is missing after seconds is lost without it, too. */
function withoutDelay(measurement: Measurement, ms: number): Measurement {
  const { response } = measurement;
  const latency = response?.['latency'] as Record<string, number> | null | undefined;
  // Without any reply, the delay explains nothing.
  if (response === null || latency == null) return measurement;
  const sooner = Object.entries(latency).map(([name, value]) => [name, Math.max(0, value - ms)]);
  return {
    ...measurement,
    response: { ...response, latency: Object.fromEntries(sooner) },
  };
}

const packetLossThreshold = (percent: number) =>
  z.number().gt(0).max(100).nullable().default(percent);

const { latencyAvg, latencyMax, latencyMin, latencyStdDev, packetLoss } = metrics;

export const icmpMonitor: AgentCheckType<IcmpRequest> = {
  pathPart: 'icmp',
  title: 'ICMP monitor',
  label: 'ICMP',
  target: '{request.hostname}',
  hostField: 'request.hostname',
  sample: { request: { hostname: 'a.example', pingCount: 1 } },
  ...checkBodies('ICMP', {
    ...scheduledCheckFields,
    ...responseTimeLimits(10_000, 20_000, 300_000),
    ...inheritedFields,
    degradedPacketLossThreshold: packetLossThreshold(10),
    maxPacketLossThreshold: packetLossThreshold(20),
    request: icmpRequest,
  }),
  ...agentMonitorTraits,
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'icmp', id: 'getIcmpAnalytics' },
    metrics: [packetLoss, latencyMin, latencyMax, latencyAvg, latencyStdDev],
    figures: [
      figureOf(latencyAvg, 'latency'),
      { prefix: 'packetLoss', base: packetLoss, statistics: ['avg', 'p95', 'p99'] },
    ],
    chart: { time: latencyAvg, parts: [packetLoss], isStacked: false },
  },
  degradedBy: 'own-rules',
  sockets: 'icmp',
  address: {
    form: 'icmp://host',
    read(address) {
      const [, host] = /^icmp:\/\/\[?([^\]/]+)\]?\/?$/i.exec(address) ?? [];
      if (host === undefined) return null;
      return { request: { hostname: zoned(host), ...familyOf(host), pingCount: 4 } };
    },
  },
  trace({ request, response, durationMs }) {
    const resolved = numberOrNull(response?.['dnsResolutionTime']);
    return {
      attributes: { 'server.address': textOrNull(request['hostname']) },
      phases: [
        ['dns', 0, resolved],
        ['echo', resolved, response === null ? null : durationMs],
      ],
    };
  },
  judging: {
    hasResponseTimeLimits: false,
    sooner: withoutDelay,
    readSource(assertion, measurement, extract) {
      const response = measurement.response;
      if (assertion.source === 'LATENCY') {
        const latency = response?.['latency'] as Record<string, unknown> | undefined;
        return { actual: latency?.[assertion.property], isList: false };
      }
      const values = extract.byJsonPath(response, assertion.property || '$');
      return { actual: values, isList: true };
    },
    /** Thresholds are inclusive: a loss of 20 % fails a threshold of 20. */
    ownVerdict(measurement, definition) {
      const loss = measurement.response?.['packetLoss'];
      const reaches = (threshold: unknown) =>
        typeof loss === 'number' && typeof threshold === 'number' && loss >= threshold;
      const failed = reaches(definition['maxPacketLossThreshold']);
      return {
        failed: failed ? `packet loss of ${String(loss)} % reaches the maximum` : null,
        degraded:
          !failed && reaches(definition['degradedPacketLossThreshold'])
            ? `packet loss of ${String(loss)} % reaches the degraded threshold`
            : null,
        isInvertible: false,
      };
    },
  },
};
