/**
 * `npm start`: a control plane on an embedded database, two agents with real keys (one in a private
 * location, one serving a data-center location), targets on loopback and checks of every monitor
 * type. Everything is kept in `.data/` and found again at the next start.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import colors from 'picocolors';
import { callApi, type ApiCall } from '../proof/api.ts';
import {
  brokenBrowserName,
  browserName,
  dataCenter,
  demoChecks,
  demoTag,
  heartbeatName,
  privateSlug,
} from './demo/checks.ts';
import { untilFiles } from './demo/files.ts';
import { ensurePeople } from './demo/people.ts';
import { startProgram, untilAnswering, type RunningProgram } from './demo/processes.ts';
import { openTargets, type ReceivedAlert, type TargetPorts } from './demo/targets.ts';
import { openProgress, showResult, type Outcome } from './demo/view.ts';
import { readOptions } from './options.ts';

interface Kept {
  accountId: string;
  apiKey: string;
  dataCenterKey: string;
  privateLocationId?: string;
  privateKey?: string;
  /** Of the person who signs in to the console. */
  password?: string;
}

interface Check {
  id: string;
  name: string;
  checkType: string;
  heartbeat?: { pingUrl: string };
}

interface Status {
  checkId: string;
  lastCheckRunId: string | null;
}

interface Result {
  id: string;
  checkType: string;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  responseTime: number;
  runLocation: string;
  startedAt: string;
  checkRunId: number;
  apiCheckResult: {
    requestError: string | null;
    assertions: { error?: string }[];
    response: { status?: number } | null;
  } | null;
  browserCheckResult: ScriptResult | null;
  multiStepCheckResult: ScriptResult | null;
}

interface ScriptResult {
  errors: { message: string }[];
}

const demoEmail = 'demo@example.com';
const lookEveryMs = 500;
const pingEveryMs = 10_000;

function portFrom(name: string, fallback: number): number {
  const text = process.env[name];
  const port = text === undefined || text === '' ? fallback : Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_000) {
    throw new Error(`${name} must be a port between 1 and 65000, not "${text ?? ''}"`);
  }
  return port;
}

async function runControlPlane(
  args: string[],
  environment: Record<string, string>,
): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['control-plane/control-plane.js', ...args, '--json'],
    { env: { ...process.env, ...environment } },
  );
  return JSON.parse(stdout) as Record<string, string>;
}

/** Finds what an earlier start made, or makes it. */
async function openKept(
  file: string,
  environment: Record<string, string>,
  step: (what: string) => void,
): Promise<Kept> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Kept;
  step('making a database and its keys');
  const api = await runControlPlane(['keys', 'create', '--name', 'demo'], environment);
  const location = await runControlPlane(
    ['keys', 'create-location', '--location', dataCenter],
    environment,
  );
  const kept = {
    accountId: api['accountId'] ?? '',
    apiKey: api['rawKey'] ?? '',
    dataCenterKey: location['rawKey'] ?? '',
  };
  keep(file, kept);
  return kept;
}

function keep(file: string, kept: Kept): void {
  writeFileSync(file, JSON.stringify(kept, null, 2), { mode: 0o600 });
}

/** The private location and the key of its agent: made through the API, once. */
async function ensureLocation(api: ApiCall, file: string, kept: Kept): Promise<string> {
  if (kept.privateKey !== undefined) return kept.privateKey;
  const { id, keys } = await callApi<{ id: string; keys: [{ rawKey: string }] }>(
    api,
    'POST',
    '/v1/private-locations',
    { name: 'Demo network', slugName: privateSlug },
  );
  const [{ rawKey }] = keys;
  keep(file, Object.assign(kept, { privateLocationId: id, privateKey: rawKey }));
  return rawKey;
}

/** The person who signs in to the console: invited as a colleague would be, once. */
async function ensurePerson(api: ApiCall, file: string, kept: Kept): Promise<string> {
  if (kept.password !== undefined) return kept.password;
  const password = randomBytes(12).toString('hex');
  const { link } = await callApi<{ link: string }>(api, 'POST', '/v1/invitations', {
    ...{ email: demoEmail, role: 'OWNER' },
  });
  const response = await fetch(`${api.baseUrl}/console/session/link/accept`, {
    method: 'POST',
    headers: { 'x-console': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ token: link.split('token=')[1], name: 'Demo', password }),
  });
  if (!response.ok) throw new Error(`the invitation was refused: ${await response.text()}`);
  keep(file, Object.assign(kept, { password }));
  return password;
}

/** Creates the demo's checks unless they are there. */
async function ensureChecks(api: ApiCall, ports: TargetPorts, serviceId: string): Promise<Check[]> {
  const known = await callApi<Check[]>(api, 'GET', `/v1/checks?limit=100&tag=${demoTag}`);
  const checks: Check[] = [];
  for (const { pathPart, body } of demoChecks(ports, serviceId)) {
    const found = known.find((check) => check.name === body.name);
    checks.push(found ?? (await callApi<Check>(api, 'POST', `/v1/checks/${pathPart}`, body)));
  }
  return checks;
}

function outcomeOf(result: Result): Outcome {
  if (result.hasErrors) return 'error';
  if (result.hasFailures) return 'failing';
  return result.isDegraded ? 'degraded' : 'passing';
}

function reasonOf(result: Result): string {
  const { apiCheckResult: seen } = result;
  const script = result.browserCheckResult ?? result.multiStepCheckResult;
  if (script !== null) {
    const message = script.errors[0]?.message ?? '';
    // An error of the agent says in its last line what to do.
    return result.hasErrors ? message : (message.split('\n')[0] ?? '');
  }
  if (seen === null || outcomeOf(result) === 'passing') return '';
  const assertion = seen.assertions.find(({ error }) => error !== undefined)?.error;
  if (result.isDegraded) return 'slower than its degraded limit';
  const status = seen.response?.status;
  return seen.requestError ?? assertion ?? (status === undefined ? '' : `status ${status}`);
}

/** Shows every FINAL result of a run since this start, until the signal aborts. */
async function watch(
  api: ApiCall,
  checks: readonly Check[],
  since: number,
  signal: AbortSignal,
): Promise<void> {
  const shown = new Map<string, number>();
  while (!signal.aborted) {
    const statuses = await callApi<Status[]>(api, 'GET', '/v1/check-statuses').catch(() => []);
    for (const { checkId, lastCheckRunId } of statuses) {
      const check = checks.find(({ id }) => id === checkId);
      const last = shown.get(checkId);
      if (check === undefined || lastCheckRunId === null || Number(lastCheckRunId) === last)
        continue;
      const results = await callApi<Result[]>(
        api,
        'GET',
        `/v1/check-results/${checkId}?limit=20`,
      ).catch(() => []);
      const fresh = results.filter(
        ({ checkRunId, startedAt }) => checkRunId > (last ?? -1) && Date.parse(startedAt) >= since,
      );
      for (const result of fresh.reverse()) {
        shown.set(checkId, Math.max(shown.get(checkId) ?? 0, result.checkRunId));
        showResult({
          checkName: check.name,
          checkType: check.checkType,
          outcome: outcomeOf(result),
          location: result.runLocation,
          responseTimeMs: result.responseTime,
          reason: reasonOf(result),
          at: new Date(result.startedAt),
        });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

/** Prints links to the files of the first result of a check that has them. */
async function showFiles(
  api: ApiCall,
  checks: readonly Check[],
  name: string,
  types: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const check = checks.find((known) => known.name === name);
  if (check === undefined) return;
  const files = await untilFiles(api, check.id, types, signal);
  if (files === null) return;
  console.log(`${colors.bold(name)}: ${files.vitals}`);
  for (const { type, url } of files.links) console.log(`  ${type.padEnd(11)}${url}`);
}

function introduction(baseUrl: string, pagePath: string, password: string): string {
  return [
    colors.bold('The control plane, two agents and their targets are running.'),
    '',
    `${baseUrl}/console/`,
    '',
    `Sign in as ${demoEmail} with ${password}`,
    'Four checks are not well on purpose: the failing website, the flapping website (every other 40 s),',
    'the slow website, which is degraded, and the checkout in a browser. Their tag is "on-purpose".',
    '',
    `status page  ${baseUrl}${pagePath}`,
    `API          ${baseUrl}/docs`,
    `guide        ${baseUrl}/guide/`,
    '',
    colors.dim('Ctrl-C ends it all; the next start finds the same keys, checks and results.'),
    '',
  ].join('\n');
}

async function main(): Promise<void> {
  const begunAt = Date.now();
  const dataDirectory = process.env['DEMO_DATA_DIR'] ?? '.data';
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const port = portFrom('PORT', 3000);
  const targetPort = portFrom('DEMO_TARGET_PORT', 3100);
  const healthPort = portFrom('AGENT_HEALTH_PORT', 8081);
  const ports: TargetPorts = { http: targetPort, tcp: targetPort + 1, dns: targetPort + 2 };
  const baseUrl = `http://127.0.0.1:${port}`;
  const environment = {
    PORT: String(port),
    PUBLIC_URL: baseUrl,
    DATABASE_FILE: join(dataDirectory, 'control-plane.db'),
    // This program asks for results far more often than a client should.
    REQUESTS_PER_MINUTE: '0',
    // The webhook of the demo listens on loopback, which no notification may reach otherwise.
    OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
  };

  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    const stop = (): void => {
      stopping.abort();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    // Nobody reads any more (`npm start | head`): leaving the programs behind would be worse.
    process.stdout.on('error', stop);
  });

  await using stack = new AsyncDisposableStack();
  const step = openProgress();
  // The guide is there a few seconds later than the rest; until then /guide/ says so.
  execFile(process.execPath, ['scripts/guide/main.ts', '--if-stale'], () => undefined);
  step('opening targets on loopback');
  let hear: (alert: ReceivedAlert) => void = () => {};
  stack.use(
    await openTargets(ports, (alert) => {
      hear(alert);
    }),
  );
  const start = (
    name: string,
    command: string[],
    settings: Record<string, string>,
  ): RunningProgram => {
    const program = startProgram({
      name,
      command,
      environment: settings,
      logFile: join(dataDirectory, `${name}.log`),
    });
    stack.defer(() => program.stop());
    return program;
  };

  const keptFile = join(dataDirectory, 'demo.json');
  const kept = await openKept(keptFile, environment, step);
  const api: ApiCall = { baseUrl, apiKey: kept.apiKey };
  step('starting the control plane');
  const controlPlane = start(
    'control-plane',
    ['control-plane/control-plane.js', 'serve'],
    environment,
  );
  await untilAnswering(`${baseUrl}/openapi.json`, controlPlane);
  const privateKey = await ensureLocation(api, keptFile, kept);

  const startAgent = (name: string, apiKey: string, health: number): RunningProgram =>
    start(name, ['agent/monitor-agent.js', 'start'], {
      API_KEY: apiKey,
      CONTROL_PLANE_URL: baseUrl,
      AGENT_HEALTH_PORT: String(health),
      AGENT_HEALTH_HOST: '127.0.0.1',
      AGENT_DATA_DIR: join(dataDirectory, name),
    });
  step('starting two agents; the first time they unpack a browser, if none is installed');
  const agents = [
    startAgent('agent-private', privateKey, healthPort),
    startAgent('agent-data-center', kept.dataCenterKey, healthPort + 1),
  ];
  await Promise.all(
    agents.map((agent, index) =>
      untilAnswering(`http://127.0.0.1:${healthPort + index}/-/readiness`, agent),
    ),
  );
  step('making checks, a status page and a webhook');
  const { serviceId, pagePath } = await ensurePeople(api, ports);
  const password = await ensurePerson(api, keptFile, kept);
  const checks = await ensureChecks(api, ports, serviceId);

  console.log(introduction(baseUrl, pagePath, password));
  hear = ({ type, checkName, reason }) => {
    console.log(`webhook heard ${type} ${checkName}${reason === '' ? '' : `: ${reason}`}`);
  };
  const pingUrl = checks.find(({ name }) => name === heartbeatName)?.heartbeat?.pingUrl;
  const ping = (): void => {
    if (pingUrl !== undefined) void fetch(pingUrl, { method: 'POST' }).catch(() => undefined);
  };
  ping();
  const pings = setInterval(ping, pingEveryMs);
  const watching = watch(api, checks, begunAt, stopping.signal);
  const showing = Promise.all([
    showFiles(api, checks, browserName, ['screenshot'], stopping.signal),
    showFiles(api, checks, brokenBrowserName, ['screenshot', 'trace'], stopping.signal),
  ]);

  const died = Promise.race(
    [controlPlane, ...agents].map(async (program) => {
      const how = await program.ended;
      return `${program.name} ended (${how}); its log is ${program.logFile}`;
    }),
  );
  const accident = await Promise.race([stopped, died]);
  stopping.abort();
  clearInterval(pings);
  await watching;
  await showing;
  if (typeof accident === 'string') throw new Error(accident);
  console.log('stopping: agents finish what they are doing');
}

readOptions({ options: {} });
try {
  await main();
  console.log('stopped');
} catch (error) {
  console.error(`npm start failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
