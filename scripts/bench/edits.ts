/** `npm run bench -- edits`: what the edit of one check costs both programs, beside few and many other checks. */
import { setTimeout as pause } from 'node:timers/promises';
import { openLoad, type Bench } from './load.ts';
import { median, ms, show, treeCpuMs } from './measure.ts';

const sizes = [1_000, 10_000, 50_000];
const edits = 40;
/** The agent writes its schedule a moment after a change. */
const betweenMs = 250;

export async function benchEdits({ system, ports, rounds }: Bench): Promise<void> {
  for (const checks of sizes) {
    const name = `edits-${checks}`;
    const { agent, pid } = await openLoad(system, {
      ...{ name, checks, settleMs: 60_000 },
      fields: { request: { url: `http://127.0.0.1:${ports.http}/` } },
      scheduleOf: () => ({ frequency: 1440 }),
    });
    const [edited] = system.query<{ id: string }>(`select id from checks where name = '${name} 0'`);
    const pids = { 'control plane': system.controlPlane.child.pid ?? 0, agent: pid };
    /** CPU of each program while so many edits are made, in ms. */
    const cost = async (edit: (index: number) => Promise<unknown>): Promise<number[]> => {
      const before = Object.values(pids).map(treeCpuMs);
      for (let index = 0; index < edits; index += 1) {
        await edit(index);
        await pause(betweenMs);
      }
      return Object.values(pids).map((of, index) => treeCpuMs(of) - (before[index] ?? 0));
    };
    const found: number[][] = [];
    for (let round = 0; round < rounds; round += 1) {
      const idle = await cost(() => Promise.resolve());
      const busy = await cost((index) =>
        system.api('PUT', `/v1/checks/url/${edited?.id ?? ''}`, { name: `${name} ${index}` }),
      );
      found.push(busy.map((each, index) => (each - (idle[index] ?? 0)) / edits));
    }
    await agent.kill9();
    const middle = Object.keys(pids).map(
      (program, index) => [program, ms(median(found.map((each) => each[index] ?? 0)))] as const,
    );
    show(`edit of one of ${checks} checks, CPU`, Object.fromEntries(middle));
  }
}
