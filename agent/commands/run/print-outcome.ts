/** How `monitor-agent run` shows one run to people. */
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { exchangeOf, type NetworkDiagnostics } from '@monitor/shared/contract/check-result.ts';
import { exitCodes } from '../../exit-codes.ts';
import { tracerouteText } from '../../net/traceroute/text.ts';
import type { AttemptOutcome } from '../../worker/attempt.ts';
import { table, type Colors } from '../output.ts';
import { describeScriptError, type ScriptSource } from './script-error.ts';

function printEvidence(evidence: NetworkDiagnostics, colors: Colors): void {
  const { capture, events, traceroute, tracerouteMissing } = evidence;
  const rows = events.map(({ at, phase, event }) => [' ', `${at.toFixed(1)} ms`, phase, event]);
  console.log(`\n${colors.bold('events')}\n${table(rows)}`);
  const packets = capture.kind === 'packets' ? `${capture.packets} packets` : '';
  const said = [packets, capture.missing ?? ''].filter((text) => text !== '').join('; ');
  console.log(`\n${colors.bold('capture')}\n  ${said}`);
  const way = traceroute === null ? (tracerouteMissing ?? '') : tracerouteText(traceroute).trim();
  console.log(`\n${colors.bold('traceroute')}\n  ${way.replaceAll('\n', '\n  ')}`);
}

type ScriptResult = Pick<
  NonNullable<AttemptOutcome['browserCheckResult']>,
  'tests' | 'errors' | 'jobLog'
>;
export type Verdict = 'passed' | 'degraded' | 'failed' | 'error';

export function verdictOf(outcome: AttemptOutcome): Verdict {
  if (outcome.hasErrors) return 'error';
  if (outcome.hasFailures) return 'failed';
  return outcome.isDegraded ? 'degraded' : 'passed';
}

export const exitCodeOf: Record<Verdict, number> = {
  passed: exitCodes.ok,
  degraded: exitCodes.ok,
  failed: exitCodes.failed,
  error: exitCodes.error,
};

export function paint(colors: Colors, verdict: Verdict): string {
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
    ...['status', 'statusText', 'httpVersion', 'href', 'redirects', 'remoteAddress'],
    ...['resolvedIp', 'ipFamily', 'returnCode', 'protocol', 'cipherSuite', 'daysUntilExpiry'],
    ...['hostnameVerified', 'chainTrusted', 'ocspStatus', 'totalHops', 'truncationReason'],
    ...['packetLoss', 'packetsReceived', 'grpcMethod', 'grpcStatusCode', 'grpcStatusMessage'],
    ...['healthStatusLabel', 'responseMessage', 'data', 'truncated'],
  ];
  return shown.flatMap((name) => {
    const value = response[name];
    if (value === undefined || value === null || value === '') return [];
    return [
      [name, typeof value === 'string' ? JSON.stringify(value).slice(0, 120) : String(value)],
    ];
  });
}

function printScript(
  scripts: readonly ScriptSource[],
  { tests, errors, jobLog }: ScriptResult,
  colors: Colors,
): void {
  const mark = { expected: colors.green('ok  '), flaky: colors.yellow('flaky') };
  for (const { title, outcome, durationMs } of tests) {
    const shown = outcome in mark ? mark[outcome as keyof typeof mark] : colors.red(outcome);
    console.log(`  ${shown} ${title} ${colors.dim(`${Math.round(durationMs)} ms`)}`);
  }
  for (const error of errors) {
    console.log(`\n${colors.red(describeScriptError(error, scripts))}`);
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

/** The result of a script, for types that run one. */
export function scriptResultOf(outcome: AttemptOutcome): ScriptResult | null {
  return (
    outcome.browserCheckResult ?? outcome.multiStepCheckResult ?? outcome.playwrightCheckResult
  );
}

/** The verdict in one line. */
export function printHead(check: AssignedCheck, outcome: AttemptOutcome, colors: Colors): void {
  const verdict = paint(colors, verdictOf(outcome));
  console.log(`${verdict}  ${check.name}  ${colors.dim(`${outcome.responseTime} ms`)}`);
}

/** What was seen, below the verdict. */
export function printDetails(
  scripts: readonly ScriptSource[],
  outcome: AttemptOutcome,
  colors: Colors,
): void {
  const script = scriptResultOf(outcome);
  // It is shown below with its place.
  const isShown = script?.errors.some(({ message }) => message === outcome.reason) === true;
  if (outcome.reason !== null && !isShown) console.log(`  ${outcome.reason}`);
  for (const { name, withheld } of outcome.artifacts) {
    console.log(
      `  ${colors.dim('file')} ${name}${withheld === null ? '' : `: withheld, ${withheld}`}`,
    );
  }
  if (script !== null) printScript(scripts, script, colors);
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
}
