import type { Command } from 'commander';
import { readConfig, type AgentConfig } from '../config.ts';
import { processEnvironment } from '../guard-process.ts';
import { bytesText, counted, longTime } from '../doctor/units.ts';
import { findBrowserFor } from '../doctor/collect-findings.ts';
import type { Finding } from '../doctor/finding.ts';
import { degradations } from '../doctor/judge-status.ts';
import { openMachine } from '../doctor/machine.ts';
import { askStatus, type StatusAnswer } from '../doctor/running-agent.ts';
import { judgeUnusable } from '../doctor/steps/browser.ts';
import { judgeRuntime } from '../doctor/steps/runtimes.ts';
import { AgentError } from '../errors.ts';
import { listRuntimes } from '../runtimes/installed-runtimes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import { printableValue } from '../printable.ts';
import { colorsFor, table, watchUntilWell, type Colors } from './output.ts';

const help = `
Asks the agent that runs with the same AGENT_DATA_DIR, through a socket in it
that only its user can open.

Exit codes: 0 ready, 1 not ready or degraded (it says why), 2 no agent answers.
`;

const noneRuns = '. Give this command the settings of the agent';
const reasons: Readonly<Record<string, string>> = {
  ENOENT: `there is no socket in it: no agent runs there${noneRuns}`,
  ENOTDIR: `it is not a folder${noneRuns}`,
  ECONNREFUSED: `its socket is left from an agent that has ended${noneRuns}`,
  EACCES: 'its socket belongs to another user: run this as the user of the agent',
  EPERM: 'its socket belongs to another user: run this as the user of the agent',
  TIMEOUT: 'the agent does not answer: it is suspended or stuck: continue it, or restart it',
};

function loadText({ load, now }: AgentStatus): string {
  const { cpuWaitRatio, lastSuspension } = load;
  const waited =
    cpuWaitRatio === null
      ? 'not measured yet'
      : `waits ${Math.round(cpuWaitRatio * 100)} % of the time it wants a CPU`;
  if (lastSuspension === null) return waited;
  const { endedAt, lastedMs } = lastSuspension;
  return `${waited}, was suspended for ${longTime(lastedMs)} until ${longTime(now - endedAt)} ago`;
}

const plusMinus = (ms: number | null): string => (ms === null ? '' : `, ± ${Math.ceil(ms)} ms`);

interface Unusable {
  browsers: Finding[];
  runtimes: Finding[];
}

/** Browsers and runtimes that an agent with types of code cannot use, in the words of doctor. */
async function findUnusable(
  { status, isHere }: StatusAnswer,
  config: AgentConfig,
): Promise<Unusable> {
  if (!isHere || status.scriptingProblem !== null) return { browsers: [], runtimes: [] };
  const found = status.browsers.length > 0 ? null : await findBrowserFor(config);
  return {
    browsers:
      found instanceof AgentError
        ? await judgeUnusable(found, openMachine(), config.AGENT_CHROMIUM_PATH)
        : [],
    runtimes: listRuntimes(config.AGENT_RUNTIMES_DIR)
      .flatMap(judgeRuntime)
      .filter(({ verdict }) => verdict !== 'ok'),
  };
}

/** What makes an agent degraded. A browser that nobody chose may be missing. */
function problemsOf(status: AgentStatus, { browsers, runtimes }: Unusable): string[] {
  const failed = [...browsers, ...runtimes].filter(({ verdict }) => verdict === 'fail');
  return [...degradations(status), ...failed.map(({ evidence }) => evidence)];
}

function rows(status: AgentStatus, unusable: Unusable): string[][] {
  const { now, link, outbox, artifacts, pools, network } = status;
  const ago = (at: number | null): string => (at === null ? 'never' : `${longTime(now - at)} ago`);
  const pool = ({ running, queued, places }: AgentStatus['pools']['light']): string =>
    `${running} running, ${queued} queued, ${counted(places, 'permit')}`;
  const offset = link.clockOffsetMs;
  const failure =
    link.lastFailure === null
      ? []
      : [['last failure', `${ago(link.lastFailure.at)}: ${link.lastFailure.message}`]];
  const waiting =
    outbox.depth === 0
      ? 'none waits'
      : `${outbox.depth} wait (${bytesText(outbox.bytes)}), the oldest since ${ago(outbox.oldestAt)}`;
  const dropped = (count: number): string => (count === 0 ? '' : `, ${count} dropped`);
  const setAside = outbox.setAsideTotal === 0 ? '' : `, ${outbox.setAsideTotal} refused`;
  const list = (names: readonly string[], findings: readonly Finding[]): string =>
    [names.join(', ') || 'none', ...findings.map(({ evidence }) => evidence)].join('; ');
  const errors = Object.entries(status.internalErrors).map(([code, count]) => `${code} ${count}`);
  return [
    [
      'agent',
      `${status.version}, process ${status.pid} on ${status.hostname}, for ${longTime(now - status.startedAt)}`,
    ],
    ['id', status.agentId],
    ['location', status.location ?? 'not known yet'],
    [
      'control plane',
      `${status.controlPlane}: ${link.state} for ${longTime(now - link.since)}, last answer ${ago(link.lastAnswerAt)}`,
    ],
    ...failure,
    [
      'clock',
      offset === null
        ? 'not measured yet'
        : `${Math.round(Math.abs(offset))} ms ${offset >= 0 ? 'behind' : 'ahead of'} the control plane${plusMinus(link.clockUncertaintyMs)}`,
    ],
    ['key', status.key],
    ['checks', `${status.checks} assigned`],
    ['light runs', pool(pools.light)],
    ['heavy runs', pool(pools.heavy)],
    [
      'results',
      `${waiting}${dropped(outbox.droppedTotal)}${setAside}, last delivered ${ago(outbox.lastDeliveredAt)}`,
    ],
    [
      'files',
      `${artifacts.files} wait (${bytesText(artifacts.bytes)})${dropped(artifacts.droppedTotal)}`,
    ],
    ['results for', status.encryption.recipients.join(', ') || 'everybody who sees the check'],
    ['load', loadText(status)],
    ['runtimes', list(status.runtimes, unusable.runtimes)],
    ['browsers', list(status.browsers, unusable.browsers)],
    ['icmp', network.icmp],
    ['capture', network.capture],
    ['traceroute', network.traceroute],
    ['health port', String(status.healthPort)],
    ['own errors', errors.join(', ') || 'none'],
  ];
}

function print(
  status: AgentStatus,
  unusable: Unusable,
  problems: readonly string[],
  colors: Colors,
): void {
  const state =
    problems.length === 0 ? colors.green(status.state) : colors.yellow(`${status.state}, degraded`);
  console.log(status.notReady === null ? state : colors.red(status.state));
  for (const problem of problems) console.log(`  ${colors.yellow('!')} ${problem}`);
  console.log(`\n${table(rows(status, unusable))}`);
}

const watchEveryMs = 2_000;

/** The agent that runs is found by its folders alone: a key whose file was lost hides it not. */
function settings(): { config: AgentConfig; error: AgentError | null } {
  try {
    return { ...readConfig({ environment: processEnvironment }), error: null };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const found = /^(AGENT_(DATA|RUNTIMES)_DIR|AGENT_CHROMIUM_PATH|HOME|XDG_STATE_HOME)$/;
    const environment = Object.fromEntries(
      Object.entries(processEnvironment).filter(([name]) => found.test(name)),
    );
    return { ...readConfig({ environment }), error };
  }
}

export function unanswered(directory: string, code: string): string {
  const why = reasons[code] ?? `its socket cannot be asked (${code})`;
  return `no agent answers in AGENT_DATA_DIR (${directory}): ${why}`;
}

/** Times in the sentences would make each a change. */
async function problemIn(config: AgentConfig): Promise<string | null> {
  const directory = config.AGENT_DATA_DIR;
  const asked = await askStatus(directory);
  if (asked.answer === null) return unanswered(directory, asked.code);
  const { status } = asked.answer;
  const problems = problemsOf(status, await findUnusable(asked.answer, config)).map((problem) =>
    problem.replace(/ for \d+ (second|minute|hour|day)s?\b/, ''),
  );
  return problems.length === 0 ? null : problems.join('; ');
}

/** `monitor-agent status`: what the agent that runs here says of itself. */
export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('show the status of the local agent')
    .option('--json', 'print JSON')
    .option('--watch', 'ask until all is well, and print a line for each change')
    .addHelpText('after', help)
    .action(async (options: { json?: boolean; watch?: boolean }) => {
      const { config, error } = settings();
      const directory = config.AGENT_DATA_DIR;
      if (options.watch === true) {
        await watchUntilWell(() => problemIn(config), watchEveryMs);
        return;
      }
      const asked = await askStatus(directory);
      if (asked.answer === null) {
        if (error !== null) throw error;
        const message = `${unanswered(directory, asked.code)}.`;
        const running = message.includes(noneRuns) ? false : null;
        if (options.json === true) console.log(JSON.stringify({ running, problem: message }));
        else console.error(message);
        process.exitCode = exitCodes.error;
        return;
      }
      const { status } = asked.answer;
      const unusable = await findUnusable(asked.answer, config);
      const problems = problemsOf(status, unusable);
      if (options.json === true) {
        const answer = { running: true, degraded: problems, unusable, ...status };
        console.log(JSON.stringify(answer, null, 2));
      } else
        print(
          printableValue(status),
          printableValue(unusable),
          printableValue(problems),
          colorsFor(process.stdout),
        );
      process.exitCode = problems.length === 0 ? exitCodes.ok : exitCodes.failed;
    });
}
