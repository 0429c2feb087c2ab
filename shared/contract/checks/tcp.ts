/** TCP monitor: a connection, optionally with data sent and an answer expected. */
import { z } from 'zod';
import { assertionSchema, maxAssertions, textComparisons } from '../assertion.ts';
import { inheritedFields, responseTimeLimits, scheduledCheckFields } from '../check.ts';
import { ipFamily } from '../primitives.ts';
import { checkBodies, monitorTraits, type CheckTypeDefinition } from './check-type.ts';

const hostname = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[^\s/]+$/, 'must be a host name or an address, without scheme or path')
  .meta({ example: 'db.internal' });

/**
 * `hostname` and `data` are also known under their older names `url` and `body`; either is accepted
 * and both are returned. spec: open
 */
export const tcpRequest = z
  .object({
    hostname: hostname.exactOptional(),
    url: hostname.exactOptional(),
    port: z.int().min(1).max(65_535),
    data: z.string().max(65_536).nullable().exactOptional(),
    body: z.string().max(65_536).nullable().exactOptional(),
    ipFamily: ipFamily.default('IPv4'),
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

export const tcpMonitor: CheckTypeDefinition = {
  pathPart: 'tcp',
  title: 'TCP monitor',
  ...checkBodies('TCP', {
    ...scheduledCheckFields,
    ...responseTimeLimits(3000, 5000, 5000),
    ...inheritedFields,
    request: tcpRequest,
  }),
  ...monitorTraits,
  judging: {
    hasResponseTimeLimits: true,
    readSource(assertion, measurement, extract) {
      if (assertion.source === 'RESPONSE_TIME') {
        return { actual: measurement.responseTime ?? undefined, isList: false };
      }
      const data = measurement.response?.['data'];
      const text = typeof data === 'string' ? data : undefined;
      return {
        actual: text === undefined ? undefined : extract.byRegex(text, assertion.property),
        isList: false,
      };
    },
    ownVerdict: () => ({ failed: null, degraded: null, isInvertible: true }),
  },
};
