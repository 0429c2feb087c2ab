/**
 * The proxy of the tests in a host of the lab, as a program to be started in it with an IPC channel:
 * `address credentials intercept`. With "intercept" it reads along, under an authority that it tells.
 */
import { makeAuthority } from './certificates.ts';
import { proxyServer } from './proxy-server.ts';

export interface ProxyReady {
  url: string;
  authority: string | null;
}

const [host = '', credentials = '', mode = ''] = process.argv.slice(2);
const authority = mode === 'intercept' ? await makeAuthority('Office gateway') : null;
const { url } = await proxyServer({
  host,
  credentials,
  ...(authority === null
    ? {}
    : { intercept: (name: string) => authority.issue({ host: name, validForDays: 1 }) }),
});
process.send?.({ url, authority: authority?.cert ?? null } satisfies ProxyReady);
