/** TCP monitor: a connection, optionally with data to send and an expected answer. */
import { z } from 'zod';
import { assertionSchema, maxAssertions, textComparisons } from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { ipFamily } from '../primitives.ts';
import {
  checkBodies,
  hostAndPort,
  agentMonitorTraits,
  numberOrNull,
  textOrNull,
  type AgentCheckType,
  familyOf,
} from './check-type.ts';
import { metrics, responseTimeAnalytics } from './metric.ts';
import { readText } from './parsed-text.ts';
import { startTls } from './ssl.ts';

const hostname = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[^\s/]+$/, 'must be a host name or an address, without scheme or path')
  .meta({ example: 'db.internal' });

/**
 * `hostname` and `data` also have the older names `url` and `body`: both are accepted, and both are
 * returned. spec: open
 */
export const tcpRequest = z
  .object({
    hostname: hostname.exactOptional(),
    url: hostname.exactOptional(),
    port: z.int().min(1).max(65_535),
    data: z.string().max(65_536).nullable().exactOptional(),
    body: z.string().max(65_536).nullable().exactOptional(),
    ipFamily: ipFamily.default('IPv4'),
    startTls: startTls.meta({
      description:
        'The protocol in which TLS begins before data is sent; the certificate is verified. Without it there is no TLS',
    }),
    assertions: z
      .array(
        assertionSchema([
          { source: 'RESPONSE_TIME', comparisons: textComparisons },
          { source: 'RESPONSE_DATA', comparisons: textComparisons },
        ]),
      )
      .max(maxAssertions)
      .default([]),
  })
  .transform((request, context) => {
    const host = request.hostname ?? request.url;
    if (host === undefined) {
      context.addIssue({ code: 'custom', path: ['hostname'], message: 'is required' });
      return z.NEVER;
    }
    const data = request.data ?? request.body ?? null;
    return { ...request, hostname: host, url: host, data, body: data };
  })
  .meta({ id: 'TcpRequest' });
export type TcpRequest = z.output<typeof tcpRequest>;

const { connection, data, dns, total } = metrics;

export const tcpMonitor: AgentCheckType<TcpRequest> = {
  pathPart: 'tcp',
  title: 'TCP monitor',
  label: 'TCP',
  target: '{request.hostname}:{request.port}',
  hostField: 'request.hostname',
  sample: { request: { hostname: 'a.example', port: 443 } },
  ...checkBodies('TCP', {
    ...scheduledCheckFields,
    ...responseTimeLimits(3000, 5000, 5000),
    ...inheritedFields,
    request: tcpRequest,
  }),
  ...agentMonitorTraits,
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'tcp-checks', id: 'getTcpCheckAnalytics' },
    metrics: [total, dns, connection, data],
    chart: { time: total, parts: [dns, connection, data], isStacked: true },
  },
  hasNetworkEvidence: true,
  address: {
    form: 'tcp://host:port',
    read(address) {
      if (!/^tcp:\/\//i.test(address)) return null;
      const place = hostAndPort(address, 'tcp');
      return place === null
        ? { problem: 'the port is missing' }
        : {
            request: { hostname: place.host, port: place.port, ...familyOf(place.host) },
          };
    },
  },
  trace({ request, response }) {
    const times = (response?.['timings'] ?? {}) as Record<string, unknown>;
    const { lookup, connect, end } = times;
    return {
      attributes: {
        'server.address': textOrNull(request['hostname']),
        'server.port': numberOrNull(request['port']),
        'network.transport': 'tcp',
      },
      phases: [
        ['dns', 0, lookup],
        ['connect', lookup, connect],
        ['data', connect, response?.['data'] == null ? null : end],
      ],
    };
  },
  judging: {
    hasResponseTimeLimits: true,
    readSource(assertion, measurement, extract) {
      if (assertion.source === 'RESPONSE_TIME') {
        return { actual: measurement.responseTime ?? undefined, isList: false };
      }
      return readText(
        assertion,
        measurement,
        { text: measurement.response?.['data'], what: 'data' },
        extract,
      );
    },
    ownVerdict: () => ({ failed: null, degraded: null, isInvertible: true }),
  },
};
