/** A control plane that is stopped or killed for 10 to 180 s while 50 jobs ping on time. */
import { seededRandom } from '../../test/support/random.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { openWebhook } from '../../test/support/webhook.ts';
import {
  alertsAboutTargets,
  endingsOf,
  mustBeZero,
  pause,
  subscribeWebhook,
  type ProofCase,
} from './case.ts';

const monitors = 50;
const periodSeconds = 30;
const graceSeconds = 5;
const shortestStopMs = 10_000;
const longestStopMs = 180_000;

interface Heartbeat {
  id: string;
  name: string;
  frequency: number;
  frequencyOffset: number;
  created_at: string;
  heartbeat: { pingUrl: string };
}

export const proveHeartbeats: ProofCase = async ({ rounds, seed, say }) => {
  using folder = temporaryFolder();
  await using webhook = await openWebhook();
  await using system = await System.start(folder.path, { OUTGOING_ALLOWED_NETWORKS: '127.0.0.1' });
  await subscribeWebhook(system, webhook.url);
  const random = seededRandom(seed);
  const checks: Heartbeat[] = [];
  for (let index = 0; index < monitors; index += 1) {
    checks.push(
      await system.api<Heartbeat>('POST', '/v1/checks/heartbeat', {
        name: `job ${index}`,
        heartbeat: {
          ...{ period: periodSeconds, periodUnit: 'seconds' },
          ...{ grace: graceSeconds, graceUnit: 'seconds' },
        },
      }),
    );
  }
  let refused = 0;
  // A job pings once, on time, and does not try again.
  const timers = checks.map(({ heartbeat: { pingUrl } }) => {
    const ping = (): void => {
      const { pathname } = new URL(pingUrl);
      void fetch(system.baseUrl + pathname, { method: 'POST' }).then(
        (answer) => answer.text(),
        () => (refused += 1),
      );
    };
    ping();
    return setInterval(ping, periodSeconds * 1_000);
  });
  try {
    for (let round = 0; round < rounds; round += 1) {
      await pause(10_000 + random() * 40_000);
      const lastsMs = shortestStopMs * (longestStopMs / shortestStopMs) ** random();
      const isKilled = round % 3 === 2;
      say(`round ${round + 1}: ${isKilled ? 'killed' : 'stopped'} for ${Math.round(lastsMs)} ms`);
      if (isKilled) {
        await system.controlPlane.kill9();
        await pause(lastsMs);
        await system.restartControlPlane();
      } else {
        system.controlPlane.signal('SIGSTOP');
        await pause(lastsMs);
        system.controlPlane.signal('SIGCONT');
      }
    }
    await pause((periodSeconds + graceSeconds) * 2_000);
  } finally {
    for (const timer of timers) clearInterval(timer);
  }
  const alerts = alertsAboutTargets(webhook.deliveries);
  const endings = endingsOf(system, checks);
  return {
    figures: { rounds, seed, endings, alerts, 'pings refused': refused },
    violations: mustBeZero({
      failed: endings['failed'] ?? 0,
      'false alerts': Object.values(alerts).reduce((sum, count) => sum + count, 0),
    }),
  };
};
