/** The connection of an agent to the control plane, with every fault of the proxy. */
import { between, pick, type ProofCase } from '../case.ts';
import type { Fault, FaultKind } from '../fault-proxy.ts';

const kinds: readonly FaultKind[] = [
  ...(['latency', 'down', 'bandwidth', 'slow-close', 'silence', 'reset'] as const),
  ...(['slicer', 'limit', 'loss'] as const),
];

/** A fault of a kind that leaves work for the retries, drawn from a seed. */
function faultOf(kind: FaultKind, random: () => number): Fault {
  switch (kind) {
    case 'latency':
      return { kind, delayMs: 5 + random() * 30, jitterMs: random() * 60 };
    case 'bandwidth':
      return { kind, bytesPerSecond: 2_000 + Math.floor(random() * 60_000) };
    case 'slow-close':
      return { kind, delayMs: random() * 200 };
    case 'reset':
      return { kind, afterMs: random() * 20 };
    case 'slicer':
      return { kind, bytes: 1 + Math.floor(random() * 400), delayMs: random() * 2 };
    case 'loss':
      return { kind, share: 0.05 + random() * 0.3 };
    case 'limit':
      // Most answers are shorter than this: half of the time it is the acknowledgement that is lost.
      return {
        kind,
        bytes: random() < 0.5 ? 0 : Math.floor(random() * 3_000),
        towards: random() < 0.7 ? 'client' : 'server',
      };
    case 'down':
    case 'silence':
      return { kind };
  }
}

export const drawFault = (random: () => number): Fault => faultOf(pick(random, kinds), random);

export const cut: ProofCase = {
  name: 'connection',
  plays:
    'a connection that is cut, slow, silent, in pieces, or whose answers are lost, so that results are sent again',
  async join(world) {
    const link = await world.openLink();
    const lane = await world.makeLane('connection', { settings: { CONTROL_PLANE_URL: link.url } });
    await world.addUsualSubjects(lane);
    let isLost = false;
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 500, isShort ? 2_500 : 15_000));
      // Every second one loses answers, after which a result is sent that is known already.
      isLost = !isLost;
      const fault: Fault = isLost
        ? { kind: 'limit', bytes: 0, towards: 'client' }
        : drawFault(random);
      note(`connection: ${isLost ? 'answers are lost' : fault.kind}`);
      await link.fail(fault);
      await pause(between(random, isLost ? 1_500 : 300, isShort ? 5_000 : 40_000));
      await link.heal();
    };
  },
};
