/** Steps that run what there is for it already, in a clean clone, and say what came of it. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, Program } from '../../proof/program.ts';
import type { Report } from '../../proof/report.ts';
import { buildah, buildahProblem } from '../images/buildah.ts';
import { chooseTargets, publishedAs } from '../images/targets.ts';
import { digestOf, makeChartRepository } from './artefacts.ts';
import { readJson } from './packages.ts';
import { runLogged, StepFailure, type Finding, type ReleaseContext } from './step.ts';
import { goStrangersPath, strangerProblem } from './stranger.ts';

export function git(folder: string, ...words: string[]): string {
  return execFileSync('git', ['-C', folder, ...words], { encoding: 'utf8' }).trim();
}

/** A clone at a commit, with its packages installed as the README says. */
export async function cloneInstalled(
  context: ReleaseContext,
  commit: string,
  folder: string,
): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  git('.', 'clone', '--quiet', '--no-checkout', context.repository, folder);
  git(folder, 'checkout', '--quiet', '--detach', commit);
  await runLogged(context, {
    ...{ name: `clone-${commit.slice(0, 8)}`, words: ['npm', 'ci', '--prefer-offline'], folder },
    next: 'mend package-lock.json with `npm install --package-lock-only`, and commit it',
  });
}

/** Whether an earlier run has made it whole. */
export const isCloned = ({ checkout }: ReleaseContext): boolean =>
  existsSync(join(checkout, 'node_modules', '.package-lock.json'));

/** The first command of the README: everything after it works on what is committed. */
export async function clone(context: ReleaseContext): Promise<Finding> {
  await cloneInstalled(context, context.commit, context.checkout);
  const changes = git(context.repository, 'status', '--porcelain').split('\n').filter(Boolean);
  const left =
    changes.length === 0 ? '' : `; ${changes.length} changes are not committed, so not in it`;
  return { summary: `${context.commit.slice(0, 8)} is cloned and installed${left}` };
}

/** The second command of the README, until it says that everything runs. */
export async function firstStart({ checkout, work, logs }: ReleaseContext): Promise<Finding> {
  // Five targets and two agents take ports in a row.
  const first = await freePort(8);
  const logFile = join(logs, 'npm-start.log');
  const startedAt = performance.now();
  const ports = {
    PORT: String(first),
    AGENT_HEALTH_PORT: String(first + 1),
    DEMO_TARGET_PORT: String(first + 3),
  };
  const words = ['--prefix', checkout, 'start'];
  const environment = { ...ports, DEMO_DATA_DIR: join(work, 'demo') };
  const program = new Program(words, environment, { before: ['npm', []], logFile });
  // As Ctrl-C in a terminal does: to all of its group.
  const stop = (signal: NodeJS.Signals): void => {
    if (program.child.pid !== undefined) process.kill(-program.child.pid, signal);
  };
  const timer = setTimeout(stop, 300_000, 'SIGKILL');
  try {
    await program.line('are running');
    stop('SIGINT');
    await program.exited;
  } catch (error) {
    throw new StepFailure(`npm start: ${String(error)}`, `read ${logFile}`);
  } finally {
    clearTimeout(timer);
  }
  const { code, signal } = await program.exited;
  if (code !== 0 && signal !== 'SIGINT') {
    throw new StepFailure(`npm start ended with ${signal ?? code}`, `read ${logFile}`);
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  return { summary: `npm start ran everything and stopped, in ${seconds} s` };
}

/** Packages for npm, made twice: the same commit must give the same bytes. */
export async function packTwice(context: ReleaseContext): Promise<Finding> {
  const { out, work } = context;
  const [packages, again] = [join(out, 'packages'), join(work, 'again')];
  for (const folder of [packages, again]) {
    rmSync(folder, { recursive: true, force: true });
    await runLogged(context, {
      name: 'packages',
      words: ['npm', 'run', 'packages', '--', '--built', join(work, 'built'), '--out', folder],
      next: 'run `npm run packages` and mend what it names',
    });
  }
  const files = globSync('*.tgz', { cwd: again }).sort();
  const differing = files.filter(
    (file) => digestOf(join(packages, file)) !== digestOf(join(again, file)),
  );
  if (differing.length > 0) {
    throw new StepFailure(
      `built twice, ${differing.join(' and ')} differ`,
      `compare the contents below ${packages} and ${again}`,
    );
  }
  const sizes = files.map((file) => [file, statSync(join(again, file)).size] as const);
  const shown = sizes.map(([file, bytes]) => `${file} ${(bytes / 1e6).toFixed(1)} MB`);
  return { summary: `${shown.join(', ')}; twice the same`, figures: Object.fromEntries(sizes) };
}

/** The stranger's path with the packages of the release. */
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

interface Audit {
  metadata?: { vulnerabilities?: Record<string, number> };
  vulnerabilities?: Record<string, { severity: string; isDirect: boolean }>;
  error?: { summary?: string };
  message?: string;
}

/** Npm ends with 1 when it found something, and when it could not ask. */
function audit(cwd: string): Audit {
  const words = ['audit', '--json', '--omit=dev'];
  try {
    return JSON.parse(
      execFileSync('npm', words, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 }),
    ) as Audit;
  } catch (error) {
    const { stdout, message } = error as { stdout?: string; message: string };
    return stdout?.startsWith('{') === true ? (JSON.parse(stdout) as Audit) : { message };
  }
}

/** Known vulnerabilities of what is installed, where the registry answers such questions. */
export function findVulnerabilities({ checkout }: ReleaseContext): Promise<Finding> {
  const { vulnerabilities, metadata, error, message } = audit(checkout);
  if (vulnerabilities === undefined) {
    const why = [error?.summary, message].find(Boolean) ?? 'without a reason';
    return Promise.resolve({
      summary: 'known vulnerabilities were not looked for',
      notChecked: `the registry does not answer (${why.split('\n')[0]})`,
    });
  }
  const found = Object.entries(vulnerabilities);
  const grave = found.filter(([, { severity }]) => severity === 'high' || severity === 'critical');
  if (grave.length > 0) {
    throw new StepFailure(
      `known vulnerabilities in ${grave.map(([name, { severity }]) => `${name} (${severity})`).join(', ')}`,
      'run `npm audit` for what they are, and take versions without them',
    );
  }
  return Promise.resolve({
    summary: `${found.length} packages with known vulnerabilities, none of them grave`,
    figures: metadata?.vulnerabilities,
  });
}

/** Up to date, valid by the schemas of Kubernetes in every combination of values, and packed as a repository. */
export async function makeCharts(context: ReleaseContext): Promise<Finding> {
  await runLogged(context, {
    ...{ name: 'charts-check', words: ['npm', 'run', 'charts', '--', '--check'] },
    next: 'run `npm run charts`, and commit what it writes',
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

function hasCluster(): boolean {
  try {
    const options = { timeout: 20_000, stdio: 'ignore' as const };
    execFileSync('kubectl', ['version', '--request-timeout=10s'], options);
    return true;
  } catch {
    return false;
  }
}

export async function tryOnCluster(context: ReleaseContext): Promise<Finding> {
  if (!hasCluster()) {
    const summary = 'no cluster was asked about the manifests';
    return { summary, notChecked: 'kubectl reaches no cluster' };
  }
  // Its namespace is made first: a server that only looks does not make it.
  const strictly = ['--dry-run=server', '--validate=strict', '-f', 'deploy/kubernetes'];
  await runLogged(context, {
    ...{ name: 'cluster', words: ['kubectl', 'apply', ...strictly] },
    next: 'mend the templates, and run `npm run charts`',
  });
  return { summary: 'the cluster at hand accepts the manifests (a dry run: nothing is installed)' };
}

/** Images, built from the commit, tried, and kept as archives that any engine loads. */
export async function makeImages(context: ReleaseContext): Promise<Finding> {
  const problem = await buildahProblem();
  if (problem !== null) return { summary: 'no images were made', notChecked: problem };
  const next = 'run `npm run images -- build all` and `-- smoke all` by hand';
  for (const command of ['build', 'smoke']) {
    const words = ['npm', 'run', 'images', '--', command, 'all'];
    await runLogged(context, { name: `images-${command}`, words, next });
  }
  const folder = join(context.out, 'images');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const made: Record<string, number> = {};
  for (const target of chooseTargets(['all'])) {
    const { archive, reference } = publishedAs(target, context.version);
    await buildah('push', target.image, `docker-archive:${join(folder, archive)}:${reference}`);
    made[archive] = statSync(join(folder, archive)).size;
  }
  return { summary: `built, tried and kept: ${Object.keys(made).join(', ')}`, figures: made };
}

export async function runSuite(context: ReleaseContext): Promise<Finding> {
  const next = 'run the files that failed alone, and mend them';
  const output = await runLogged(context, { name: 'suite', words: ['npm', 'test'], next });
  return { summary: output.trimEnd().split('\n').at(-1) ?? '' };
}

/** The promises under seeded faults, for four hours where the release is long, with the report beside the artefacts. */
export async function prove(context: ReleaseContext): Promise<Finding> {
  const out = join(context.out, 'proof');
  const long = context.isLong ? ['--long', '4'] : [];
  await runLogged(context, {
    ...{ name: 'proof', words: ['npm', 'run', 'proof', '--', '--out', out, ...long] },
    next: `read ${out}, and run the command that repeats the same faults`,
  });
  const { seed, tally, notRun } = readJson<Report>(join(out, 'proof.json'));
  const reasons = notRun.map(({ name, reason }) => `${name}: ${reason}`);
  return {
    summary: `every line is zero: seed ${seed}, ${tally.slots} slots, ${tally.alerts} alerts`,
    ...(reasons.length > 0 && { notChecked: reasons.join('; ') }),
  };
}
