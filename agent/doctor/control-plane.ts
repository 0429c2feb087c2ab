/** What `doctor` learns by talking to the control plane. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '@monitor/shared/clock.ts';
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import type { AgentConfig } from '../config.ts';
import { CallFailure, ControlPlaneClient, createDispatcher } from '../control-plane-client.ts';
import { version } from '../version.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

const tolerableOffsetMs = 2_000;

function causeOf(error: unknown): string {
  let innermost: unknown = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  const code =
    typeof innermost === 'object' && innermost !== null && 'code' in innermost
      ? `${String(innermost.code)} `
      : '';
  return innermost instanceof Error ? `${code}${innermost.message}` : String(innermost);
}

function fixFor(error: CallFailure, url: string): string {
  const cause = causeOf(error);
  if (/ENOTFOUND|EAI_AGAIN/.test(cause))
    return 'correct CONTROL_PLANE_URL, or the DNS of this machine';
  if (/ECONNREFUSED/.test(cause))
    return `start the control plane, or correct the port in CONTROL_PLANE_URL (${url})`;
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(cause)) {
    return 'set NODE_EXTRA_CA_CERTS to a file with the CA that signed the certificate (your proxy may sign it)';
  }
  return 'check the route, the firewall and HTTPS_PROXY; the agent needs one outgoing connection to this address';
}

/**
 * Checks in once without taking work: a throw-away agent id that says goodbye again. Gives findings
 * on reachability, key and clock.
 */
export async function checkControlPlane(config: AgentConfig): Promise<Finding[]> {
  const url = config.CONTROL_PLANE_URL;
  if (config.API_KEY === undefined) {
    return [
      fail(
        'key',
        'API_KEY is not set',
        'create a key (POST /v1/private-locations/{id}/keys) and set API_KEY to its rawKey',
      ),
    ];
  }
  const dispatcher = createDispatcher(config);
  const agentId = randomUUID();
  const client = new ControlPlaneClient({
    baseUrl: url.replace(/\/+$/, ''),
    apiKey: config.API_KEY,
    dispatcher,
    agentId,
    version,
  });
  const sentAt = systemClock.now();
  try {
    const answer = await client.checkIn(
      {
        agentId,
        protocol: protocolVersion,
        version,
        startedAt: sentAt,
        // Nothing it could be given to do.
        capabilities: {
          checkTypes: [],
          runtimes: [],
          icmp: 'none',
          capture: false,
          traceroute: false,
          browsers: [],
        },
        capacity: { light: 0, heavy: 0 },
        running: 0,
        outbox: { depth: 0, oldestAt: null, droppedTotal: 0 },
        snapshot: null,
        waitMs: 0,
        clock: { sentAt, offsetMs: null },
      },
      new AbortController().signal,
    );
    const receivedAt = systemClock.now();
    await client.goodbye().catch(() => undefined);
    const { receivedAt: theirsIn, sentAt: theirsOut } = answer.serverTime;
    const offsetMs = Math.round((theirsIn - sentAt + (theirsOut - receivedAt)) / 2);
    return [
      ok('control plane', `${url} answered in ${receivedAt - sentAt} ms`),
      ok('key', `accepted, for location ${answer.location}`),
      Math.abs(offsetMs) > tolerableOffsetMs
        ? warn(
            'clock',
            `this clock is ${Math.abs(offsetMs)} ms ${offsetMs > 0 ? 'behind' : 'ahead of'} the control plane`,
            'synchronise it (NTP); until then slots and results follow the control plane',
          )
        : ok('clock', `within ${Math.abs(offsetMs)} ms of the control plane`),
    ];
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    if (error.code === 'KEY_REFUSED') {
      return [
        ok('control plane', `${url} answered`),
        fail('key', error.message, 'make a new key for the location and set API_KEY to its rawKey'),
      ];
    }
    return [fail('control plane', `${url}: ${causeOf(error)}`, fixFor(error, url))];
  } finally {
    await dispatcher.destroy();
  }
}
