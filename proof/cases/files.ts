/** Files and disks of an agent that go wrong. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { between, pick, type ProofCase } from '../case.ts';
import { damageFile, damageKinds } from '../damage.ts';
import { open } from '../lane.ts';
import { SmallDisk } from '../small-disk.ts';

const kinds = damageKinds.filter((kind) => kind !== 'folder');
const diskMegabytes = 24;
/** After a start of its own, a control plane waits so long for agents of before, and a busy one longer. */
const longestAdoptionMs = 60_000;

export const damage: ProofCase = {
  name: 'damage',
  plays:
    'bits that flip, ends that are gone and files that are missing in the outbox of an agent, while results wait in it',
  async join(world) {
    const link = await world.openLink();
    const lane = await world.makeLane('damage', { settings: { CONTROL_PLANE_URL: link.url } });
    await world.addUsualSubjects(lane);
    const folder = join(world.options.folder, 'damage-0');
    const [agent] = lane.agents;
    return async ({ random, isShort, pause, pauseUntil, note }) => {
      await pause(between(random, 2_000, isShort ? 4_000 : 25_000));
      // What was measured shortly before may not have been delivered yet.
      const loss = { from: Date.now() - 10_000, to: Infinity };
      lane.lossy.push(loss);
      await link.fail({ kind: 'down' });
      await pause(between(random, 1_000, isShort ? 4_000 : 20_000));
      await agent?.replace(async () => {
        const files = readdirSync(folder).filter((name) => /^outbox\.db(-wal)?$/.test(name));
        const file = pick(random, files);
        const kind = pick(random, kinds);
        note(`damage of ${file}: ${kind}`);
        damageFile(join(folder, file), kind, random);
        await link.heal();
      });
      // With its file it may have lost its name: its checks wait until the one of that name is given up.
      await agent?.program.log('checked in');
      await pauseUntil(async () => (await world.serving(lane)) === 1, longestAdoptionMs);
      loss.to = Date.now() + 5_000;
    };
  },
};

export const fullDisk: ProofCase = {
  name: 'full-disk',
  plays: 'the disk of an agent is full, and has room again',
  missing: () =>
    process.getuid?.() === 0
      ? null
      : 'a disk that can be filled without harm is a small one in memory, which only root may mount',
  async join(world) {
    const disk = world.owns(new SmallDisk(diskMegabytes));
    const settings = { AGENT_DATA_DIR: join(disk.path, 'agent') };
    const lane = await world.makeLane('full-disk', { settings });
    await world.addUsualSubjects(lane);
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 4_000 : 20_000));
      note('full disk of an agent');
      const loss = open(lane.lossy);
      await disk.fill();
      await pause(between(random, 2_000, isShort ? 7_000 : 40_000));
      disk.free();
      loss.close();
    };
  },
};
