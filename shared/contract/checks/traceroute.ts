/** Traceroute monitor: the route to a host, judged by its last hop. spec: open */
import { z } from 'zod';
import {
  assertionSchema,
  maxAssertions,
  numberProblem,
  numericComparisons,
  type Assertion,
} from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { bareHost, ipFamily } from '../primitives.ts';
import {
  agentMonitorTraits,
  checkBodies,
  hostAndPort,
  limitsInOrder,
  textOrNull,
  type AgentCheckType,
  type Measurement,
  type SourceReading,
  familyOf,
} from './check-type.ts';
import { figureOf, metrics, responseTimeAnalytics, type MetricDefinition } from './metric.ts';

const defaultPorts = { TCP: 443, UDP: 33_434 } as const;
const compared = ['EQUALS', 'GREATER_THAN', 'LESS_THAN'] as const;

const assertion = assertionSchema([
  {
    source: 'RESPONSE_TIME',
    comparisons: numericComparisons,
    properties: ['avg', 'min', 'max', 'stdDev'],
    targetProblem: numberProblem,
  },
  { source: 'HOP_COUNT', comparisons: compared, targetProblem: numberProblem },
  { source: 'PACKET_LOSS', comparisons: compared, targetProblem: numberProblem },
]);

/** Defaults of the probing. */
const defaults = { maxHops: 30, maxUnknownHops: 15 } as const;

export const tracerouteRequest = z
  .object({
    /** A host name or an IP address, despite the name. */
    url: bareHost(253).meta({ example: 'gateway.internal' }),
    ipFamily: ipFamily.default('IPv4'),
    protocol: z.enum(['TCP', 'UDP', 'ICMP']).default('TCP'),
    /** By default 443 for TCP and 33434 for UDP; unused for ICMP. */
    port: z.int().min(1).max(65_535).exactOptional(),
    maxHops: z.int().min(1).max(64).default(defaults.maxHops),
    /** Consecutive silent hops after which the trace stops; 15, or fewer with fewer hops. */
    maxUnknownHops: z.int().min(1).max(30).exactOptional(),
    ptrLookup: z.boolean().default(true),
    /** Seconds for the whole trace. */
    timeout: z.int().min(1).max(30).default(10),
    assertions: z.array(assertion).max(maxAssertions).default([]),
  })
  .transform(({ port, ...request }, context) => {
    const { maxHops, protocol } = request;
    const maxUnknownHops = request.maxUnknownHops ?? Math.min(defaults.maxUnknownHops, maxHops);
    if (maxUnknownHops > maxHops) {
      const message = `must not be above maxHops (${maxHops})`;
      context.addIssue({ code: 'custom', path: ['maxUnknownHops'], message });
      return z.NEVER;
    }
    const portOf = protocol === 'ICMP' ? {} : { port: port ?? defaultPorts[protocol] };
    return { ...request, ...portOf, maxUnknownHops };
  })
  .meta({ id: 'TracerouteRequest' });
export type TracerouteRequest = z.output<typeof tracerouteRequest>;

function sourceOf({ source, property }: Assertion, { response }: Measurement): SourceReading {
  const latency = response?.['finalHopLatency'] as Record<string, unknown> | null | undefined;
  const values: Record<string, unknown> = {
    RESPONSE_TIME: latency?.[property],
    HOP_COUNT: response?.['totalHops'],
    PACKET_LOSS: response?.['packetLoss'],
  };
  return { actual: values[source] ?? undefined, isList: false };
}

/**
 * Latencies without the delay of the agent; a trace that the deadline cut off may then have been
 * complete.
 */
function withoutDelay(measurement: Measurement, ms: number): Measurement {
  const { response, responseTime } = measurement;
  if (response === null) return measurement;
  const latency = response['finalHopLatency'] as Record<string, number> | undefined;
  const sooner = Object.entries(latency ?? {}).map(([name, value]) => [
    name,
    Math.max(0, value - ms),
  ]);
  const isCutOff = response['truncationReason'] === 'timeout';
  return {
    ...measurement,
    responseTime: responseTime === null ? null : Math.max(0, responseTime - ms),
    response: {
      ...response,
      ...(latency === undefined ? {} : { finalHopLatency: Object.fromEntries(sooner) }),
      ...(isCutOff ? { destinationReached: true, packetLoss: 0 } : {}),
    },
  };
}

const reasons: Readonly<Record<string, string>> = {
  maxHops: 'it is further away than maxHops',
  maxUnknownHops: 'too many hops in a row did not answer',
  timeout: 'the time was over',
};

/** The ICMP error that ended the trace; null without one. */
function refusalOf(response: Measurement['response']): string | null {
  const hops = response?.['hops'] as { main_ip: string; note: string | null }[] | undefined;
  const last = hops?.at(-1);
  return last?.note == null ? null : `${last.main_ip} said ${last.note}`;
}

/** Own metrics; their `storedAs` numbers follow those of SSL monitors. */
function ofFinalHop(storedAs: number, suffix: string, label: string, key: string) {
  return {
    ...{ name: `finalHopLatency${suffix}`, unit: 'milliseconds', label, storedAs },
    place: ['response', 'finalHopLatency', key],
  } satisfies MetricDefinition;
}
const average = ofFinalHop(27, 'Avg', 'Average latency of the final hop', 'avg');
const shortest = ofFinalHop(28, 'Min', 'Lowest latency of the final hop', 'min');
const longest = ofFinalHop(29, 'Max', 'Highest latency of the final hop', 'max');
const deviation = ofFinalHop(
  ...([30, 'StdDev', 'Standard deviation of the final hop', 'stdDev'] as const),
);
const totalHops: MetricDefinition = {
  ...{ name: 'totalHops', unit: 'count', label: 'Hops', storedAs: 31 },
  place: ['response', 'totalHops'],
};

export const tracerouteMonitor: AgentCheckType<TracerouteRequest> = {
  pathPart: 'traceroute',
  title: 'Traceroute monitor',
  label: 'Traceroute',
  target: '{request.url}',
  hostField: 'request.url',
  sample: { request: { url: 'a.example' } },
  ...checkBodies('TRACEROUTE', {
    ...scheduledCheckFields,
    ...responseTimeLimits(10_000, 20_000, 30_000),
    ...inheritedFields,
    request: tracerouteRequest,
  }),
  ...agentMonitorTraits,
  resultField: 'tracerouteCheckResult',
  // A trace may take thirty seconds; names are resolved before and after it.
  maxRunMs: 45_000,
  sockets: 'tracer',
  contradictionIn(fields) {
    const { frequency, frequencyOffset } = fields;
    // A trace takes seconds, and routers rate-limit their answers.
    if (frequency === 0 && frequencyOffset !== 30) {
      return { field: 'frequencyOffset', problem: 'must be 30 where frequency is 0' };
    }
    return limitsInOrder(fields);
  },
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'traceroute', id: 'getTracerouteAnalytics' },
    metrics: [average, shortest, longest, deviation, totalHops, metrics.packetLoss],
    figures: [
      figureOf(average, 'responseTime'),
      { prefix: 'hopCount', base: totalHops, statistics: ['avg'] },
      { prefix: 'packetLoss', base: metrics.packetLoss, statistics: ['avg', 'p95', 'p99'] },
    ],
    chart: { time: average, parts: [totalHops], isStacked: false },
  },
  address: {
    form: 'traceroute://host[:port]',
    read(address) {
      if (!/^traceroute:\/\//i.test(address)) return null;
      const place = hostAndPort(address, 'traceroute', defaultPorts.TCP);
      return place === null
        ? { problem: 'the host cannot be read' }
        : { request: { url: place.host, port: place.port, ...familyOf(place.host) } };
    },
  },
  trace({ request, response, durationMs }) {
    const { dns } = (response?.['timingPhases'] ?? {}) as { dns?: number };
    return {
      attributes: {
        'server.address': textOrNull(request['url']),
        'network.transport': textOrNull(request['protocol'])?.toLowerCase() ?? null,
      },
      phases: [
        ['dns', 0, dns],
        ['hops', dns, response === null ? null : durationMs],
      ],
    };
  },
  headline({ response }) {
    const of = (name: string) => response?.[name] ?? null;
    return {
      totalHops: of('totalHops'),
      destinationReached: of('destinationReached'),
      finalHopLatency: of('finalHopLatency'),
      timingPhases: of('timingPhases'),
    };
  },
  judging: {
    hasResponseTimeLimits: true,
    sooner: withoutDelay,
    readSource: sourceOf,
    ownVerdict({ response }) {
      const isLost = response !== null && response['destinationReached'] !== true;
      const reason = refusalOf(response) ?? reasons[String(response?.['truncationReason'])];
      return {
        failed: isLost ? `the destination was not reached: ${reason ?? 'it did not answer'}` : null,
        degraded: null,
        isInvertible: true,
      };
    },
  },
};
