/** The stranger's path with the packages of the release. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';
import { goStrangersPath, strangerProblem } from './stranger.ts';

export async function walk({ checkout, out, say }: ReleaseContext): Promise<Finding> {
  const problem = await strangerProblem();
  if (problem !== null)
    return { summary: 'the commands of docs/install.md were not run', notChecked: problem };
  const page = readFileSync(join(checkout, 'docs/install.md'), 'utf8');
  const run = await goStrangersPath(page, join(out, 'packages'), say);
  if (run.problem !== null) {
    throw new StepFailure(run.problem, 'mend docs/install.md, or what it describes');
  }
  const summary = `${run.steps.length} commands in ${run.seconds.toFixed(0)} s with Node ${run.node}`;
  return { summary, figures: run };
}
