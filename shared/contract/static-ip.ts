/** Outgoing addresses of data-center locations, for firewall rules. */
import { z } from 'zod';
import { defineRoute } from './route.ts';

const addresses = z.array(z.string());
const byRegion = z.record(z.string(), addresses);

function route<const Id extends string, S extends z.ZodType>(
  operationId: Id,
  path: string,
  summary: string,
  response: S,
) {
  return defineRoute({
    operationId,
    method: 'GET',
    path,
    tag: 'Static IPs',
    summary,
    description: 'Empty unless the operator of this installation has set STATIC_IPS.',
    authentication: 'none',
    status: 200,
    response,
  });
}

function textRoute<const Id extends string>(operationId: Id, path: string, summary: string) {
  return defineRoute({
    ...route(operationId, path, summary, z.string()),
    contentType: 'text/plain',
  });
}

export const staticIpRoutes = {
  listStaticIps: route('listStaticIps', '/v1/static-ips', 'List IPv4 addresses', addresses),
  listStaticIpsByRegion: route(
    'listStaticIpsByRegion',
    '/v1/static-ips-by-region',
    'List IPv4 addresses by location',
    byRegion,
  ),
  listStaticIpsText: textRoute(
    'listStaticIpsText',
    '/v1/static-ips.txt',
    'List IPv4 addresses, one a line',
  ),
  listStaticIpv6s: route('listStaticIpv6s', '/v1/static-ipv6s', 'List IPv6 addresses', addresses),
  listStaticIpv6sByRegion: route(
    'listStaticIpv6sByRegion',
    '/v1/static-ipv6s-by-region',
    'List IPv6 addresses by location',
    byRegion,
  ),
  listStaticIpv6sText: textRoute(
    'listStaticIpv6sText',
    '/v1/static-ipv6s.txt',
    'List IPv6 addresses, one a line',
  ),
};
