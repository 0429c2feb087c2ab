/** Plays the stories of an order, one after the other. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { drawStory } from './events.ts';
import { makeInstallation } from './installation.ts';
import { judge } from './oracle.ts';
import { beginsAt, calmMs, Play, settleMs } from './play.ts';
import type { Order, Outcome, Story } from './order.ts';

const realCpu = process.resourceUsage;
const cpuMs = (): number => {
  const { userCPUTime, systemCPUTime } = realCpu();
  return (userCPUTime + systemCPUTime) / 1_000;
};

const order = JSON.parse(process.argv[2] ?? '') as Order;
const folder = mkdtempSync(join(order.folder, 'simulation-'));
let failed: unknown;
process.on('unhandledRejection', (error) => (failed = error));
process.on('uncaughtException', (error) => (failed = error));

const installation = await makeInstallation(folder);
const forMs = order.minutes * 60_000;

async function playOnce({ seed, cases, events: given }: Story): Promise<Outcome> {
  const begunAt = cpuMs();
  failed = undefined;
  const play = new Play(seed, installation, folder, order);
  const { world } = play;
  const events =
    given ??
    drawStory(world.chance('story'), {
      from: beginsAt + 10_000,
      to: forMs - settleMs - calmMs - 60_000,
      only: cases,
    });
  let wrong: string[];
  try {
    await play.begin(events);
    await play.run(events, forMs);
    const { hash } = world;
    wrong = await judge(play);
    if (failed !== undefined) {
      const error = failed as Error;
      wrong.push(`a program failed: ${error.stack ?? String(failed)}`);
    }
    const situations = Object.fromEntries(play.situations);
    const timeline = wrong.length > 0 || order.hasTimeline ? [...world.timeline] : [];
    return {
      ...{ seed, cases, hash, wrong, events, situations, timeline, traced: world.traced },
      ...{ virtualMs: world.now, cpuMs: cpuMs() - begunAt },
    };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return {
      ...{ seed, cases, hash: world.hash, wrong: [`the play broke: ${text}`], events },
      ...{ situations: {}, timeline: [...world.timeline], traced: world.traced },
      ...{ virtualMs: world.now, cpuMs: cpuMs() - begunAt },
    };
  } finally {
    play.dispose();
  }
}

for (const story of order.stories) {
  const outcome = await playOnce(story);
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
rmSync(folder, { recursive: true, force: true });
process.exit();
