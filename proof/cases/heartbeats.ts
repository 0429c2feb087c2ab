/** Jobs that ping while the control plane is killed and stopped, and one that has ended for real. */
import { between, type ProofCase } from '../case.ts';
import type { Subject } from '../lane.ts';
import type { CheckWire } from '../system.ts';

const jobs = 20;
const periodSeconds = 30;
const graceSeconds = 5;
/** A job without a ping for so many periods has failed, whatever took its pings. */
const excusedPeriods = 3;
/** One job ends after its second ping. */
const pingsOfDead = 2;

interface Heartbeat extends CheckWire {
  heartbeat: { pingUrl: string };
}

export const heartbeats: ProofCase = {
  name: 'heartbeats',
  plays: `${jobs} jobs ping on time while other cases disturb the control plane, and one stops for real`,
  missing: ({ isShort }) =>
    isShort ? 'a ping is missed after 35 s at the earliest, which --short does not have' : null,
  async join(world) {
    const lane = await world.makeLane('heartbeats', { agents: 0 });
    const stopping = new AbortController();
    world.owns({ [Symbol.dispose]: () => void stopping.abort() });
    for (let index = 0; index < jobs; index += 1) {
      const check = await world.system.api<Heartbeat>('POST', '/v1/checks/heartbeat', {
        name: `heartbeats ${index}`,
        heartbeat: {
          ...{ period: periodSeconds, periodUnit: 'seconds' },
          ...{ grace: graceSeconds, graceUnit: 'seconds' },
        },
      });
      const isDead = index === 0;
      const subject: Subject = { check, kind: 'heartbeat', path: '', lane, spareMs: 0, isDead };
      lane.subjects.push(subject);
      let pings = 0;
      let unansweredInARow = 0;
      // A job pings once, on time, and does not try again.
      const ping = (): void => {
        pings += 1;
        if (isDead && pings > pingsOfDead) return;
        const { pathname } = new URL(check.heartbeat.pingUrl);
        void fetch(world.system.baseUrl + pathname, { method: 'POST' })
          .then(
            (answer) => answer.ok,
            () => false,
          )
          .then((isAnswered) => {
            unansweredInARow = isAnswered ? 0 : unansweredInARow + 1;
            subject.isDoubtful ||= unansweredInARow >= excusedPeriods;
          });
      };
      ping();
      const timer = setInterval(ping, periodSeconds * 1_000);
      stopping.signal.addEventListener('abort', () => clearInterval(timer));
    }
    return async ({ random, pause, note }) => {
      await pause(between(random, 20_000, 60_000));
      note('a job that has stopped is watched');
    };
  },
};
