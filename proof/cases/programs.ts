/** Programs that are killed and stopped: agents and the control plane. */
import { between, type ProofCase } from '../case.ts';
import { open } from '../lane.ts';

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
    const [agent] = lane.agents;
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 3_000 : 20_000));
      note('suspension of an agent');
      await agent?.suspend(() => pause(between(random, 5_500, isShort ? 9_000 : 90_000)));
    };
  },
};

/** Two agents in one location: a late result of the one that was stopped must not count a second time. */
export const fencing: ProofCase = {
  name: 'fencing',
  plays: 'SIGSTOP of one of two agents of a location until the other takes over, and SIGCONT',
  async join(world) {
    const lane = await world.makeLane('fencing', { agents: 2 });
    await world.addUsualSubjects(lane);
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_000, isShort ? 3_000 : 20_000));
      note('suspension of one of two agents');
      const agent = lane.agents[Math.floor(random() * 2)];
      const disturbance = open(lane.disturbed);
      await agent?.suspend(() => pause(between(random, 4_000, isShort ? 12_000 : 120_000)));
      disturbance.close();
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
