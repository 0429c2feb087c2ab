/**
 * `npm run bench -- outbox`: how fast notifications that have piled up go out again, to receivers that
 * answer at once: those of few checks, those of many checks to one channel, and those of many channels.
 */
import { join } from 'node:path';
import { httpReceiver, reachesTestServers } from '../../test/support/http-receiver.ts';
import { startTestControlPlane } from '../../test/support/control-plane.ts';
import { alertFacts, makeChannel } from '../../test/support/notifications.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import { enqueueAlert } from '../../control-plane/notifications/outbox.ts';
import { show } from './show.ts';

interface Pile {
  checks: number;
  channels: number;
  notifications: number;
}

const uuid = (index: number): string =>
  `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;

interface Figures {
  perSecond: number;
  /** Of this process, the receiver included. */
  cpuMsEach: number;
  /** The longest turn of the event loop. */
  longestTurnMs: number;
}

async function drain(pile: Pile): Promise<Figures> {
  using folder = temporaryFolder();
  await using cp = await startTestControlPlane({
    file: join(folder.path, 'bench.db'),
    settings: reachesTestServers,
    requestsPerMinute: 0,
  });
  let arrived = 0;
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => (finish = resolve));
  await using receiver = await httpReceiver(() => {
    arrived += 1;
    if (arrived === pile.notifications) finish();
    return {};
  });
  const config = { name: 'w', url: receiver.url };
  const channels: number[] = [];
  for (let index = 0; index < pile.channels; index += 1) {
    channels.push(await makeChannel(cp, 'WEBHOOK', config));
  }
  const { services } = cp.controlPlane;
  await services.commits.run(async (unit) => {
    const now = services.clock.now();
    for (let index = 0; index < pile.notifications; index += 1) {
      const facts = alertFacts();
      const check = { ...facts.check, id: uuid(index % pile.checks) };
      const id = channels[index % pile.channels] ?? 0;
      const channel = { id, type: 'WEBHOOK', configJson: JSON.stringify(config) };
      const envelope = { id: uuid(index), accountId: cp.accountId, now };
      await enqueueAlert(unit, channel, { ...facts, check }, envelope);
    }
  });
  let longestTurnMs = 0;
  let turnedAt = performance.now();
  const watch = setInterval(() => {
    longestTurnMs = Math.max(longestTurnMs, performance.now() - turnedAt);
    turnedAt = performance.now();
  }, 1);
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  turnedAt = startedAt;
  services.outbox.wake();
  await done;
  const perSecond = pile.notifications / ((performance.now() - startedAt) / 1000);
  clearInterval(watch);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond, cpuMsEach: (user + system) / 1000 / pile.notifications, longestTurnMs };
}

/** One line for each way in which notifications pile up. */
export async function benchOutbox(): Promise<void> {
  for (const pile of [
    { checks: 5, channels: 1, notifications: 10_000 },
    { checks: 10_000, channels: 1, notifications: 10_000 },
    { checks: 10_000, channels: 1_000, notifications: 10_000 },
  ]) {
    const { perSecond, cpuMsEach, longestTurnMs } = await drain(pile);
    const label = `outbox, ${pile.checks} checks, ${pile.channels} channels`;
    show(label, {
      sent: `${perSecond.toFixed(0)} notifications/s`,
      'CPU each': `${cpuMsEach.toFixed(2)} ms`,
      'longest turn': `${longestTurnMs.toFixed(0)} ms`,
    });
  }
}
