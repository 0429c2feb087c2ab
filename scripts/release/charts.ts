/**
 * Charts: up to date, valid by the schemas of Kubernetes in every combination of values, accepted by the
 * cluster that is at hand, and packed as a repository.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeChartRepository } from './chart-repository.ts';
import { runLogged, type Finding, type ReleaseContext } from './step.ts';

function hasCluster(): boolean {
  try {
    const options = { timeout: 20_000, stdio: 'ignore' as const };
    execFileSync('kubectl', ['version', '--request-timeout=10s'], options);
    return true;
  } catch {
    return false;
  }
}

export async function makeCharts(context: ReleaseContext): Promise<Finding> {
  const next = 'run `npm run charts`, and commit what it writes';
  await runLogged(context, {
    ...{ name: 'charts-check', next },
    words: ['npm', 'run', 'charts', '--', '--check'],
  });
  await runLogged(context, {
    name: 'charts-tests',
    words: ['npx', 'node', '--test', 'test/scripts/charts/*.test.ts'],
    next: 'mend the templates that the failing tests name',
  });
  const cluster = hasCluster();
  if (cluster) {
    // Its namespace is made first: a server that only looks does not make it.
    await runLogged(context, {
      name: 'charts-cluster',
      words: [
        'kubectl',
        'apply',
        '--dry-run=server',
        '--validate=strict',
        '-f',
        'deploy/kubernetes',
      ],
      next: 'mend the templates, and run `npm run charts`',
    });
  }
  const out = join(context.out, 'charts');
  rmSync(out, { recursive: true, force: true });
  const charts = join(context.checkout, 'deploy', 'charts');
  const made = await makeChartRepository(charts, out, context.epoch);
  const where = cluster ? 'accepted by the cluster at hand' : 'no cluster is at hand';
  return { summary: `valid by the schemas of Kubernetes, ${where}; ${made.join(', ')}` };
}
