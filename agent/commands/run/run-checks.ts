/** What `monitor-agent run` does. */
import { randomUUID } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { sleep, systemClock } from '@monitor/shared/clock.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { decideRetry } from '@monitor/shared/domain/retry.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { pino } from 'pino';
import { readConfig, type AgentConfig } from '../../config.ts';
import { commandDoors } from '../../doors.ts';
import { processEnvironment } from '../../guard-process.ts';
import { AgentError } from '../../errors.ts';
import { exitCodes } from '../../exit-codes.ts';
import { Permits } from '../../permits.ts';
import { relaunch } from '../../relaunch.ts';
import { openNetwork } from '../../network.ts';
import { poolOf, runners, type RunnerEntry, type RunnerRegistry } from '../../runners/index.ts';
import type { RunFacts } from '../../script-host/run-variables.ts';
import { makeAttempt, type AttemptOutcome, type AttemptTools } from '../../worker/attempt.ts';
import { applyTrust } from '../../link/extra-authorities.ts';
import { ProcessTime } from '../../worker/process-time.ts';
import { findSources } from './find-sources.ts';
import { keepFilesIn } from './kept-files.ts';
import { exitCodeOf, printDetails, printHead, verdictOf } from './print-outcome.ts';
import { printable, printableValue } from '../../printable.ts';
import { readChecks, type ReadCheck, type ReadOptions } from './read-check.ts';
import {
  countsOf,
  readReports,
  stopCommands,
  writeReports,
  type Ran,
  type Report,
} from './reports.ts';
import { FileWatch } from './watch-files.ts';
import { colorsFor } from '../output.ts';

interface RunOptions {
  json?: boolean;
  retries?: boolean;
  watch?: boolean;
  files?: string;
  report: string[];
  envFile: string[];
  env: string[];
}

function needsCode(check: AssignedCheck): boolean {
  const entry: RunnerEntry | undefined = (runners as RunnerRegistry)[check.type];
  return entry !== undefined && poolOf(entry, check) === 'heavy';
}

function factsOf(check: AssignedCheck): Omit<RunFacts, 'attempt'> {
  return {
    accountId: check.accountId,
    checkId: check.id,
    checkName: check.name,
    checkType: check.type,
    runId: randomUUID(),
    resultId: randomUUID(),
    location: 'here',
    scheduledFor: null,
    source: 'CLI',
  };
}

/** Here the bundle of a suite is a file beside its description. */
async function copyBundle({ check, files: [own = ''] }: ReadCheck, to: string): Promise<void> {
  const file = resolve(dirname(own), String(check.definition['codeBundlePath']));
  try {
    await copyFile(file, to);
  } catch (cause) {
    throw new AgentError(
      'CODE_BUNDLE_NOT_FOUND',
      `the code bundle ${file} cannot be read; "codeBundlePath" is looked for beside the file of the check, make it with: tar -czf bundle.tgz -C <project> .`,
      { cause },
    );
  }
}

async function readVariables({ envFile, env }: RunOptions): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const file of envFile) {
    let text: string;
    try {
      text = await readAtMost(file, commandDoors.run.reads.envBytes);
    } catch (cause) {
      throw new AgentError(
        'CONFIG_INVALID',
        `the variables in "${file}" cannot be read: ${cause instanceof Error ? cause.message : String(cause)}; name a file with lines NAME=value`,
        { cause },
      );
    }
    Object.assign(variables, parseEnv(text));
  }
  for (const name of env) {
    const value = processEnvironment[name];
    if (value === undefined) {
      throw new AgentError(
        'CONFIG_INVALID',
        `--env ${name} names a variable that is not set; set it, or take it from a file with --env-file`,
      );
    }
    variables[name] = value;
  }
  return variables;
}

/** Packets are captured and ways are traced for checks that show them. */
function networkConfig(config: AgentConfig, checks: readonly AssignedCheck[]): AgentConfig {
  const facts = checks.map(({ type }) => findAgentType(type));
  if (facts.some((each) => each?.hasNetworkEvidence === true)) return config;
  const isTraced = facts.some((each) => each?.sockets === 'tracer');
  return { ...config, PACKET_CAPTURE: false, TRACEROUTE: config.TRACEROUTE && isTraced };
}

/** Runs checks on this machine; what they need is opened with the first that needs it. */
class Bench implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #config: AgentConfig;
  readonly #signal: AbortSignal;
  readonly #processTime: ProcessTime;
  readonly #light: Permits;
  readonly #heavy: Permits;
  readonly #byId = new Map<string, ReadCheck>();
  #network: ReturnType<typeof openNetwork> | null = null;
  #scripting: Promise<AttemptTools['scripting']> | null = null;

  constructor(config: AgentConfig, signal: AbortSignal) {
    this.#config = config;
    this.#signal = signal;
    this.#processTime = this.#stack.use(new ProcessTime({ clock: systemClock }));
    this.#light = new Permits(config.UPTIME_CONCURRENCY);
    this.#heavy = new Permits(config.JOB_CONCURRENCY);
  }

  async #openNetwork(checks: readonly AssignedCheck[]) {
    this.#network ??= openNetwork(networkConfig(this.#config, checks), processEnvironment).then(
      (network) => this.#stack.use(network),
    );
    return this.#network;
  }

  #openScripting(): Promise<AttemptTools['scripting']> {
    this.#scripting ??= import('../../scripting.ts').then(async ({ openScripting }) => {
      const opened = await openScripting({
        config: this.#config,
        logger: pino({ level: 'silent' }),
        clock: systemClock,
        hidden: [],
        downloadCodeBundle: async (checkId, to) => {
          const read = this.#byId.get(checkId);
          if (read !== undefined) await copyBundle(read, to);
        },
      });
      return this.#stack.use(opened).scripting;
    });
    return this.#scripting;
  }

  async #runOne(
    { check }: ReadCheck,
    network: AttemptTools['network'],
    folder: string | null,
  ): Promise<AttemptOutcome> {
    await using files = await keepFilesIn(folder);
    const tools: AttemptTools = {
      clock: systemClock,
      runners,
      network,
      processTime: this.#processTime,
      scripting: needsCode(check) ? await this.#openScripting() : null,
      scriptingProblem: null,
      artifactsOf: (_resultId, scrubber) => files.of(scrubber),
    };
    const begun = systemClock.monotonic();
    for (let attempt = 1; ; attempt += 1) {
      const run = { ...factsOf(check), attempt };
      const outcome = await makeAttempt(
        { check, run, environmentUrl: null, latestStart: Number.POSITIVE_INFINITY },
        tools,
        this.#signal,
      );
      const decision = decideRetry({
        strategy: check.retryStrategy,
        attempt,
        hasFailures: outcome.hasFailures,
        isNetworkError: outcome.isNetworkError,
        elapsedMs: systemClock.monotonic() - begun,
        hasOtherLocation: false,
      });
      if (decision.kind === 'final' || this.#signal.aborted) return outcome;
      console.error(
        `attempt ${attempt} of ${check.name} failed (${printable(outcome.reason ?? '')}), next in ${decision.delayMs} ms`,
      );
      await sleep(systemClock, decision.delayMs, this.#signal);
    }
  }

  /** In the order of the checks; `onEnd` is called in the order in which they end. */
  async run(
    reads: readonly ReadCheck[],
    folderOf: (read: ReadCheck) => string | null,
    onEnd: (ran: Ran) => void,
  ): Promise<Ran[]> {
    for (const read of reads) this.#byId.set(read.check.id, read);
    const network = await this.#openNetwork(reads.map(({ check }) => check));
    return Promise.all(
      reads.map((read) =>
        (needsCode(read.check) ? this.#heavy : this.#light).run(async () => {
          const outcome = await this.#runOne(read, network, folderOf(read));
          // With --watch it would be kept for ever.
          this.#byId.delete(read.check.id);
          const ran = { read, outcome };
          if (!this.#signal.aborted) onEnd(ran);
          return ran;
        }),
      ),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Checks of several files have a folder each, named so that a shell needs no quotes. */
function folderOf(files: string | undefined, isSingle: boolean) {
  const taken = new Map<string, number>();
  return ({ check, place }: ReadCheck): string | null => {
    if (files === undefined || isSingle) return files ?? null;
    const name = `${basename(place)}-${check.name}`.replace(/[^\w.-]+/g, '-').slice(0, 100);
    const before = taken.get(name) ?? 0;
    taken.set(name, before + 1);
    return join(files, before === 0 ? name : `${name}-${before + 1}`);
  };
}

function summaryOf(runs: readonly Ran[], tookMs: number): string {
  const counts = Object.entries(countsOf(runs)).filter(([, count]) => count > 0);
  const shown = counts.map(([verdict, count]) => `${count} ${verdict}`).join(', ');
  return `${shown} in ${(tookMs / 1_000).toFixed(1)} s`;
}

interface Session {
  bench: Bench;
  reports: readonly Report[];
  options: RunOptions;
  signal: AbortSignal;
}

/** Runs checks, prints and writes what they saw, and sets the exit code. */
async function runOnce(
  reads: readonly ReadCheck[],
  isSingle: boolean,
  { bench, reports, options, signal }: Session,
): Promise<void> {
  const isListed = reports.some(({ kind, file }) => kind === 'list' && file === null);
  const colors = colorsFor(process.stdout);
  const begun = systemClock.monotonic();
  const resume = stopCommands(reports);
  let ended = 0;
  const runs = await bench.run(reads, folderOf(options.files, isSingle), ({ read, outcome }) => {
    ended += 1;
    if (isListed) {
      const shown = printableValue(outcome, { hasLines: true });
      printHead(read.check, shown, colors);
      const isWell = exitCodeOf[verdictOf(outcome)] === exitCodes.ok;
      if (isSingle || !isWell) printDetails(read.scripts, shown, colors);
    } else if (process.stderr.isTTY && !isSingle) {
      process.stderr.write(
        `\r${ended} of ${reads.length} checks ran${ended === reads.length ? '\n' : ''}`,
      );
    }
  });
  if (signal.aborted) return;
  if (isListed && !isSingle) console.log(`\n${summaryOf(runs, systemClock.monotonic() - begun)}`);
  writeReports(reports, runs, { isSingle, cwd: process.cwd() }, resume);
  process.exitCode = Math.max(...runs.map(({ outcome }) => exitCodeOf[verdictOf(outcome)]));
}

async function readAll(given: readonly string[], options: ReadOptions) {
  const found = findSources(given, options.cwd);
  const reads: ReadCheck[] = [];
  for (const source of found.sources) reads.push(...(await readChecks(source, options)));
  return { ...found, reads, isSingle: found.isSingle && reads.length === 1 };
}

/** Runs what changed, until it is interrupted. What cannot be read is said, and waits for the next change. */
async function watchAndRun(
  given: readonly string[],
  readOptions: () => Promise<ReadOptions>,
  session: Session,
  first: Awaited<ReturnType<typeof readAll>>,
): Promise<void> {
  const { signal, options } = session;
  using changes = new FileWatch();
  let known = first;
  for (;;) {
    const files = [
      ...known.reads.flatMap((read) => read.files),
      ...options.envFile.map((file) => resolve(file)),
    ];
    changes.watchOnly(files, known.folders);
    console.error('waiting for changes; Ctrl-C ends');
    const changed = await changes.next(signal).catch(() => null);
    if (changed === null) return;
    try {
      const all = await readAll(given, await readOptions());
      const before = new Set(known.reads.flatMap((read) => read.files));
      const isOfAll = options.envFile.some((file) => changed.has(resolve(file)));
      const affected = all.reads.filter(
        (read) => isOfAll || read.files.some((file) => changed.has(file) || !before.has(file)),
      );
      known = all;
      if (affected.length > 0) await runOnce(affected, all.isSingle, session);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      console.error(printableValue(error.message, { hasLines: true }));
    }
  }
}

export async function run(given: string[], options: RunOptions): Promise<void> {
  const reports = readReports(options.report, options.json === true);
  const readOptions = async (): Promise<ReadOptions> => ({
    cwd: process.cwd(),
    withRetries: options.retries === true,
    variables: await readVariables(options),
  });
  const first = await readOptions();
  const found = await readAll(given, first);
  const { reads, isSingle } = found;
  const types = reads.map(({ check }) => findAgentType(check.type));
  if (types.some((type) => type?.sockets === 'icmp')) relaunch(processEnvironment);
  const environment = { ...first.variables, ...processEnvironment };
  const { config, warnings } = readConfig({ environment, isLinked: false });
  for (const warning of warnings) console.error(warning);
  // Without the authorities in its settings, a certificate would seem to be a failure of the target.
  for (const warning of applyTrust(config, environment, Date.now())) console.error(warning);
  const cancellation = new AbortController();
  const { signal } = cancellation;
  process.once('SIGINT', () => cancellation.abort());
  await using bench = new Bench(config, signal);
  const session: Session = { bench, reports, options, signal };
  await runOnce(reads, isSingle, session);
  if (options.watch === true && !signal.aborted) {
    await watchAndRun(given, readOptions, session, found);
    return;
  }
  if (!signal.aborted) return;
  console.error('interrupted; nothing is said about the target');
  process.exitCode = exitCodes.interrupted;
}
