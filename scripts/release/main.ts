/**
 * `npm run release -- <version> [--only <step>,…] [--without <step>,…] [--previous <checkout|ref>] [--long] [--list]`:
 * shows that the commit can be released and makes what is published, in `dist/release/<version>/`. It
 * publishes nothing. What passed for the same commit is not repeated: run it again after a step failed. It
 * ends with 0 once every step passed, or was named with --without.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { readOptions, runScript } from '../options.ts';
import { writeChecksums, writeProvenance } from './artefacts.ts';
import { checkLicences, makeBills } from './bill.ts';
import { compareWithPrevious } from './compare.ts';
import { readJson } from './packages.ts';
import * as programs from './programs.ts';
import { accepted, asMarkdown, isReady, type ReleaseReport, type StepReport } from './report.ts';
import { StepFailure, type ReleaseContext, type Step } from './step.ts';
import { upgradeAndBack } from './upgrade.ts';
import { checkVersion } from './version.ts';

/** The quick ones first. Nothing here is published. */
const steps: readonly Step[] = [
  { name: 'clone', title: 'a clean clone installs', run: programs.clone },
  { name: 'version', title: 'manifests, charts and changelog name the version', run: checkVersion },
  { name: 'start', title: 'npm start runs everything', run: programs.firstStart },
  { name: 'packages', title: 'packages for npm, twice the same', run: programs.packTwice },
  { name: 'bills', title: 'what the packages are made of', run: makeBills },
  { name: 'licences', title: 'all licences allow it', run: checkLicences },
  {
    name: 'vulnerabilities',
    title: 'no grave known vulnerabilities',
    run: programs.findVulnerabilities,
  },
  { name: 'stranger', title: 'docs/install.md works on a bare machine', run: programs.walk },
  { name: 'charts', title: 'charts are valid, and packed', run: programs.makeCharts },
  { name: 'cluster', title: 'a cluster accepts the manifests', run: programs.tryOnCluster },
  { name: 'upgrade', title: 'from the releases before, and back', run: upgradeAndBack },
  { name: 'images', title: 'images are built and tried', run: programs.makeImages },
  { name: 'suite', title: 'all tests, on both engines', run: programs.runSuite },
  { name: 'proof', title: 'the promises hold under seeded faults', run: programs.prove },
  { name: 'bench', title: 'no slower than the release before', run: compareWithPrevious },
  { name: 'checksums', title: 'digests of all artefacts', run: writeChecksums },
  { name: 'provenance', title: 'how they were made', run: writeProvenance },
];

/** They are about all artefacts, so they are made again when one of these was. */
const last = ['checksums', 'provenance'];
/** They read what the step `packages` built. */
const onPackages = ['stranger', 'bills', 'licences', 'upgrade', 'bench'];
const usage =
  'npm run release -- <version> [--only <step>,…] [--without <step>,…] [--previous <checkout|ref>] [--long] [--list]';

function namesIn(values: readonly string[]): Set<string> {
  const names = values.flatMap((value) => value.split(','));
  const wrong = names.find((name) => !steps.some((step) => step.name === name));
  if (wrong === undefined) return new Set(names);
  throw new Error(
    `there is no step "${wrong}"; there are ${steps.map(({ name }) => name).join(', ')}`,
  );
}

function contextOf(version: string, previous: string | undefined, isLong: boolean): ReleaseContext {
  const repository = resolve(import.meta.dirname, '..', '..');
  const commit = programs.git(repository, 'rev-parse', 'HEAD');
  const work = join(tmpdir(), `monitor-release-${version}-${commit.slice(0, 8)}`);
  const out = join(repository, 'dist', 'release', version);
  const logs = join(out, 'logs');
  const kept = join(out, 'release.json');
  // What another commit made is no part of this release.
  if (existsSync(kept) && readJson<ReleaseReport>(kept).commit !== commit) {
    rmSync(out, { recursive: true });
  }
  for (const folder of [work, logs]) mkdirSync(folder, { recursive: true });
  return {
    ...{ version, commit, repository, work, out, logs, isLong },
    epoch: Number(programs.git(repository, 'log', '-1', '--format=%ct', commit)),
    checkout: join(work, 'checkout'),
    previous: previous ?? null,
    say: (line) => console.log(`           ${line}`),
  };
}

function openReport(file: string, { version, commit }: ReleaseContext): ReleaseReport {
  const processor = cpus()[0]?.model ?? 'unknown processor';
  const machine =
    `${availableParallelism()} processors (${processor}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ` +
    `load ${loadavg()[0]?.toFixed(1)}, Node ${process.versions.node}.`;
  const kept = existsSync(file) ? readJson<ReleaseReport>(file).steps : [];
  const notRun = { outcome: 'not run yet', seconds: 0, summary: '' } as const;
  const found = steps.map(
    ({ name }) => kept.find((step) => step.name === name) ?? { name, ...notRun },
  );
  return { version, commit, machine, steps: found };
}

async function take({ name, run }: Step, context: ReleaseContext): Promise<StepReport> {
  const startedAt = performance.now();
  const secondsSoFar = (): number => (performance.now() - startedAt) / 1000;
  try {
    const finding = await run(context);
    const outcome = finding.notChecked === undefined ? 'passed' : 'not checked';
    return { name, outcome, seconds: secondsSoFar(), ...finding };
  } catch (error) {
    const summary = error instanceof Error ? error.message : String(error);
    const next = error instanceof StepFailure ? error.next : `run it again with --only ${name}`;
    return { name, outcome: 'failed', seconds: secondsSoFar(), summary, next };
  }
}

const marks = { passed: '✔', failed: '✖', 'not checked': '?', 'left out': '-', 'not run yet': ' ' };

async function main(): Promise<void> {
  const { values, positionals } = readOptions({
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      without: { type: 'string', multiple: true, default: [] },
      previous: { type: 'string' },
      long: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  if (values.list) {
    for (const { name, title } of steps) console.log(`${name.padEnd(16)} ${title}`);
    return;
  }
  const [version] = positionals;
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) throw new Error(usage);
  const [only, without] = [namesIn(values.only), namesIn(values.without)];
  const context = contextOf(version, values.previous, values.long);
  process.chdir(context.repository);
  const file = join(context.out, 'release.json');
  const report = openReport(file, context);
  const keep = (found: StepReport): void => {
    report.steps = report.steps.map((step) => (step.name === found.name ? found : step));
    writeFileSync(file, `${JSON.stringify(report, null, 1)}\n`);
    writeFileSync(join(context.out, 'release.md'), asMarkdown(report));
  };
  const isWanted = (name: string, kept: StepReport): boolean => {
    if (name === 'clone' && !programs.isCloned(context)) return true;
    const isNeeded = name === 'packages' && !existsSync(join(context.work, 'built'));
    if (isNeeded && onPackages.some((each) => only.has(each))) return true;
    if (only.size > 0) return only.has(name);
    return last.includes(name) || kept.outcome !== 'passed';
  };
  for (const [at, step] of steps.entries()) {
    const { name, title } = step;
    const kept = report.steps[at];
    if (kept === undefined) continue;
    if (without.has(name)) {
      keep(accepted(kept));
      continue;
    }
    if (!isWanted(name, kept)) continue;
    console.log(`${new Date().toISOString().slice(11, 19)}   ${name}: ${title}`);
    const found = await take(step, context);
    keep(found);
    console.log(
      `         ${marks[found.outcome]} ${found.seconds.toFixed(1)} s  ${found.summary}` +
        (found.notChecked === undefined ? '' : `; NOT CHECKED: ${found.notChecked}`),
    );
    if (found.outcome !== 'failed') continue;
    console.error(`Next: ${found.next ?? ''}. Then run the same again: what passed is kept.`);
    break;
  }
  console.log(`The report is ${join(context.out, 'release.md')}`);
  if (isReady(report)) {
    rmSync(context.work, { recursive: true, force: true });
    return;
  }
  process.exitCode = 1;
  for (const outcome of ['failed', 'not run yet', 'not checked'] as const) {
    const names = report.steps
      .filter((step) => step.outcome === outcome && step.isAccepted !== true)
      .map(({ name }) => name);
    if (names.length > 0) console.log(`${outcome}: ${names.join(', ')}`);
    if (names.length > 0 && outcome === 'not checked') {
      console.log(`To release without them: --without ${names.join(',')}`);
    }
  }
}

await runScript(main, { status: 2 });
