/** The promises under seeded faults, with the report beside the artefacts. */
import { join } from 'node:path';
import type { Report } from '../../proof/report.ts';
import { readJson } from './packages.ts';
import { runLogged, type Finding, type ReleaseContext } from './step.ts';

const longHours = '4';

export async function prove(context: ReleaseContext): Promise<Finding> {
  const out = join(context.out, 'proof');
  await runLogged(context, {
    name: 'proof',
    words: [
      ...['npm', 'run', 'proof', '--', '--out', out],
      ...(context.isLong ? ['--long', longHours] : []),
    ],
    next: `read ${out}, and run the command that repeats the same faults`,
  });
  const { seed, tally, notRun } = readJson<Report>(join(out, 'proof.json'));
  const reasons = notRun.map(({ name, reason }) => `${name}: ${reason}`);
  return {
    summary: `every line is zero: seed ${seed}, ${tally.slots} slots, ${tally.alerts} alerts`,
    ...(reasons.length > 0 && { notChecked: reasons.join('; ') }),
  };
}
