/** The control plane of an environment behind TLS of its own, as behind a load balancer. */
import { request } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import {
  makeAuthority,
  type Authority,
  type KeyAndCertificate,
} from '../../../support/certificates.ts';
import type { Ground } from './environment.ts';
import { listening } from './places.ts';

export interface Wish {
  /** Its certificate, given an authority; by default one that is sound. */
  certificate?: (authority: Authority) => Promise<KeyAndCertificate>;
  tls?: ServerOptions;
  /** Added to the `Date` of its answers. */
  clockOffsetMs?: number;
  host?: string;
  /** What signs its certificate; by default one that is made for it. */
  authority?: Authority;
}

/** Puts it before the plain one. Nobody trusts its authority yet. */
export async function secureControlPlane(
  ground: Ground,
  { certificate, tls = {}, clockOffsetMs = 0, host = 'localhost', authority: given }: Wish = {},
): Promise<{ authority: Authority; port: number }> {
  const authority = given ?? (await makeAuthority('Company authority'));
  const pair = await (certificate?.(authority) ?? authority.issue({ host, validForDays: 30 }));
  const server = createServer({ ...pair, ...tls }, (incoming, outgoing) => {
    const { method, url = '', headers } = incoming;
    const onward = request(ground.controlPlane.url + url, { method, headers }, (answer) => {
      const date = new Date(Date.now() + clockOffsetMs).toUTCString();
      outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, date });
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  const port = await listening(ground, server, { scheme: 'https', host });
  return { authority, port };
}
