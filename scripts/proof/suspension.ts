/** Agents stopped for 2 to 120 s at random moments, with slow and healthy targets. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { assertNothingDoubled } from '../../test/support/accounting.ts';
import type { Program } from '../../test/support/program.ts';
import { seededRandom } from '../../test/support/random.ts';
import { System, temporaryFolder, type CheckWire } from '../../test/support/system.ts';
import { openWebhook } from '../../test/support/webhook.ts';
import {
  accountFor,
  alertsAboutTargets,
  endingsOf,
  mustBeZero,
  pause,
  subscribeWebhook,
  untrueResults,
  type ProofCase,
} from './case.ts';

const locations = 8;
const checksPerLocation = 4;
const answersAfterMs = 1_500;
const shortestStopMs = 2_000;
const longestStopMs = 120_000;

/** A healthy website that takes its time. */
async function openSlowTarget(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_request, response) => {
    setTimeout(() => response.end('well'), answersAfterMs);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const proveSuspension: ProofCase = async ({ rounds, seed, agents: perLocation, say }) => {
  using folder = temporaryFolder();
  await using target = await openSlowTarget();
  await using webhook = await openWebhook();
  await using system = await System.start(folder.path, { OUTGOING_ALLOWED_NETWORKS: '127.0.0.1' });
  await subscribeWebhook(system, webhook.url);
  const checks: CheckWire[] = [];
  const stoppable: Program[] = [];
  for (let index = 0; index < locations; index += 1) {
    const slug = `place-${index}`;
    const key = await system.makeLocation(slug);
    for (let agent = 0; agent < perLocation; agent += 1) {
      const program = system.startAgent(`${slug}-${agent}`, key);
      await program.log('checked in');
      if (agent === 0) stoppable.push(program);
    }
    for (let check = 0; check < checksPerLocation; check += 1) {
      const body = { name: `${slug} ${check}`, privateLocations: [slug] };
      const limits = { degradedResponseTime: 10_000, maxResponseTime: 20_000 };
      checks.push(await system.createUrlCheck(target.url, { ...body, ...limits }));
    }
  }
  let done = 0;
  const suspend = async (index: number): Promise<void> => {
    const random = seededRandom(seed * 1_000 + index);
    const program = stoppable[index];
    for (let round = index; round < rounds; round += locations) {
      await pause(5_000 + random() * 12_000);
      program?.signal('SIGSTOP');
      await pause(shortestStopMs * (longestStopMs / shortestStopMs) ** random());
      program?.signal('SIGCONT');
      done += 1;
      if (done % 10 === 0) say(`${done} of ${rounds} suspensions`);
    }
  };
  await Promise.all(stoppable.map((_, index) => suspend(index)));
  await pause(20_000);
  const until = Date.now() - 10_000;
  const open = await accountFor(system, checks, until, 300_000);
  assertNothingDoubled(system.databaseFile);
  const endings = endingsOf(system, checks);
  const alerts = alertsAboutTargets(webhook.deliveries);
  return {
    figures: {
      suspensions: done,
      seed,
      endings,
      alerts,
      'untrue results': untrueResults(system, checks),
      'other messages': webhook.deliveries.length,
    },
    violations: mustBeZero({
      failed: endings['failed'] ?? 0,
      degraded: endings['degraded'] ?? 0,
      'alerts about targets': Object.values(alerts).reduce((sum, count) => sum + count, 0),
      'slots that nothing is known of': open.length,
    }),
  };
};
