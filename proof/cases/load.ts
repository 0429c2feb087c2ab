/** An agent that gets too little CPU, and clocks that are wrong. */
import { spawn } from 'node:child_process';
import { availableParallelism, constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { between, pick, type Play, type ProofCase, type Stage } from '../case.ts';
import { open, type Lane } from '../lane.ts';
import { limitCpu } from '../limit-cpu.ts';
import { libFaketime, moveClock, type MovedClock } from '../moved-clock.ts';
import type { World } from '../world.ts';

const quotaShare = 0.1;
/** So little for so long harms runs: an overload, which the location must say after a check-in. */
const overload = { share: 0.01, lastsMs: 45_000, isSaidWithinMs: 120_000 };
const limits = { degradedResponseTime: 300, maxResponseTime: 300 };
const withoutFaketime =
  'libfaketime is not installed (Debian: faketime); it moves the clock of one process';
const shortestPresentMs = 60_000;
/** A page that goes down as a clock is put right comes back so long after the last slot that came again. */
const overlapMs = 15_000;

function keepBusy(): Disposable {
  const program = 'require("os").setPriority(0); for (;;);';
  const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

/** Targets stand for other machines: those of this process answer in time, whatever else runs here. */
function preferTargets(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Where this user may not, what was said while the targets were held up is not judged.
  }
}

export const starvation: ProofCase = {
  name: 'starvation',
  plays:
    'an agent gets too little CPU: a quota of its control group where there is one, and busy processes; a long time of it is said of its location',
  async join(world) {
    const lane = await world.makeLane('starvation');
    await world.addUsualSubjects(lane);
    await world.addSubjects(
      lane,
      Array.from({ length: 8 }, () => ({ kind: 'healthy' as const, body: limits })),
    );
    await world.addFaultyTargets(lane);
    preferTargets();
    const pid = lane.agents[0]?.program.child.pid ?? 0;
    let turn = 0;
    const playOverload = async ({ note, pause, pauseUntil }: Stage): Promise<void> => {
      {
        using quota = limitCpu(pid, overload.share);
        if (quota === null) return;
        note('overload');
        const disturbance = open(lane.disturbed);
        await pause(overload.lastsMs);
        disturbance.close();
      }
      if (!(await pauseUntil(() => world.isOverloaded(lane), overload.isSaidWithinMs)))
        throw new Error('its location does not say that an agent there is overloaded');
    };
    return async (stage) => {
      const { random, isShort, pause, note } = stage;
      await pause(between(random, 2_000, isShort ? 5_000 : 40_000));
      turn += 1;
      if (!isShort && turn % 2 === 0) {
        await playOverload(stage);
        return;
      }
      note('starvation');
      const disturbance = open(lane.disturbed);
      {
        using stack = new DisposableStack();
        const quota = limitCpu(pid, quotaShare);
        if (quota !== null) stack.use(quota);
        for (let each = 0; each < 3 * availableParallelism(); each += 1) stack.use(keepBusy());
        await pause(between(random, 2_000, isShort ? 4_000 : 20_000));
      }
      disturbance.close();
    };
  },
};

async function playClock(
  world: World,
  lane: Lane,
  moved: MovedClock,
  whose: string,
): Promise<Play> {
  lane.hasTrueTimes = false;
  await world.addSubjects(
    lane,
    (['healthy', 'healthy', 'slow', 'failing', 'flapping'] as const).map((kind) => ({ kind })),
  );
  const page = world.targets.pages.get(lane.subjects.at(-1)?.path ?? '');
  let isDown = false;
  if (page !== undefined) page.isUp = () => !isDown;
  return async ({ random, pause, note }) => {
    await pause(between(random, shortestPresentMs, 2 * shortestPresentMs));
    const aheadSeconds = Math.round(between(random, 5, 300));
    const step = pick(random, [`+${aheadSeconds}s`, '+3h', '-3h', '+365d', '-365d']);
    note(`clock of ${whose} ${step}`);
    const disturbance = open(lane.disturbed);
    moved.by(step);
    await pause(between(random, 10_000, 60_000));
    moved.by('+0');
    disturbance.close();
    // The slots that were run ahead of their time come again: what is found then counts.
    isDown = step.endsWith('s');
    if (isDown) await pause(aheadSeconds * 1_000 + overlapMs);
    isDown = false;
  };
}

export const clock: ProofCase = {
  name: 'clock',
  plays:
    'the wall clock of an agent goes forward and back by seconds, hours and a year, and is right again; then a page goes down',
  missing: ({ isShort }) => {
    if (libFaketime() === undefined) return withoutFaketime;
    return isShort
      ? 'an agent learns of a correction within 25 s, which --short does not have'
      : null;
  },
  async join(world) {
    const moved = moveClock(join(world.options.folder, 'clock-of-agent'));
    const lane = await world.makeLane('clock', { settings: { ...moved.settings } });
    return playClock(world, lane, moved, 'an agent');
  },
};

/** All lanes have its wrong time, so it has a world of its own. */
export const clockOfControlPlane: ProofCase = {
  name: 'clock-of-control-plane',
  plays:
    'the wall clock of the control plane goes forward and back, and is right again; then a page goes down',
  missing: (requirements) => clock.missing?.(requirements) ?? null,
  prepareWorld: (folder) => {
    const moved = moveClock(join(folder, 'clock-of-control-plane'));
    return { settings: { ...moved.settings } };
  },
  async join(world) {
    const moved = moveClock(join(world.options.folder, 'clock-of-control-plane'));
    const lane = await world.makeLane('clock-of-control-plane');
    return playClock(world, lane, moved, 'the control plane');
  },
};
