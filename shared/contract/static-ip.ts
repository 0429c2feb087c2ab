/** Outgoing addresses of data-center locations, for firewall rules. */
import { z } from 'zod';
import { defineRoutes, get } from './route.ts';

const open = {
  description: 'Empty unless the operator of this installation has set STATIC_IPS.',
  authentication: 'none',
} as const;
const asList = { ...open, response: z.array(z.string()) } as const;
const byRegion = { ...open, response: z.record(z.string(), z.array(z.string())) } as const;
const asText = { ...open, response: z.string(), contentType: 'text/plain' } as const;

export const staticIpRoutes = defineRoutes('Static IPs', {
  listStaticIps: get('/v1/static-ips', 'List IPv4 addresses', asList),
  listStaticIpsByRegion: get(
    '/v1/static-ips-by-region',
    'List IPv4 addresses by location',
    byRegion,
  ),
  listStaticIpsText: get('/v1/static-ips.txt', 'List IPv4 addresses, one a line', asText),
  listStaticIpv6s: get('/v1/static-ipv6s', 'List IPv6 addresses', asList),
  listStaticIpv6sByRegion: get(
    '/v1/static-ipv6s-by-region',
    'List IPv6 addresses by location',
    byRegion,
  ),
  listStaticIpv6sText: get('/v1/static-ipv6s.txt', 'List IPv6 addresses, one a line', asText),
});
