/** An update: each program is replaced by another one, which is no disturbance. */
import { between, type ProofCase } from '../case.ts';
import { open } from '../lane.ts';

/** After each agent it is the turn of the control plane, and then of an agent and the control plane at once. */
const turns = 4;

/** Nothing excuses a missed slot here, so it has a world of its own. */
export const rollingUpdate: ProofCase = {
  name: 'rolling-update',
  plays: 'agents and the control plane are replaced one after the other, as an update does it',
  prepareWorld: () => ({ settings: {} }),
  async join(world) {
    const lane = await world.makeLane('rolling-update', { agents: 2 });
    await world.addUsualSubjects(lane);
    let turn = 0;
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 500, isShort ? 2_500 : 20_000));
      turn += 1;
      const isOfBoth = turn % turns === 0;
      if (!isOfBoth && turn % turns !== turns - 1) {
        note('update of an agent');
        await lane.replaceFirst();
        return;
      }
      note(isOfBoth ? 'update of an agent and the control plane' : 'update of the control plane');
      const interruption = open(world.interruptions);
      const returns = lane.agents.slice(isOfBoth ? 1 : 0).map((agent) => agent.checkedInAgain());
      const replacement = isOfBoth ? lane.replaceFirst() : null;
      await world.system.replaceControlPlane();
      await Promise.all([...returns, replacement]);
      interruption.close();
    };
  },
};
