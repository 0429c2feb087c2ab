/** `npm run bench -- slots`: both programs with many checks: lateness from the slot to its run, cost and memory. */
import { setTimeout as pause } from 'node:timers/promises';
import { openLoad, type Bench } from './load.ts';
import { ms, quantile, show, treeCpuMs, treePssMib, treeWrittenBytes } from './measure.ts';

const checks = 10_000;

export async function benchSlots({ system, ports }: Bench): Promise<void> {
  const name = 'bench-slots';
  // The slots made up for at the start are late by design; what counts comes after them.
  const { agent, pid } = await openLoad(system, {
    ...{ name, checks, settleMs: 12_000 },
    fields: { request: { url: `http://127.0.0.1:${ports.http}/` } },
    fieldsOf: (index) => ({ frequency: 1, frequencyOffset: 1 + (index % 10) }),
  });
  const since = Date.now();
  const pids = { agent: pid, 'control plane': system.controlPlane.child.pid ?? 0 };
  const costOf = (of: number) => ({ cpuMs: treeCpuMs(of), written: treeWrittenBytes(of) });
  const before = Object.entries(pids).map(([program, of]) => ({ program, of, ...costOf(of) }));
  await pause(60_000);
  const spent = before.map(({ program, of, ...then }) => {
    const now = costOf(of);
    const [cpuMs, written] = [now.cpuMs - then.cpuMs, now.written - then.written];
    return { program, pss: treePssMib(of), cpuMs, written };
  });
  await agent.kill9();
  const late = system
    .query<{ late: number }>(
      `select started_at - scheduled_for as late from check_results
       where run_location = '${name}' and scheduled_for >= ${since}`,
    )
    .map((row) => row.late);
  show(`${checks} URL checks at 1/min`, {
    slots: String(late.length),
    'lateness p50': ms(quantile(late, 0.5)),
    p99: ms(quantile(late, 0.99)),
    most: ms(Math.max(...late)),
  });
  for (const { program, cpuMs, written, pss } of spent) {
    show(`${program}, the same`, {
      'CPU per check': ms(cpuMs / late.length),
      'written per result': `${(written / late.length / 1_000).toFixed(1)} KB`,
      PSS: `${pss.toFixed(0)} MiB`,
    });
  }
}
