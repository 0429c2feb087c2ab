/**
 * `node scripts/test.ts [--concurrency 2] [--only shared|own] [--engine sqlite|postgres] <glob>…`: runs test
 * files, several to a process (see `tests/plan.ts`) or only those that share one or need their own: first
 * each that burns every processor, then so many at once that compute, and half as many that wait; tests that
 * start a control plane in their process run on SQLite and once more on PostgreSQL, or on one of them. Says
 * how far it is, and names the files that took the most time and CPU. Ends with 1 when a test failed. One file alone:
 * `node --test <file>`, on PostgreSQL with `TEST_DATABASE=postgres`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { readOptions, refuse } from './options.ts';
import { isLong, testSeed } from '../test/support/random.ts';
import { makeTemplate, templateVariable } from '../test/support/postgres.ts';
import { programsVariable } from '../test/support/programs.ts';
import { bundle, programNames } from './build/bundle.ts';
import { endedCpuMs } from './bench/measure.ts';
import { startPostgres } from './cluster/postgres.ts';
import { reachableFolder } from './cluster/reachable-folder.ts';
import {
  filesForPostgres,
  filesForSqlite,
  needsOwnProcess,
  planGroups,
  type Group,
  type Load,
  type TestEngine,
} from './tests/plan.ts';
import type { ReportLine } from './tests/reporter.ts';
import { describeFile, describeRun, resultsOf, type FileResult } from './tests/summary.ts';

/** Only a test that hangs lasts so long, also on a machine ten times slower. */
const testTimeoutMs = 1_200_000;
/** A process whose tests are over and that does not end keeps something open. */
const processTimeoutMs = 7_200_000;

/** Tests make much that is dropped at once: with more room for it a tenth of their CPU is saved. */
const roomForYoung = ['--min-semi-space-size=32', '--max-semi-space-size=64'];

/**
 * A change should not fail for what another one broke, so the same commit plays the same. What is rare is looked for
 * by the long tier and by single files, which draw a seed.
 */
const seed = process.env['TEST_SEED'] ?? (isLong ? String(testSeed()) : '1');

const rootFolder = join(import.meta.dirname, '..');
const part = (name: string): string => join(import.meta.dirname, 'tests', name);

const { values, positionals } = readOptions({
  allowPositionals: true,
  options: {
    // Processes of tests wait for a third of their time.
    concurrency: { type: 'string', default: String(availableParallelism() + 1) },
    only: { type: 'string' },
    engine: { type: 'string' },
  },
});
process.chdir(rootFolder);
if (![undefined, 'shared', 'own'].includes(values.only)) {
  refuse(`--only is "shared" or "own", not "${values.only ?? ''}"`);
}
const sources = new Map(
  globSync(positionals)
    .map((file) => [file, readFileSync(file, 'utf8')] as const)
    .filter(([file, source]) => {
      const isOwn = needsOwnProcess(file, source);
      return values.only === undefined || isOwn === (values.only === 'own');
    }),
);
if (![undefined, 'sqlite', 'postgres'].includes(values.engine)) {
  refuse(`--engine is "sqlite" or "postgres", not "${values.engine ?? ''}"`);
}
if (sources.size === 0) {
  refuse(`No test file matches ${positionals.join(' ') || 'nothing: name a glob'}`);
}
// A run within a run starts the programs of the outer one.
const given = process.env[programsVariable];
const programs = given ?? join(rootFolder, 'node_modules', '.cache', 'programs');
if (given === undefined) for (const name of programNames) await bundle(name, join(programs, name));
const reports = mkdtempSync(join(tmpdir(), 'test-reports-'));

function linesOf(report: string): ReportLine[] {
  // A process that was killed leaves half a line, or no file at all.
  try {
    const whole = readFileSync(report, 'utf8').split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line) as ReportLine);
  } catch {
    return [];
  }
}

async function runGroup({ files, engine }: Group, number: number): Promise<FileResult[]> {
  const report = join(reports, String(number));
  const child = spawn(
    process.execPath,
    [
      ...roomForYoung,
      `--test-timeout=${testTimeoutMs}`,
      `--test-reporter=${part('reporter.ts')}`,
      `--test-reporter-destination=${report}`,
      part('load.ts'),
      ...files,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: processTimeoutMs,
      killSignal: 'SIGKILL',
      env: {
        ...process.env,
        // A test of this program is run by the same runner, which marks its children.
        NODE_TEST_CONTEXT: undefined,
        TEST_DATABASE: engine === 'sqlite' ? undefined : engine,
        // Tests beside SQLite that need a PostgreSQL take the one of this run as well.
        [templateVariable]: template,
        [programsVariable]: programs,
        TEST_SEED: seed,
        NODE_COMPILE_CACHE: join(rootFolder, 'node_modules', '.cache', 'compiled'),
      },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000);
    });
  }
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const paths = files.map((file) => join(rootFolder, file));
  const results = resultsOf(paths, linesOf(report)).map((result) => ({
    ...result,
    file: `${relative(rootFolder, result.file)}${engine === 'sqlite' ? '' : ', on PostgreSQL'}`,
  }));
  const [first] = results;
  if (code !== 0 && first !== undefined && results.every(({ failures }) => failures.length === 0)) {
    const name = `the process of ${files.join(', ')}`;
    const reason = `It ended with ${signal ?? code}.\n${output}`;
    first.failures.push({ name, place: first.file, reason });
  } else if (results.some(({ failures }) => failures.length > 0) && output !== '') {
    first?.notes.push(`Its process wrote:\n${output}`);
  }
  return results;
}

// As root, tests start programs of other users.
if (process.getuid?.() === 0) process.env['TMPDIR'] = reachableFolder();
const startedAt = performance.now();
const filesOf: Record<TestEngine, string[]> = {
  sqlite: filesForSqlite(sources),
  postgres: filesForPostgres(sources, (file) => readFileSync(file, 'utf8'), isLong),
};
const groups = (['sqlite', 'postgres'] as const)
  .filter((engine) => values.engine === undefined || values.engine === engine)
  .flatMap((engine) => {
    const files = filesOf[engine].map((file) => [file, sources.get(file) ?? ''] as const);
    return planGroups(new Map(files), engine);
  })
  // Those of one file fill the lanes at the end.
  .sort((left, right) => right.files.length - left.files.length);
const total = groups.reduce((sum, { files }) => sum + files.length, 0);
await using server = groups.some(({ engine }) => engine === 'postgres')
  ? await startPostgres({ settings: { max_connections: 500 } })
  : null;
const template = server?.url('template_monitor');
if (server !== null && template !== undefined) {
  await server.query('create database template_monitor');
  await makeTemplate(template);
}
const done: FileResult[] = [];
let started = 0;
/** The next process. Lanes that compute take those that wait when nothing else is left. */
function nextGroup(lane: Load): Group | undefined {
  const preferred = groups.findIndex(({ load }) => load === lane);
  if (preferred === -1 && lane !== 'computes') return undefined;
  return groups.splice(Math.max(preferred, 0), 1)[0];
}
async function work(lane: Load): Promise<void> {
  for (;;) {
    const group = nextGroup(lane);
    if (group === undefined) return;
    for (const result of await runGroup(group, (started += 1))) {
      done.push(result);
      const place = `${String(done.length).padStart(3)}/${total}`;
      console.log(`${place} ${describeFile(result)}`);
    }
  }
}
const lanes = Number(values.concurrency);
try {
  await work('burns');
  await Promise.all([
    ...Array.from({ length: lanes }, () => work('computes')),
    // They start systems of several processes: more of them than half only make all slower.
    ...Array.from({ length: Math.floor(lanes / 2) }, () => work('waits')),
  ]);
} finally {
  rmSync(reports, { recursive: true, force: true });
}
console.log(describeRun(done, performance.now() - startedAt));
console.log(`${Math.round(endedCpuMs() / 1000)} s of CPU, TEST_SEED=${seed}`);
if (done.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
