/**
 * From what the shards of a suite came to, to the one outcome of their run. Pure. Each test counts once, also
 * where each shard ran it, as Playwright does with what projects depend on; the worst of its outcomes counts.
 *
 *   a shard failed                    the run failed, whatever became of the others
 *   else one ended in an agent error  the run is an agent error: nothing is claimed about the target
 *   else one did not end in time      the same, and its number is said
 *   else one is degraded              the run is degraded
 *   else no shard had a test          the run failed: the filters let no test through
 *   else                              the run passed
 */
import { maxComparisons } from '@monitor/shared/contract/baseline.ts';
import {
  artifactReference,
  noDetails,
  type PlaywrightCheckResult,
  type ScriptTest,
} from '@monitor/shared/contract/check-result.ts';
import type { ShardOutcome } from '@monitor/shared/contract/agent-protocol.ts';
import { errorLine } from '@monitor/shared/error-line.ts';
import { pagesOfShards, severity, testsOfShards } from '@monitor/shared/domain/merged-suite.ts';
import { withoutDeadLinks } from '../../artifacts/without-dead-links.ts';
import { isUndecided } from '../../browsers/run-baselines.ts';
import { unjudged } from '../../runners/scripts/run-failure.ts';
import type { AttemptOutcome } from '../attempt.ts';

/** What became of each shard, in their order; null for one that did not end in time. */
export type Shards = readonly (ShardOutcome | null)[];

/** What the coordinator knows of the whole. */
export interface WholeRun {
  startedAt: number;
  stoppedAt: number;
  log: PlaywrightCheckResult['jobLog'];
}

const maxTests = 2_000;
const maxErrors = 1_000;
const maxMessages = 100;
const maxLines = 10_000;
/** Most files of one result. */
const maxFiles = 200;

type Details = PlaywrightCheckResult;

const unique = <T>(values: readonly T[]): T[] => [
  ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
];

/** Each shard gets its part of the log of a result, up to its end. */
function logOf(shards: Shards, own: Details['jobLog']): Details['jobLog'] {
  const share = Math.floor((maxLines - own.length) / shards.length);
  const ofShards = shards.flatMap((shard, index) =>
    (shard?.playwrightCheckResult?.jobLog ?? [])
      .slice(-share)
      .map((line) => ({ ...line, msg: `[shard ${index + 1}] ${line.msg}` })),
  );
  return [...own, ...ofShards];
}

function detailsOf(shards: Shards, whole: WholeRun) {
  const all = shards.flatMap((shard) => shard?.playwrightCheckResult ?? []);
  const { tests, metrics } = testsOfShards(all);
  // What explains a failure comes first: a result has room for so much.
  const inOrder = [...all].sort((left, right) => right.metrics.failed - left.metrics.failed);
  const compared = inOrder.flatMap((one) => one.screenshotComparisons ?? []);
  const comparisons = compared.slice(0, maxComparisons);
  const details: Details = {
    errors: unique(inOrder.flatMap(({ errors }) => errors)).slice(0, maxErrors),
    ...{ startTime: whole.startedAt, endTime: whole.stoppedAt },
    runtimeVersion: all.map((one) => one.runtimeVersion).find((version) => version !== '') ?? '',
    jobLog: logOf(shards, whole.log),
    jobAssets: inOrder.flatMap(({ jobAssets }) => jobAssets),
    playwrightTestTraces: inOrder.flatMap((one) => one.playwrightTestTraces),
    playwrightTestJsonReportFile:
      inOrder.flatMap((one) => one.playwrightTestJsonReportFile ?? [])[0] ?? null,
    tests: tests.slice(0, maxTests),
    pages: pagesOfShards(all),
    playwrightTestVideos: inOrder.flatMap((one) => one.playwrightTestVideos),
    playwrightTraceFiles: inOrder.flatMap((one) => one.playwrightTraceFiles),
    ...(comparisons.length > 0 && { screenshotComparisons: comparisons }),
    metrics,
  };
  return { details, tests };
}

type Kind = 'passed' | 'degraded' | 'failed' | 'agent-error';
type Decision = { kind: Kind } & Pick<AttemptOutcome, 'reason' | 'faultCode'>;

const isBroken = ({ outcome, quarantined, errors }: ScriptTest): boolean =>
  outcome === 'unexpected' && quarantined !== true && !isUndecided(errors);

const firstLine = (text: string): string => errorLine([text]).slice(0, 300);

/** The verdict of a run by its shards; see above. */
export function decideShards(shards: Shards, tests: readonly ScriptTest[]): Decision {
  const passed: Decision = { kind: 'passed', reason: null, faultCode: null };
  const said = (index: number): string =>
    `shard ${index + 1} of ${shards.length}: ${shards[index]?.reason ?? 'no reason is known'}`;
  const failed = shards.findIndex((shard) => shard?.hasFailures === true);
  if (failed >= 0) {
    const broken = tests.filter(isBroken);
    const [first] = shards.flatMap((shard) => shard?.errorMessages ?? []);
    const reason =
      broken.length > 0 && first !== undefined
        ? `${broken.length} of ${tests.length} tests failed: ${firstLine(first)}`
        : said(failed);
    return { ...passed, kind: 'failed', reason };
  }
  const broken = shards.findIndex((shard) => shard?.hasErrors === true);
  if (broken >= 0) {
    const { faultCode = 'RUNNER_BROKEN' } = shards[broken] ?? {};
    return { kind: 'agent-error', reason: said(broken), faultCode };
  }
  const missing = shards.flatMap((shard, index) => (shard === null ? [String(index + 1)] : []));
  if (missing.length > 0) {
    return {
      kind: 'agent-error',
      reason: `${missing.length === 1 ? 'shard' : 'shards'} ${missing.join(', ')} of ${shards.length} did not end in time: the agents that ran them are gone, or too busy`,
      faultCode: 'SHARDS_UNFINISHED',
    };
  }
  // Of one whose details had no room nobody knows how many it had.
  if (shards.every((shard) => shard?.playwrightCheckResult?.metrics.total === 0)) {
    return { ...passed, kind: 'failed', reason: 'the test command ran no tests in any shard' };
  }
  const degraded = shards.findIndex((shard) => shard?.isDegraded === true);
  const why = degraded < 0 ? unjudged(tests) : said(degraded);
  return why === null ? passed : { ...passed, kind: 'degraded', reason: why };
}

/** One line for a shard, in the log of its run. */
export function lineOfShard(index: number, total: number, outcome: ShardOutcome): string {
  const { hasFailures, isDegraded, playwrightCheckResult: details } = outcome;
  const verdict = hasFailures ? 'failed' : isDegraded ? 'degraded' : 'passed';
  const ending = `${verdict}, ${details === null ? 'its details had no room' : `${details.metrics.total} tests`}`;
  const said = outcome.hasErrors ? `agent error: ${outcome.reason ?? ''}` : ending;
  return `shard ${index} of ${total}: ${said}`;
}

/** Without images nobody can approve them; then comes what explains failures. */
function filesInOrder(shards: Shards, { screenshotComparisons: compared = [] }: Details) {
  const actual = new Set(compared.map((one) => one.actual));
  const others = new Set(compared.flatMap(({ expected, diff }) => [expected, diff]));
  const rankOf = ({ hasFailures, isDegraded }: ShardOutcome, name: string): number => {
    const reference = artifactReference(name);
    if (actual.has(reference)) return 0;
    if (others.has(reference)) return 1;
    return hasFailures ? 2 : isDegraded ? 3 : 4;
  };
  return shards
    .flatMap((shard) =>
      (shard?.artifacts ?? []).map((file) => ({
        file,
        rank: shard === null ? 4 : rankOf(shard, file.name),
      })),
    )
    .sort((left, right) => left.rank - right.rank)
    .map(({ file }) => file);
}

export function mergeShards(shards: Shards, whole: WholeRun): AttemptOutcome {
  const files = shards.reduce((sum, shard) => sum + (shard?.artifacts.length ?? 0), 0);
  const dropped = Math.max(0, files - maxFiles);
  const msg = `${dropped} files are not kept: a result carries ${maxFiles}`;
  const log = dropped === 0 ? [] : [{ time: whole.stoppedAt, level: 'WARN', msg }];
  const { details, tests } = detailsOf(shards, { ...whole, log: [...whole.log, ...log] });
  const kept = filesInOrder(shards, details).slice(0, maxFiles);
  const { kind, reason, faultCode } = decideShards(shards, tests);
  const ended = shards.filter((shard) => shard !== null);
  const messages = unique(ended.flatMap(({ errorMessages }) => errorMessages));
  const isFailed = kind === 'failed';
  const outcome: AttemptOutcome = {
    ...noDetails,
    ...{ startedAt: whole.startedAt, stoppedAt: whole.stoppedAt },
    responseTime:
      kind === 'agent-error' ? 0 : Math.max(0, ...ended.map((shard) => shard.responseTime)),
    ...{
      hasFailures: isFailed,
      hasErrors: kind === 'agent-error',
      isDegraded: kind === 'degraded',
    },
    overMaxResponseTime: false,
    underLoad: ended.some(({ underLoad }) => underLoad),
    agentWaitMs: Math.max(0, ...ended.map(({ agentWaitMs = 0 }) => agentWaitMs)),
    ...{ isNetworkError: false, reason, faultCode, requests: [], learnedScript: null },
    errorMessages: isFailed
      ? (messages.length > 0 ? messages : [reason ?? '']).slice(0, maxMessages)
      : [],
    playwrightCheckResult: details,
    artifacts: kept,
  };
  if (dropped === 0) return outcome;
  // Shards have said themselves what they withheld.
  const coming = kept.filter(({ withheld }) => withheld === null);
  return withoutDeadLinks(outcome, coming, whole.stoppedAt);
}

/** The same without what explains least, until it takes at most so many bytes as JSON. Its log says what is missing. */
export function fittedOutcome(outcome: ShardOutcome, maxBytes: number): ShardOutcome {
  const { playwrightCheckResult: details } = outcome;
  if (details === null) return outcome;
  const without = (what: string, part: Partial<Details>): ShardOutcome => {
    const msg = `too much for one shard, left out: ${what}`;
    const jobLog = [
      ...(part.jobLog ?? details.jobLog),
      { time: details.endTime, level: 'WARN', msg },
    ];
    return { ...outcome, playwrightCheckResult: { ...details, ...part, jobLog } };
  };
  const bare = details.tests.map((test) => ({ ...test, steps: [] }));
  const tests = details.tests.map((test) =>
    severity[test.outcome] > 1 ? { ...test, steps: [] } : test,
  );
  const jobLog = details.jobLog.slice(-100);
  const tries = [
    outcome,
    without('the steps of tests that passed', { tests }),
    without('the steps of all tests, and older lines of this log', { tests: bare, jobLog }),
  ];
  for (let count = bare.length; count > 0; count = Math.floor(count / 2)) {
    const fewer = bare.slice(0, count).map((test) => ({ ...test, errors: [], tags: [] }));
    const what = `all but ${count} of ${bare.length} tests, their steps and errors, and the rest of this log`;
    tries.push(without(what, { tests: fewer, errors: details.errors.slice(0, 5), jobLog: [] }));
  }
  const fits = (one: ShardOutcome) => Buffer.byteLength(JSON.stringify(one)) <= maxBytes;
  return tries.find(fits) ?? { ...outcome, errorMessages: [], playwrightCheckResult: null };
}

/** An agent error in the place of what nobody can read. */
export function brokenShard(at: number, reason: string): ShardOutcome {
  return {
    ...{ startedAt: at, stoppedAt: at, responseTime: 0, hasFailures: false, hasErrors: true },
    ...{ isDegraded: false, overMaxResponseTime: false, underLoad: false },
    ...{ faultCode: 'RUNNER_BROKEN', reason: reason.slice(0, 16_384) },
    ...{ errorMessages: [], artifacts: [], playwrightCheckResult: null },
  };
}

/** Whether a test that was not cut off makes it a failure. */
export function failedByItself(outcome: Pick<ShardOutcome, 'playwrightCheckResult'>): boolean {
  return (outcome.playwrightCheckResult?.tests ?? []).some(
    (test) => isBroken(test) && test.status !== 'interrupted',
  );
}
