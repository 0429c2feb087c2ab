/** Programs that are killed and stopped: agents and the control plane. */
import { between, type ProofCase } from '../case.ts';
import { open } from '../lane.ts';

/** An agent that was away is back before the next one goes. */
const returnWithinMs = 60_000;

export const killedAgent: ProofCase = {
  name: 'killed-agent',
  plays: 'kill -9 of an agent at any moment, and another start',
  async join(world) {
    const lane = await world.makeLane('killed-agent');
    await world.addUsualSubjects(lane);
    const [agent] = lane.agents;
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 6_000 : 25_000));
      note('kill of an agent');
      await agent?.replace(() => pause(between(random, 50, 3_000)));
    };
  },
};

export const suspension: ProofCase = {
  name: 'suspension',
  plays: 'SIGSTOP and SIGCONT of an agent in the middle of its runs',
  async join(world) {
    const lane = await world.makeLane('suspension');
    // Far above what the page takes, far below what a stop takes.
    const limits = { degradedResponseTime: 4_000, maxResponseTime: 5_000 };
    await world.addUsualSubjects(lane);
    // The kernel knows how long an answer over TCP has waited for the agent, but not one over UDP: about names
    // only the agent's own account of the stop keeps it from a false alert.
    await world.addSubjects(
      lane,
      Array.from({ length: 12 }, (_, index) => ({
        ...{ kind: 'slow' as const, isName: index % 3 > 0, body: limits },
      })),
    );
    await world.addFaultyTargets(lane);
    const [agent] = lane.agents;
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 3_000 : 20_000));
      note('suspension of an agent');
      await agent?.suspend(() => pause(between(random, 5_500, isShort ? 9_000 : 90_000)));
    };
  },
};

/** Two agents in one location: late results of the one that was away must not count a second time. */
export const fencing: ProofCase = {
  name: 'fencing',
  plays:
    'one of two agents of a location is stopped, or cut off while it goes on, until the other takes over, and comes back',
  async join(world) {
    const link = await world.openLink();
    const lane = await world.makeLane('fencing', {
      agents: 2,
      settingsOf: (place): Record<string, string> =>
        place === 0 ? { CONTROL_PLANE_URL: link.url } : {},
    });
    // Who has taken over runs every slot, and so does the one that has come back.
    lane.aftermathMs = 0;
    await world.addUsualSubjects(lane);
    let isCut = false;
    return async ({ random, isShort, pause, pauseUntil, note }) => {
      await pause(between(random, 1_000, isShort ? 3_000 : 20_000));
      const agent = lane.agents[Math.floor(random() * lane.agents.length)];
      const lastsMs = between(random, isShort ? 8_000 : 15_000, isShort ? 12_000 : 120_000);
      const until = Date.now() + lastsMs;
      const untilReturn = async (): Promise<void> => {
        await pauseUntil(async () => (await world.serving(lane)) === 1, lastsMs);
        disturbance.close();
        await pause(Math.max(0, until - Date.now()));
      };
      const disturbance = open(lane.disturbed);
      isCut = !isCut;
      if (isCut) {
        note('one of two agents is cut off');
        await link.fail({ kind: 'down' });
        await untilReturn();
        await link.heal();
      } else {
        note('suspension of one of two agents');
        await agent?.suspend(untilReturn);
      }
      await pauseUntil(async () => (await world.serving(lane)) === 2, returnWithinMs);
    };
  },
};

export const controlPlane: ProofCase = {
  name: 'control-plane',
  plays: 'kill -9, SIGSTOP and SIGCONT of the control plane at any moment',
  async join(world) {
    const lane = await world.makeLane('control-plane');
    await world.addUsualSubjects(lane);
    const { system } = world;
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_500, isShort ? 5_000 : 30_000));
      const interruption = open(world.interruptions);
      if (random() < 0.6) {
        note('kill of the control plane');
        await system.controlPlane.kill9();
        await pause(between(random, 20, isShort ? 1_000 : 30_000));
        await system.restartControlPlane();
      } else {
        note('suspension of the control plane');
        system.controlPlane.signal('SIGSTOP');
        await pause(between(random, 1_000, isShort ? 4_000 : 60_000));
        system.controlPlane.signal('SIGCONT');
      }
      interruption.close();
    };
  },
};

export const receiver: ProofCase = {
  name: 'receiver',
  plays: 'the receiver of messages is slow, or answers 503',
  async join(world) {
    const lane = await world.makeLane('receiver');
    await world.addUsualSubjects(lane);
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 500, isShort ? 5_000 : 30_000));
      const isSlow = random() < 0.4;
      note(isSlow ? 'slow receiver' : 'receiver that refuses');
      const answer = isSlow
        ? { status: 200, afterMs: between(random, 200, 3_000) }
        : { status: 503, afterMs: 0 };
      await world.disturbReceiver(answer, () =>
        pause(between(random, 1_000, isShort ? 4_000 : 20_000)),
      );
    };
  },
};
