import { systemClock } from '@monitor/shared/clock.ts';
import type { Substitution } from '@monitor/shared/contract/runtime-substitutions.ts';
import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import { processEnvironment } from '../guard-process.ts';
import { AgentError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { builtinRuntime } from '../runtimes/builtin-runtime.ts';
import { installRuntime, removeRuntime } from '../runtimes/install-runtime.ts';
import { listRuntimes, type RuntimeOnDisk } from '../runtimes/installed-runtimes.ts';
import { oneAtATime } from '../runtimes/one-at-a-time.ts';
import { knownRuntimeIds, planOf } from '../runtimes/runtime-plan.ts';
import type { Verification } from '../runtimes/verified.ts';
import { verifyRuntime, type Progress } from '../runtimes/verify-runtime.ts';
import { isLively, table } from './output.ts';

const verbs = { packages: 'fetching packages', verification: 'testing packages' };

/** Shows progress: one changing line on a terminal, otherwise a line per step. */
function progressOn(
  stream: NodeJS.WriteStream,
  id: string,
): { show: (progress: Progress) => void; end: () => void } {
  const isLive = isLively(stream);
  let shownPhase: string | null = null;
  return {
    show({ phase, done, total }) {
      const count = total === 0 ? String(done) : `${done} of ${total}`;
      if (isLive) stream.write(`\r\u001b[K${id}: ${verbs[phase]}: ${count}`);
      else if (phase !== shownPhase) stream.write(`${id}: ${verbs[phase]}\n`);
      shownPhase = phase;
    },
    end() {
      if (isLive && shownPhase !== null) stream.write('\r\u001b[K');
    },
  };
}

const examples = `
Examples:
  monitor-agent runtime list
  monitor-agent runtime install 2026.04 2025.04
  monitor-agent runtime verify
  monitor-agent runtime remove 2024.09

Runtimes are in AGENT_RUNTIMES_DIR; a running agent offers a new one within a
minute. RUNTIME_POLICY says what a check gets whose runtime is missing.
Exit codes: 0 done, 1 a runtime does not work, 2 it could not be done.
`;

interface Options {
  json?: boolean;
  force?: boolean;
  exact?: boolean;
}

function directoryOf(): string {
  return readConfig({ environment: processEnvironment }).config.AGENT_RUNTIMES_DIR;
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

function exchangeText({ package: name, wanted, instead, reason }: Substitution): string {
  return instead === null
    ? `${name} ${wanted} is left out: ${reason}`
    : `${name} ${instead} instead of ${wanted}: ${reason}`;
}

/** What an installation is, as JSON shows it. */
function factsOf(id: string, state: string, verification: Verification | null) {
  return {
    id,
    state,
    node: verification?.nodeVersion ?? null,
    playwright: verification?.playwrightVersion ?? null,
    packages: verification === null ? null : Object.keys(verification.packages).length,
    sizeBytes: verification?.sizeBytes ?? null,
    verifiedAt: verification === null ? null : new Date(verification.verifiedAt).toISOString(),
    failures: verification?.failures ?? [],
    substitutions: knownRuntimeIds.includes(id) ? planOf(id).substitutions : [],
  };
}

function printRows(rows: readonly ReturnType<typeof factsOf>[]): void {
  console.log(
    table([
      ['RUNTIME', 'STATE', 'NODE', 'PLAYWRIGHT', 'PACKAGES', 'SIZE'],
      ...rows.map(({ id, state, node, playwright, packages, sizeBytes }) => [
        id,
        state,
        node ?? '-',
        playwright ?? '-',
        packages === null ? '-' : String(packages),
        sizeBytes === null ? '-' : megabytes(sizeBytes),
      ]),
    ]),
  );
  for (const { id, state, substitutions, failures } of rows) {
    if (state === 'not installed') continue;
    for (const exchange of substitutions) console.log(`${id}: ${exchangeText(exchange)}`);
    for (const failure of failures) console.log(`${id}: ${failure.package}: ${failure.error}`);
  }
}

function list({ json }: Options): void {
  const directory = directoryOf();
  const onDisk = listRuntimes(directory);
  const others = knownRuntimeIds.filter((id) => !onDisk.some((runtime) => runtime.id === id));
  const builtin = builtinRuntime();
  const rows = [
    ...onDisk.map(({ id, state, verification }) => factsOf(id, state, verification)),
    ...others.map((id) => factsOf(id, 'not installed', null)),
  ];
  if (json === true) {
    const packages = builtin?.packages ?? null;
    console.log(JSON.stringify({ directory, runtimes: rows, builtin: packages }, null, 2));
    return;
  }
  printRows(rows);
  console.log(
    builtin === null
      ? '\nThis agent carries no Playwright of its own.'
      : `\nChecks that name no runtime use the newest, or else Playwright ${builtin.packages['playwright'] ?? ''} of the agent itself.`,
  );
}

async function install(
  ids: readonly string[],
  { json, force, exact = false }: Options,
): Promise<void> {
  // Packages are no secret, and runs that have a user of their own read them.
  process.umask(0o022);
  const directory = directoryOf();
  const plans = ids.map((id) => planOf(id, { exact }));
  const installed: ReturnType<typeof factsOf>[] = [];
  for (const plan of plans) {
    const progress = progressOn(process.stderr, plan.id);
    const begun = systemClock.monotonic();
    const { isNew, verification } = await installRuntime({
      plan,
      directory,
      environment: processEnvironment,
      now: () => systemClock.now(),
      force: force ?? false,
      onProgress: progress.show,
    }).finally(progress.end);
    installed.push(factsOf(plan.id, 'ready', verification));
    if (json === true) continue;
    const seconds = Math.round((systemClock.monotonic() - begun) / 1000);
    console.log(
      isNew
        ? `${plan.id} is ready: ${Object.keys(verification.packages).length} packages, Node ${verification.nodeVersion}, ${megabytes(verification.sizeBytes)}, in ${seconds} s`
        : `${plan.id} is ready already; --force installs it again`,
    );
    for (const exchange of plan.substitutions) console.log(`  ${exchangeText(exchange)}`);
  }
  if (json === true) console.log(JSON.stringify({ directory, runtimes: installed }, null, 2));
}

function chosen(directory: string, ids: readonly string[]): RuntimeOnDisk[] {
  const finished = listRuntimes(directory).filter(({ state }) => state !== 'unfinished');
  for (const id of ids) {
    if (finished.some((runtime) => runtime.id === id)) continue;
    throw new AgentError(
      'RUNTIME_MISSING',
      `runtime ${planOf(id).id} is not installed in ${directory}; "monitor-agent runtime install ${id}" does that`,
    );
  }
  return ids.length === 0 ? finished : finished.filter(({ id }) => ids.includes(id));
}

async function verify(ids: readonly string[], { json }: Options): Promise<void> {
  const directory = directoryOf();
  const runtimes = chosen(directory, ids);
  const rows: ReturnType<typeof factsOf>[] = [];
  for (const { id, folder } of runtimes) {
    const progress = progressOn(process.stderr, id);
    const found = await oneAtATime(directory, () =>
      verifyRuntime({ id, folder, now: () => systemClock.now(), onProgress: progress.show }),
    ).finally(progress.end);
    rows.push(factsOf(id, found.failures.length === 0 ? 'ready' : 'broken', found));
  }
  if (json === true) console.log(JSON.stringify({ directory, runtimes: rows }, null, 2));
  else if (rows.length === 0) console.log(`no runtime is installed in ${directory}`);
  else printRows(rows);
  process.exitCode = rows.every(({ state }) => state === 'ready') ? exitCodes.ok : exitCodes.failed;
}

async function remove(ids: readonly string[], { json }: Options): Promise<void> {
  const directory = directoryOf();
  const removed: string[] = [];
  for (const { id } of ids.map((each) => planOf(each))) {
    if (!(await removeRuntime(directory, id))) {
      throw new AgentError('RUNTIME_MISSING', `runtime ${id} is not installed in ${directory}`);
    }
    removed.push(id);
    if (json !== true) console.log(`${id} is removed`);
  }
  if (json === true) console.log(JSON.stringify({ directory, removed }, null, 2));
}

/** `monitor-agent runtime`: which runtimes this agent has; installing, testing and removing them. */
export function registerRuntime(program: Command): void {
  const runtime = program
    .command('runtime')
    .description('manage the npm packages that scripts can import')
    .addHelpText('after', examples);
  runtime
    .command('list')
    .description('list runtimes, and which are installed and working')
    .option('--json', 'print JSON')
    .action(list);
  runtime
    .command('install')
    .description('install runtimes and test every package of them')
    .argument('<id...>', knownRuntimeIds.join(', '))
    .option('--force', 'install again what is ready')
    .option('--exact', 'the versions of the catalogue to the letter, without the lock')
    .option('--json', 'print JSON')
    .action(install);
  runtime
    .command('verify')
    .description('test every package of the installed runtimes')
    .argument('[id...]', 'all that are installed, unless named')
    .option('--json', 'print JSON')
    .action(verify);
  runtime
    .command('remove')
    .description('remove runtimes')
    .argument('<id...>')
    .option('--json', 'print JSON')
    .action(remove);
}
