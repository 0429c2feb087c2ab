/** Starts an image of the agent, has it run its checks, stops it, and counts. */
import { writeFileSync } from 'node:fs';
import { Container } from '../container.ts';
import type { ImageTarget } from '../targets.ts';
import { codeChecks, monitorChecks, type CodeOfImage, type SmokeCheck } from './checks.ts';
import { pingRanges, type Scenario } from './scenarios.ts';
import { answers, until, type World } from './world.ts';

export interface Trial {
  readyMs: number;
  /** Of all processes of the container, before the first check. */
  idleRssBytes: number;
  drainMs: number;
  results: number;
}

interface Result {
  id: string;
  resultType: string;
  hasErrors: boolean;
  hasFailures: boolean;
}

const current = ['2026.04', '2025.04'];
const codeOf: Readonly<Record<string, CodeOfImage>> = {
  full: { runtimes: current, hasPackageManagers: false },
  migration: { runtimes: [...current, '2024.09'], hasPackageManagers: false },
  dev: { runtimes: current, hasPackageManagers: true },
};

const readiness = 'http://127.0.0.1:8081/-/readiness';
const settleMs = 3_000;
const gracePeriodMs = 30_000;
const minute = 60_000;

function expect(isTrue: boolean, problem: string): void {
  if (!isTrue) throw new Error(problem);
}

/**
 * Orphans of a command become children of process 1, which must not let them stay as zombies. Those of
 * runs that end in this moment are there for as long as their parents take to look.
 */
async function checkReaping(container: Container): Promise<void> {
  await container.exec(['sh', '-c', 'for i in 1 2 3; do (sleep 0.1 &) ; done']);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const zombies = () => container.processes().filter(({ state }) => state.startsWith('Z'));
  const first = new Set(zombies().map(({ pid }) => pid));
  const left = () => zombies().filter(({ pid }) => first.has(pid));
  await until(
    () => Promise.resolve(left().length === 0),
    10_000,
    () => `zombies are left: ${JSON.stringify(left())}`,
  );
}

function entriesOf(log: string[]): Record<string, unknown>[] {
  return log.flatMap((line) => {
    try {
      return [JSON.parse(line) as Record<string, unknown>];
    } catch {
      return [];
    }
  });
}

/** The first value of a field in the log. */
function saidOf(fact: string, log: string[]): string {
  const value = entriesOf(log).find((entry) => entry[fact] !== undefined)?.[fact];
  return typeof value === 'string' ? value : 'not said';
}

const isComplaint = (level: unknown): boolean =>
  typeof level === 'number' ? level >= 40 : /warn|error|fatal/.test(String(level));

/** What lacks is in the log with its name and with what helps, and nothing else is complained of. */
function checkLog(log: string[], scenario: Scenario): void {
  const first = (fact: string): string => saidOf(fact, log);
  const { user = '10001:0' } = scenario;
  const [, group = ''] = user.split(':');
  const noIcmp = `net.ipv4.ping_group_range is "${pingRanges[scenario.pingRange]}" and does not include group ${group}`;
  const icmp = first('icmp');
  expect(
    scenario.icmp === 'none' ? icmp.includes(noIcmp) : icmp === scenario.icmp,
    `the log says of ICMP: ${icmp}`,
  );
  const capture = first('capture');
  expect(
    scenario.hasCapture ? capture === 'ready' : capture.includes('has no CAP_NET_RAW'),
    `the log says of capture: ${capture}`,
  );
  const traceroute = first('traceroute');
  expect(traceroute === 'ready', `the log says of traceroutes: ${traceroute}`);
  const expected = /runs of code share the user of the agent/;
  const complaints = entriesOf(log).filter(
    ({ level, msg }) => isComplaint(level) && !expected.test(String(msg)),
  );
  expect(complaints.length === 0, `it complains: ${JSON.stringify(complaints)}`);
}

async function checkHealthCommand(container: Container): Promise<void> {
  const [, ...words] = container.config.Healthcheck?.Test ?? [];
  const { code, output } = await container.exec(words);
  expect(code === 0, `the health check ended with ${String(code)}: ${output}`);
}

async function checkDoctor(container: Container, { icmp }: Scenario): Promise<void> {
  const { output } = await container.exec(['monitor-agent', 'doctor', '--json']);
  const { findings } = JSON.parse(output) as { findings: { id: string; verdict: string }[] };
  const verdict = findings.find(({ id }) => id === 'icmp')?.verdict;
  expect(
    verdict !== undefined && (verdict === 'ok') === (icmp !== 'none'),
    `doctor says ${verdict ?? 'nothing'} of ICMP: ${output}`,
  );
}

async function checkReadOnly(container: Container): Promise<void> {
  const { code } = await container.exec(['sh', '-c', 'touch /opt/x /usr/x /etc/x /var/lib/x']);
  expect(code !== 0, 'the root can be written');
}

/** Waits for a FINAL result and holds it against what is expected. */
async function finalOf(world: World, id: string, check: SmokeCheck, log: string[]): Promise<void> {
  const path = `/v1/check-results/${id}?limit=10`;
  const final = await until(
    async () => {
      const results = await world.api<Result[]>('GET', path);
      return results.find(({ resultType }) => resultType === 'FINAL');
    },
    3 * minute,
    () => `no FINAL result of "${check.body.name}":\n${log.slice(-15).join('\n')}`,
  );
  const wanted = check.endsInError === true;
  const whole = await world.api<{
    browserCheckResult: { playwrightTestVideos: string[] } | null;
  }>('GET', `/v1/check-results/${id}/${final.id}`);
  const lacksVideo =
    check.hasVideo === true && whole.browserCheckResult?.playwrightTestVideos.length !== 1;
  if (final.hasErrors !== wanted || final.hasFailures || lacksVideo) {
    throw new Error(
      `"${check.body.name}" ended otherwise: ${JSON.stringify(whole).slice(0, 3000)}\n${log.slice(-10).join('\n')}`,
    );
  }
}

async function finals(world: World, id: string): Promise<number> {
  const results = await world.api<Result[]>('GET', `/v1/check-results/${id}?limit=100`);
  return results.filter(({ resultType }) => resultType === 'FINAL').length;
}

/** Tries one image in one scenario. Throws with what went wrong. */
export async function tryAgent(
  target: ImageTarget,
  scenario: Scenario,
  world: World,
  location: string,
): Promise<Trial> {
  writeFileSync('/proc/sys/net/ipv4/ping_group_range', pingRanges[scenario.pingRange]);
  const key = await world.makeLocation(location);
  const started = performance.now();
  const { isTmpExec, hasUserNamespaces, capabilities, user, areOfFiles } = scenario;
  await using container = await Container.start({
    ...{ image: target.image, isTmpExec, hasUserNamespaces, capabilities, user, areOfFiles },
    // What runs no code gets by with little.
    ...(codeOf[target.name] === undefined ? { memoryBytes: 268_435_456 } : {}),
    dataFolder: '/var/lib/monitor-agent',
    environment: { API_KEY: key, CONTROL_PLANE_URL: world.baseUrl },
  });
  const log = container.lines;
  await until(
    () => answers(readiness),
    minute,
    () => `it is not ready:\n${log.slice(-20).join('\n')}`,
  );
  const readyMs = performance.now() - started;
  checkLog(log, scenario);
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const idleRssBytes = container.processes().reduce((sum, { rssBytes }) => sum + rssBytes, 0);

  await checkHealthCommand(container);
  await checkReadOnly(container);
  await checkDoctor(container, scenario);

  const code = codeOf[target.name];
  const ofCode =
    code === undefined ? [] : await codeChecks(location, world, code, scenario.isTmpExec);
  const ids = new Map<SmokeCheck, string>();
  for (const check of [
    ...monitorChecks(location, world.slowUrl, scenario.icmp !== 'none'),
    ...ofCode,
  ]) {
    const { id } = await world.api<{ id: string }>('POST', `/v1/checks/${check.path}`, check.body);
    ids.set(check, id);
  }
  for (const [check, id] of ids) await finalOf(world, id, check, log);
  if (code !== undefined) {
    const isolation = saidOf('isolation', log);
    expect(isolation === scenario.isolation, `runs are kept apart by: ${isolation}`);
  }
  await checkReaping(container);

  // All of them begin at once each minute: on two cores they take longer than an agent may take to end.
  for (const check of ofCode) {
    await world.api('PUT', `/v1/checks/${check.path}/${ids.get(check)}`, { activated: false });
  }
  const slowId = [...ids].find(([{ body }]) => body.name === 'slow')?.[1] ?? '';
  const visits = (): number => world.visits.get(`/${location}`) ?? 0;
  const before = visits();
  await until(
    () => Promise.resolve(visits() > before),
    minute,
    () => 'no run is under way',
  );
  const asked = performance.now();
  const exitCode = await container.stop();
  const drainMs = performance.now() - asked;
  expect(exitCode === 0, `it ended with ${String(exitCode)}:\n${log.slice(-10).join('\n')}`);
  expect(
    drainMs < gracePeriodMs,
    `it took ${Math.round(drainMs)} ms to end:\n${log.slice(-10).join('\n')}`,
  );
  expect(
    log.some((line) => /"left":0,/.test(line)),
    'results were left behind',
  );
  const stored = await finals(world, slowId);
  expect(stored === visits(), `${visits()} runs of the slow check gave ${stored} results`);
  let results = 0;
  for (const id of ids.values()) {
    results += await finals(world, id);
    await world.api('DELETE', `/v1/checks/${id}`);
  }
  return { readyMs, idleRssBytes, drainMs, results };
}
