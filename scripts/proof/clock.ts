/**
 * The wall clock of the control plane or of an agent, set forward and back and then right. Needs
 * libfaketime (Debian: faketime), which moves the clock of one process alone.
 */
import { join } from 'node:path';
import { moveClock } from '../../test/support/moved-clock.ts';
import { System, temporaryFolder, openTarget, type CheckWire } from '../../test/support/system.ts';
import { openWebhook } from '../../test/support/webhook.ts';
import {
  alertsAboutTargets,
  endingsOf,
  mustBeZero,
  pause,
  subscribeWebhook,
  type ProofCase,
} from './case.ts';

const steps = ['+3h', '-3h', '+365d', '-365d'];
const awryMs = 60_000;
/** The period of the checks is 10 s; agents learn of a correction at their next check-in, within 25 s. */
const recoversWithinMs = 45_000;

export const proveClock: ProofCase = async ({ seed, say }) => {
  const violations: string[] = [];
  const figures: Record<string, unknown> = { seed };
  for (const side of ['control plane', 'agent'] as const) {
    using folder = temporaryFolder();
    const moved = moveClock(join(folder.path, 'clock'));
    const notMoved = { OUTGOING_ALLOWED_NETWORKS: '127.0.0.1' };
    await using target = await openTarget();
    await using webhook = await openWebhook();
    await using system = await System.start(
      folder.path,
      side === 'agent' ? notMoved : { ...notMoved, ...moved.settings },
    );
    await subscribeWebhook(system, webhook.url);
    const key = await system.makeLocation('here');
    const agent = system.startAgent('agent', key, side === 'agent' ? moved.settings : {});
    await agent.log('checked in');
    const checks: CheckWire[] = [];
    for (let index = 0; index < 5; index += 1) {
      const body = { name: `check ${index}`, privateLocations: ['here'] };
      checks.push(await system.createUrlCheck(`${target.url}/ok/${index}`, body));
    }
    const visits = (): number => [...target.visits.values()].reduce((sum, count) => sum + count, 0);
    await pause(30_000);
    for (const step of steps) {
      moved.by(step);
      await pause(awryMs);
      const awry = visits();
      moved.by('+0');
      const correctedAt = performance.now();
      while (visits() < awry + checks.length && performance.now() - correctedAt < 300_000) {
        await pause(1_000);
      }
      const tookMs = Math.round(performance.now() - correctedAt);
      say(`${side} ${step}: runs went on ${tookMs} ms after the correction`);
      figures[`${side} ${step}: back after ms`] = tookMs;
      if (tookMs > recoversWithinMs)
        violations.push(`${side} ${step}: runs took ${tookMs} ms to go on`);
    }
    await pause(60_000);
    const alerts = alertsAboutTargets(webhook.deliveries);
    const endings = endingsOf(system, checks);
    figures[`${side}: endings`] = endings;
    figures[`${side}: alerts`] = alerts;
    violations.push(
      ...mustBeZero({
        [`${side}: failed`]: endings['failed'] ?? 0,
        [`${side}: alerts about targets`]: Object.values(alerts).reduce((sum, n) => sum + n, 0),
        [`${side}: results of the future`]:
          system.query<{ n: number }>(
            `select count(*) as n from check_runs where scheduled_for > ${Date.now() + 60_000}`,
          )[0]?.n ?? 0,
      }),
    );
  }
  return { figures, violations };
};
