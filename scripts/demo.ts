/**
 * `npm start`: a control plane on an embedded database, two agents with real keys (one in a private
 * location, one serving a data-center location), targets on loopback and checks of every monitor
 * type. Everything is kept in `.data/` and found again at the next start.
 */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import colors from 'picocolors';
import { System } from '../proof/system.ts';
import { brokenBrowserName, browserName, dataCenter, heartbeatName } from './demo/checks.ts';
import {
  demoEmail,
  ensureResources,
  invitePerson,
  KeptFile,
  makePrivateLocation,
  pagePath,
} from './demo/kept.ts';
import { openTargets, type ReceivedAlert, targetPortsFrom } from './demo/targets.ts';
import { openProgress, showFiles, showResults } from './demo/view.ts';
import { readOptions, runScript, untilStopped } from './options.ts';

const pingEveryMs = 10_000;

function portFrom(name: string, fallback: number): number {
  const text = process.env[name];
  const port = text === undefined || text === '' ? fallback : Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_000) {
    throw new Error(`${name} must be a port between 1 and 65000, not "${text ?? ''}"`);
  }
  return port;
}

function introduction(baseUrl: string, password: string): string {
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

/** Starts the system, with the keys of the start before. */
async function openSystem(folder: string, port: number, file: KeptFile): Promise<System> {
  return System.open({
    ...{ folder, owner: file.owner, isAttended: true, isServing: false },
    settings: {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      // The webhook of the demo listens on loopback, which no notification may reach otherwise.
      OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
    },
  });
}

async function main(): Promise<void> {
  const begunAt = Date.now();
  const folder = process.env['DEMO_DATA_DIR'] ?? '.data';
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const port = portFrom('PORT', 3000);
  const targetPort = portFrom('DEMO_TARGET_PORT', 3100);
  const healthPort = portFrom('AGENT_HEALTH_PORT', 8081);
  const ports = targetPortsFrom(targetPort);
  const stopping = untilStopped();

  await using stack = new AsyncDisposableStack();
  const step = openProgress();
  // The guide is there a few seconds later than the rest; until then /guide/ says so.
  execFile(process.execPath, ['scripts/guide/main.ts', '--if-stale'], () => undefined);
  step('opening targets on loopback');
  // On a slow machine the first alert comes while checks are still being made; the address comes first.
  const introduced = Promise.withResolvers<void>();
  const showAlert = ({ type, checkName, reason }: ReceivedAlert): void => {
    void introduced.promise.then(() => {
      console.log(`webhook received ${type} ${checkName}${reason === '' ? '' : `: ${reason}`}`);
    });
  };
  stack.use(await openTargets(ports, showAlert));

  const file = new KeptFile(join(folder, 'demo.json'));
  if (file.owner === undefined) step('making a database and its keys');
  const system = stack.use(await openSystem(folder, port, file));
  file.add({ accountId: system.accountId, apiKey: system.apiKey });
  const dataCenterKey = await file.ensure('dataCenterKey', async () => {
    const words = ['keys', 'create-location', '--location', dataCenter];
    return (await system.command<{ rawKey: string }>(...words)).rawKey;
  });
  step('starting the control plane');
  await system.restartControlPlane();
  const privateKey = await file.ensure('privateKey', () => makePrivateLocation(system));

  step('starting two agents; the first time they unpack a browser, if none is installed');
  const agents = [
    ['agent-private', privateKey],
    ['agent-data-center', dataCenterKey],
  ] as const;
  const programs = agents.map(([name, key], index) => {
    const agentPort = healthPort + index;
    const agent = system.startAgent(name, key, { AGENT_HEALTH_PORT: String(agentPort) });
    return { name, agent, url: `http://127.0.0.1:${agentPort}/-/readiness` };
  });
  await Promise.all(programs.map(({ agent, url }) => agent.answers(url)));
  step('making checks, a status page and a webhook');
  const password = await file.ensure('password', () => invitePerson(system));
  const checks = await ensureResources(system, ports);

  console.log(introduction(system.baseUrl, password));
  introduced.resolve();
  const named = (wanted: string) => checks.find(({ name }) => name === wanted);
  const pingUrl = named(heartbeatName)?.heartbeat?.pingUrl ?? '';
  const ping = (): void => void fetch(pingUrl, { method: 'POST' }).catch(() => undefined);
  ping();
  const pings = setInterval(ping, pingEveryMs);
  const showing = Promise.all([
    showResults(system, checks, begunAt, stopping.signal),
    showFiles(system, named(browserName), ['screenshot'], stopping.signal),
    showFiles(system, named(brokenBrowserName), ['screenshot', 'trace'], stopping.signal),
  ]);
  const died = [...programs, { name: 'control-plane', agent: system.controlPlane }].map(
    async ({ name, agent }) => {
      const { code, signal } = await agent.exited;
      return `${name} ended (${code ?? signal}); its log is ${join(folder, `${name}.log`)}`;
    },
  );
  const accident = await Promise.race([stopping.stopped, ...died]);
  stopping.stop();
  clearInterval(pings);
  await showing;
  if (typeof accident === 'string') throw new Error(accident);
  console.log('stopping: agents finish what they are doing');
}

readOptions({ options: {} });
const run = async (): Promise<void> => {
  await main();
  console.log('stopped');
};
await runScript(run, { before: 'npm start failed: ' });
