/** The proxy session of a run at the gateway. */
import type { ProxySession } from '../../net/gateway/gateway.ts';
import type { RunnerContext } from '../runner.ts';

/**
 * Opens it where the location has a proxy or the account has client certificates; else gives null, and
 * the run goes its own way. `onProblem` hears why connections failed, in sentences.
 */
export async function openProxySession(
  { clientCertificates, proxyUrl, scripting }: RunnerContext,
  onProblem: (sentence: string) => void,
  isForbidden?: (address: string) => boolean,
): Promise<ProxySession | null> {
  const hasProxy = proxyUrl !== null && proxyUrl !== '';
  if (!hasProxy && clientCertificates.length === 0) return null;
  return scripting().gateway.open({
    ...{ clientCertificates, proxyUrl, onProblem },
    ...(isForbidden === undefined ? {} : { isForbidden }),
  });
}
