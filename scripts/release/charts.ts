/**
 * Charts: up to date, valid by the schemas of Kubernetes in every combination of values, packed as a
 * repository, and accepted by the cluster that is at hand.
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
  const out = join(context.out, 'charts');
  rmSync(out, { recursive: true, force: true });
  const charts = join(context.checkout, 'deploy', 'charts');
  const made = await makeChartRepository(charts, out, context.epoch);
  return { summary: `valid by the schemas of Kubernetes; ${made.join(', ')}` };
}

export async function tryOnCluster(context: ReleaseContext): Promise<Finding> {
  if (!hasCluster()) {
    return {
      summary: 'no cluster was asked about the manifests',
      notChecked: 'kubectl reaches no cluster',
    };
  }
  // Its namespace is made first: a server that only looks does not make it.
  const strictly = ['--dry-run=server', '--validate=strict', '-f', 'deploy/kubernetes'];
  await runLogged(context, {
    name: 'cluster',
    words: ['kubectl', 'apply', ...strictly],
    next: 'mend the templates, and run `npm run charts`',
  });
  return { summary: 'the cluster at hand accepts the manifests (a dry run: nothing is installed)' };
}
