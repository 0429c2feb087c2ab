/**
 * An office as cautious network teams build them, in the lab:
 *
 *   desk ── gate ── site      10.81.1.1 ── 10.81.1.2, 10.81.2.1 ── 10.81.2.2
 *
 * The desk has no route but to the gate, which forwards nothing: whatever leaves goes through a proxy
 * that runs there. On the site are a control plane and a website. The agent at the desk is nobody.
 */
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SiteAnswer, SiteReady } from './lab-site.ts';
import { openNetworkLab, type LabHost, type NetworkLab } from './network-lab.ts';
import type { LogLine } from '../../proof/program.ts';
import { eventually, temporaryFolder } from './system.ts';
import { agentProgram } from './programs.ts';

export const gateAddress = '10.81.1.2';
export const siteAddress = '10.81.2.2';
const nobody = 65_534;

export interface AgentProcess {
  /** The first line of the log with this message. */
  log(message: string): Promise<LogLine>;
  readonly lines: readonly string[];
  /** Sends SIGTERM and gives the exit code. */
  stop(): Promise<number | null>;
}

export interface Office extends AsyncDisposable {
  readonly lab: NetworkLab;
  readonly desk: LabHost;
  readonly gate: LabHost;
  readonly folder: string;
  /** What the control plane's certificate is signed by, in PEM. */
  readonly authority: string;
  api<T>(method: string, path: string, body?: unknown): Promise<T>;
  startAgent(settings: Record<string, string>, authority: string): AgentProcess;
}

async function openSite(host: LabHost, folder: string) {
  const child = host.spawn(process.execPath, ['test/support/lab-site.ts', folder, siteAddress], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [{ authority }] = (await once(child, 'message')) as [SiteReady];
  const waiting = new Map<number, (answer: SiteAnswer) => void>();
  child.on('message', (message) => {
    const answer = message as SiteAnswer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  let asked = 0;
  return {
    authority,
    async api<T>(method: string, path: string, body?: unknown): Promise<T> {
      const id = (asked += 1);
      const { promise, resolve } = Promise.withResolvers<SiteAnswer>();
      waiting.set(id, resolve);
      child.send({ id, method, path, body });
      const answer = await promise;
      if ('problem' in answer) throw new Error(answer.problem);
      return answer.body as T;
    },
  };
}

function startAgentIn(
  host: LabHost,
  folder: string,
  settings: Record<string, string>,
  authority: string,
): AgentProcess {
  const own = join(folder, 'agent');
  mkdirSync(own, { recursive: true });
  chownSync(own, nobody, nobody);
  const authorities = join(own, 'authorities.pem');
  writeFileSync(authorities, authority);
  const identity = ['--reuid', String(nobody), '--regid', String(nobody), '--clear-groups'];
  const child = host.spawn('setpriv', [...identity, process.execPath, agentProgram, 'start'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...{ PATH: process.env['PATH'], HOME: own },
      ...{ AGENT_HEALTH_PORT: '0', AGENT_DATA_DIR: join(own, 'data') },
      ...{ AGENT_WORK_DIR: join(own, 'work'), AGENT_RUNTIMES_DIR: join(own, 'runtimes') },
      CONTROL_PLANE_URL: `https://${siteAddress}:8443`,
      NODE_EXTRA_CA_CERTS: authorities,
      LOG_FORMAT: 'json',
      ...settings,
    },
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const exited = once(child, 'exit') as Promise<[number | null]>;
  return {
    lines,
    async log(message) {
      const find = () => lines.find((line) => line.includes(`"msg":"${message}"`));
      await eventually(
        () => find() !== undefined,
        () => `no "${message}" in\n${lines.join('\n')}`,
      );
      return JSON.parse(find() ?? '') as LogLine;
    },
    async stop() {
      child.kill('SIGTERM');
      return (await exited)[0];
    },
  };
}

/** Builds the office. Call `labProblem` first. */
export async function openOffice(): Promise<Office> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  chmodSync(folder.path, 0o755);
  const lab = stack.use(openNetworkLab());
  const [desk, gate, site] = [
    await lab.host('desk'),
    await lab.host('gate'),
    await lab.host('site'),
  ];
  await lab.cable(
    { host: desk, addresses: ['10.81.1.1/24', 'fd81:1::1/64'] },
    { host: gate, addresses: [`${gateAddress}/24`, 'fd81:1::2/64'] },
  );
  await lab.cable(
    { host: gate, addresses: ['10.81.2.1/24', 'fd81:2::1/64'] },
    { host: site, addresses: [`${siteAddress}/24`, 'fd81:2::2/64'] },
  );
  const { authority, api } = await openSite(site, folder.path);
  const opened = stack.move();
  return {
    ...{ lab, desk, gate, authority, api, folder: folder.path },
    startAgent: (settings, trusted) => startAgentIn(desk, folder.path, settings, trusted),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface StoredResult {
  id: string;
  name: string;
  hasFailures: boolean;
  hasErrors: boolean;
}

/**
 * What an agent has to be able to do in the office: check in, run a check through the proxy of its
 * location, hand in its result and a file of it, and drain. Throws where it cannot.
 */
export async function workBehindProxy(
  office: Office,
  { proxyUrl, authority }: { proxyUrl: string; authority: string },
): Promise<AgentProcess> {
  const { api } = office;
  const location = await api<{ keys: [{ rawKey: string }] }>('POST', '/v1/private-locations', {
    name: 'office',
    slugName: 'office',
    proxyUrl,
  });
  const [{ rawKey }] = location.keys;
  const agent = office.startAgent({ API_KEY: rawKey, HTTPS_PROXY: proxyUrl }, authority);
  await agent.log('checked in');
  const common = { privateLocations: ['office'], doubleCheck: false };
  const often = { frequency: 0, frequencyOffset: 10 };
  const urlCheck = (name: string, path: string) =>
    api<{ id: string }>('POST', '/v1/checks/url', {
      ...{ ...common, ...often, name },
      request: { url: `http://${siteAddress}${path}` },
    });
  const script = `
    import { test } from '@playwright/test';
    test('a file', async () => {
      await test.info().attach('proof.txt', { body: 'from the desk', contentType: 'text/plain' });
    });`;
  const checks = [
    await urlCheck('working', '/'),
    await urlCheck('broken', '/broken'),
    await api<{ id: string }>('POST', '/v1/checks/multistep', {
      ...{ ...common, name: 'steps', frequency: 1440, script },
    }),
  ];
  await api('POST', '/v1/check-sessions/trigger', { target: { checkId: [checks[2]?.id] } });
  const results: StoredResult[] = [];
  await eventually(
    async () => {
      results.length = 0;
      for (const { id } of checks) {
        const [newest] = await api<StoredResult[]>('GET', `/v1/check-results/${id}?limit=1`);
        if (newest !== undefined) results.push(newest);
      }
      return results.length === checks.length;
    },
    () => `results of all checks, but only ${JSON.stringify(results)}\n${agent.lines.join('\n')}`,
  );
  const verdicts = results.map(({ name, hasFailures, hasErrors }) => [
    name,
    hasFailures,
    hasErrors,
  ]);
  const expected = [
    ['working', false, false],
    ['broken', true, false],
    ['steps', false, false],
  ];
  if (JSON.stringify(verdicts) !== JSON.stringify(expected)) {
    throw new Error(`${JSON.stringify(verdicts)}\n${agent.lines.join('\n')}`);
  }
  const steps = `/v1/check-results/${checks[2]?.id}/${results[2]?.id}/assets`;
  let files: { name: string; state: string }[] = [];
  await eventually(
    async () => {
      ({ assets: files } = await api<{ assets: typeof files }>('GET', steps));
      return files.length > 0 && files.every(({ state }) => state === 'STORED');
    },
    () => `files of the run: ${JSON.stringify(files)}\n${agent.lines.join('\n')}`,
  );
  return agent;
}
