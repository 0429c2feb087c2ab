import { randomUUID } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { sleep, systemClock } from '@monitor/shared/clock.ts';
import { decideRetry } from '@monitor/shared/domain/retry.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { exchangeOf } from '@monitor/shared/contract/check-result.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import type { Command } from 'commander';
import { pino } from 'pino';
import { readConfig } from '../config.ts';
import { processEnvironment } from '../guard-process.ts';
import { AgentError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { relaunch } from '../relaunch.ts';
import { openNetwork } from '../network.ts';
import { poolOf, runners, type RunnerEntry, type RunnerRegistry } from '../runners/index.ts';
import type { RunFacts } from '../script-host/run-variables.ts';
import { makeAttempt, type AttemptOutcome, type AttemptTools } from '../worker/attempt.ts';
import { applyTrust } from '../link/extra-authorities.ts';
import { ProcessTime } from '../worker/process-time.ts';
import { checkFromArgument } from './check-argument.ts';
import { keepFilesIn } from './kept-files.ts';
import { printEvidence } from './print-evidence.ts';
import { printable, printableValue } from '../printable.ts';
import { describeScriptError, type ScriptSource } from './script-error.ts';
import { colorsFor, table, type Colors } from './output.ts';

const examples = `
Examples:
  monitor-agent run https://example.com
  monitor-agent run tcp://db.internal:5432
  monitor-agent run "dns://10.0.0.2/shop.internal?type=MX"
  monitor-agent run icmp://10.0.0.1
  monitor-agent run ssl://shop.internal:8443
  monitor-agent run grpc://orders.internal:50051
  monitor-agent run traceroute://shop.internal
  monitor-agent run check.json --json        a check with "checkType"
  monitor-agent run browser.json --files out keep its trace, screenshots and
                                             report in out/; of a failure in the
                                             network, capture.pcap

Exit codes: 0 passed or degraded, 1 failed, 2 could not be run.
`;

type ScriptResult = Pick<
  NonNullable<AttemptOutcome['browserCheckResult']>,
  'tests' | 'errors' | 'jobLog'
>;
type Verdict = 'passed' | 'degraded' | 'failed' | 'error';

function verdictOf(outcome: AttemptOutcome): Verdict {
  if (outcome.hasErrors) return 'error';
  if (outcome.hasFailures) return 'failed';
  return outcome.isDegraded ? 'degraded' : 'passed';
}

const exitCodeOf: Record<Verdict, number> = {
  passed: exitCodes.ok,
  degraded: exitCodes.ok,
  failed: exitCodes.failed,
  error: exitCodes.error,
};

function paint(colors: Colors, verdict: Verdict): string {
  const by = {
    passed: colors.green,
    degraded: colors.yellow,
    failed: colors.red,
    error: colors.magenta,
  };
  return by[verdict](verdict.toUpperCase());
}

function milliseconds(value: unknown): string {
  return typeof value === 'number' ? `${value.toFixed(2)} ms` : String(value);
}

/** The hops of a way, as a traceroute monitor saw them; none of other responses. */
function hopRows({ hops }: Record<string, unknown>): string[][] {
  if (!Array.isArray(hops)) return [];
  return (hops as Record<string, unknown>[]).map((hop) => {
    const { avg_ms: avg } = (hop['rtt'] ?? {}) as { avg_ms?: number };
    return [
      String(hop['hop_number']),
      String(hop['main_ip'] || 'no answer'),
      String(hop['main_host']),
      `${String(hop['loss_percentage'])} % lost`,
      avg === undefined ? '' : milliseconds(avg),
    ];
  });
}

/** The parts of a response that tell most, by what is there. */
function facts(response: Record<string, unknown>): string[][] {
  const shown = [
    'status',
    'statusText',
    'httpVersion',
    'href',
    'redirects',
    'remoteAddress',
    'resolvedIp',
    'ipFamily',
    'returnCode',
    'protocol',
    'cipherSuite',
    'daysUntilExpiry',
    'hostnameVerified',
    'chainTrusted',
    'ocspStatus',
    'totalHops',
    'truncationReason',
    'packetLoss',
    'packetsReceived',
    'grpcMethod',
    'grpcStatusCode',
    'grpcStatusMessage',
    'healthStatusLabel',
    'responseMessage',
    'data',
    'truncated',
  ];
  return shown.flatMap((name) => {
    const value = response[name];
    if (value === undefined || value === null || value === '') return [];
    return [
      [name, typeof value === 'string' ? JSON.stringify(value).slice(0, 120) : String(value)],
    ];
  });
}

function scriptOf({ definition }: AssignedCheck): ScriptSource | null {
  const { script, scriptPath } = definition;
  if (typeof script !== 'string') return null;
  return { path: typeof scriptPath === 'string' ? scriptPath : null, text: script };
}

function printScript(
  check: AssignedCheck,
  { tests, errors, jobLog }: ScriptResult,
  colors: Colors,
): void {
  const mark = { expected: colors.green('ok  '), flaky: colors.yellow('flaky') };
  for (const { title, outcome, durationMs } of tests) {
    const shown = outcome in mark ? mark[outcome as keyof typeof mark] : colors.red(outcome);
    console.log(`  ${shown} ${title} ${colors.dim(`${Math.round(durationMs)} ms`)}`);
  }
  for (const error of errors) {
    console.log(`\n${colors.red(describeScriptError(error, scriptOf(check)))}`);
  }
  if (jobLog.length === 0) return;
  console.log(`\n${colors.bold('log')}`);
  for (const { level, msg } of jobLog) console.log(`  ${level.padEnd(5)} ${msg}`);
}

function printAgentic(
  { summary, assertions }: NonNullable<AttemptOutcome['agenticCheckResult']>,
  colors: Colors,
): void {
  if (summary !== '') console.log(`  ${summary}`);
  for (const { condition, passed, actual } of assertions) {
    const shown = passed ? colors.green('held') : colors.red('failed');
    console.log(`  ${shown} ${condition}${passed ? '' : ` (${actual})`}`);
  }
}

function timeOf({ responseTime, agentWaitMs }: AttemptOutcome): string {
  const waited = Math.round(agentWaitMs);
  return waited === 0
    ? `${responseTime} ms`
    : `${responseTime} ms (this machine was held up for ${waited} ms during the run)`;
}

function printForPeople(check: AssignedCheck, outcome: AttemptOutcome, colors: Colors): void {
  const verdict = verdictOf(outcome);
  console.log(`${paint(colors, verdict)}  ${check.name}  ${colors.dim(timeOf(outcome))}`);
  const script =
    outcome.browserCheckResult ?? outcome.multiStepCheckResult ?? outcome.playwrightCheckResult;
  // It is shown below with its place.
  const isShown = script?.errors.some(({ message }) => message === outcome.reason) === true;
  if (outcome.reason !== null && !isShown) console.log(`  ${outcome.reason}`);
  for (const { name, withheld } of outcome.artifacts) {
    console.log(
      `  ${colors.dim('file')} ${name}${withheld === null ? '' : `: withheld, ${withheld}`}`,
    );
  }
  if (script !== null) printScript(check, script, colors);
  if (outcome.agenticCheckResult !== null) printAgentic(outcome.agenticCheckResult, colors);
  const seen = exchangeOf(outcome);
  if (seen === null) return;
  const response = seen.response ?? {};
  const phases = response['timingPhases'] ?? response['latency'];
  const sections: [string, string[][]][] = [
    ['response', facts(response)],
    ['hops', hopRows(response)],
    [
      'timings',
      Object.entries(typeof phases === 'object' && phases !== null ? phases : {}).map(
        ([name, value]) => [name, milliseconds(value)],
      ),
    ],
    [
      'assertions',
      seen.assertions.map((assertion) => [
        assertion.error === undefined ? colors.green('held') : colors.red('failed'),
        [assertion.source, assertion.property, assertion.comparison, String(assertion.target)]
          .filter((part) => part !== '')
          .join(' '),
        assertion.error ?? '',
      ]),
    ],
    [
      'log',
      (['setup', 'request', 'teardown'] as const).flatMap((section) =>
        seen.jobLog[section].map(({ level, msg }) => [section, level, msg]),
      ),
    ],
  ];
  for (const [title, rows] of sections) {
    if (rows.length === 0) continue;
    console.log(`\n${colors.bold(title)}\n${table(rows.map((row) => [' ', ...row]))}`);
  }
  if (seen.networkDiagnostics !== null) printEvidence(seen.networkDiagnostics, colors);
  if (typeof response['answer'] === 'string') console.log(`\n${response['answer']}`);
  if (outcome.underLoad)
    console.log(colors.yellow('\nthis machine was busy; times may be too long'));
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
async function copyBundle(argument: string, check: AssignedCheck, to: string): Promise<void> {
  const file = resolve(dirname(argument), String(check.definition['codeBundlePath']));
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

/** `monitor-agent run`: one check, here and now, without a control plane. */
export function registerRun(program: Command): void {
  program
    .command('run')
    .description('run one check without a control plane and print what it saw')
    .argument('<check>', 'a file with a check, or an address')
    .option('--json', 'print the result as JSON')
    .option('--retries', 'follow the retry strategy of the check')
    .option('--files <folder>', 'keep the files of the run there: traces, screenshots, captures')
    .addHelpText('after', examples)
    .action(
      async (argument: string, options: { json?: boolean; retries?: boolean; files?: string }) => {
        const check = checkFromArgument(argument, options.retries === true);
        const facts = findAgentType(check.type);
        if (facts?.sockets === 'icmp') relaunch(processEnvironment);
        const { config } = readConfig({ environment: processEnvironment });
        // Without the authorities in its settings, a certificate would seem to be a failure of the target.
        for (const warning of applyTrust(config, processEnvironment, Date.now())) {
          console.error(warning);
        }
        await using stack = new AsyncDisposableStack();
        const files = stack.use(await keepFilesIn(options.files ?? null));
        const network = stack.use(
          await openNetwork(
            facts?.hasNetworkEvidence === true
              ? config
              : {
                  ...config,
                  PACKET_CAPTURE: false,
                  TRACEROUTE: config.TRACEROUTE && facts?.sockets === 'tracer',
                },
            processEnvironment,
          ),
        );
        const cancellation = new AbortController();
        process.once('SIGINT', () => {
          cancellation.abort();
        });
        const opened = needsCode(check)
          ? stack.use(
              await (
                await import('../scripting.ts')
              ).openScripting({
                config,
                logger: pino({ level: 'silent' }),
                clock: systemClock,
                hidden: [],
                downloadCodeBundle: (_checkId, to) => copyBundle(argument, check, to),
              }),
            )
          : null;
        const tools: AttemptTools = {
          clock: systemClock,
          runners,
          network,
          processTime: stack.use(new ProcessTime({ clock: systemClock })),
          scripting: opened?.scripting ?? null,
          scriptingProblem: null,
          artifactsOf: (_resultId, scrubber) => files.of(scrubber),
        };
        const begun = systemClock.monotonic();
        let outcome: AttemptOutcome;
        for (let attempt = 1; ; attempt += 1) {
          const run = { ...factsOf(check), attempt };
          outcome = await makeAttempt(
            { check, run, environmentUrl: null, latestStart: Number.POSITIVE_INFINITY },
            tools,
            cancellation.signal,
          );
          const decision = decideRetry({
            strategy: check.retryStrategy,
            attempt,
            hasFailures: outcome.hasFailures,
            isNetworkError: outcome.isNetworkError,
            elapsedMs: systemClock.monotonic() - begun,
            hasOtherLocation: false,
          });
          if (decision.kind === 'final' || cancellation.signal.aborted) break;
          console.error(
            `attempt ${attempt} failed (${printable(outcome.reason ?? '')}), next in ${decision.delayMs} ms`,
          );
          await sleep(systemClock, decision.delayMs, cancellation.signal);
        }
        if (cancellation.signal.aborted) {
          console.error('interrupted; nothing is said about the target');
          process.exitCode = exitCodes.interrupted;
          return;
        }
        const verdict = verdictOf(outcome);
        if (options.json === true) {
          const { isNetworkError: _network, faultCode, ...result } = outcome;
          console.log(
            JSON.stringify(
              { verdict, checkType: check.type, name: check.name, faultCode, ...result },
              null,
              2,
            ),
          );
        } else {
          const shown = printableValue(outcome, { hasLines: true });
          printForPeople(check, shown, colorsFor(process.stdout, processEnvironment['NO_COLOR']));
        }
        process.exitCode = exitCodeOf[verdict];
      },
    );
}
