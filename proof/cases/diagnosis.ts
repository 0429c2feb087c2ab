/** Faults of agents, made for real: what the first lines of the log, `doctor` and `status` say of each. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ProofCase } from '../case.ts';
import { FaultProxy, type Fault } from '../fault-proxy.ts';
import { limitCpu } from '../limit-cpu.ts';
import { listen } from '../listen.ts';
import { openNameServer } from '../name-server.ts';
import { freePort, Program } from '../program.ts';
import { seededRandom } from '../random.ts';
import { FailingDisk } from '../small-disk.ts';
import type { World } from '../world.ts';

/** Answers in place of the control plane; false lets the request pass. */
type Gateway = (
  path: string,
  response: ServerResponse,
  waits: boolean,
  /** Of the request, which may be changed before it is passed. */
  headers: IncomingMessage['headers'],
) => boolean | Promise<boolean>;

interface Ground {
  settings: Record<string, string>;
  /** A file with this content in the folder of the row. */
  file: (name: string, text: string) => string;
  agent: Program | null;
  /** Closed at the end of the row. */
  stack: AsyncDisposableStack;
  /** Starts the agent, doctor and status; by default Node. */
  before?: readonly [program: string, words: readonly string[]];
  disk?: FailingDisk;
  /** Resolves with the first request that is held. */
  held: Promise<void>;
}

interface Row {
  name: string;
  /** The fault in test/agent/doctor/three-am.ts. */
  from?: string;
  /** Whether this machine allows it. */
  isPossible?: () => boolean;
  make?: (ground: Ground) => unknown;
  gateway?: Gateway;
  /** Large bodies to such a path are not taken in. */
  holds?: RegExp;
  /** On the way to the control plane. */
  fault?: Fault;
  /** To the running agent, before it is looked at. */
  disturb?: (ground: Ground) => unknown;
  log?: RegExp;
  /** In the log after it was disturbed. */
  logAfter?: RegExp;
  /** The agent does not start. */
  exits?: number;
  /** The first failure, as `id: evidence`; none where nothing may be found. */
  doctor: RegExp | null;
  /** A warning of doctor, in the same form. */
  warns?: RegExp;
  /** How doctor is asked. */
  asked?: readonly string[];
  /** The exit code of the agent after SIGTERM. */
  ends?: number;
  /** No more lines of the log come after SIGTERM. */
  linesAtEnd?: number;
  status?: RegExp;
}

const page =
  (
    path: RegExp,
    status: number,
    headers: Record<string, string> = {},
    body = '<h1>gateway</h1>',
  ): Gateway =>
  (asked, response) => {
    if (!path.test(asked)) return false;
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body);
    return true;
  };
const set =
  (more: Record<string, string>) =>
  ({ settings }: Ground): void =>
    void Object.assign(settings, more);

const bigFile = 150_000_000;

/** A file of a result that an agent left behind. */
function leaveFile(folder: string): void {
  const resultId = randomUUID();
  const entry = join(folder, 'artifacts', resultId);
  mkdirSync(entry, { recursive: true });
  writeFileSync(join(entry, '0'), '');
  truncateSync(join(entry, '0'), bigFile);
  const hash = createHash('sha256');
  const part = Buffer.alloc(1_000_000);
  for (let at = 0; at < bigFile; at += part.length) hash.update(part);
  const facts = { file: '0', name: 'video.webm', contentType: 'video/webm', size: bigFile };
  const files = [{ ...facts, digest: hash.digest('base64') }];
  writeFileSync(
    join(entry, 'entry.json'),
    JSON.stringify({ resultId, createdAt: Date.now(), files }),
  );
}

const mayMount = (): boolean => {
  try {
    new FailingDisk()[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
};

/** Its programs are resolved by a server that takes so long. */
async function resolveSlowly(ground: Ground, ms: number): Promise<void> {
  const at = { port: 53, address: '127.53.0.8' };
  const answer = (_name: string, give: (isKnown: boolean) => void): void => {
    void wait(ms).then(() => give(true));
  };
  ground.stack.use(await openNameServer(answer, at));
  const file = ground.file('resolv.conf', `nameserver ${at.address}\noptions timeout:15\n`);
  const mount = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  ground.before = ['unshare', ['--mount', 'sh', '-c', mount, file, process.execPath]];
  const { settings } = ground;
  settings['CONTROL_PLANE_URL'] =
    settings['CONTROL_PLANE_URL']?.replace('127.0.0.1', 'control-plane.test') ?? '';
}

const mayLimitCpu = (): boolean =>
  ['cpu/cgroup.procs', 'cgroup.subtree_control'].some((file) =>
    existsSync(`/sys/fs/cgroup/${file}`),
  ) && mayMount();

const nothingWrong = /^(overloaded for[^;]*)?$/;
const unresolved = /no resolver answered|name does not exist/;
const keyless = /no key arrived: something in between/;
const json = { 'content-type': 'application/json' };
const key = ({ settings }: Ground): string => settings['API_KEY'] ?? '';
const port = async ({ settings }: Ground): Promise<void> =>
  void (settings['AGENT_HEALTH_PORT'] = String(await freePort()));
/** Both let it pass. */
const passes = { log: /checked in/, doctor: null } as const;
/** A gateway that answers with this gets into the log, doctor and status. */
const gateway = (said: RegExp, named = said): Pick<Row, 'log' | 'doctor' | 'status'> => ({
  log: said,
  doctor: new RegExp(`^control-plane: .*${named.source}`),
  status: said,
});
/** Settings that the agent does not start with, which doctor says as well. */
const refused = (said: RegExp, step = 'settings'): Pick<Row, 'exits' | 'log' | 'doctor'> => ({
  ...{ exits: 2, log: said, doctor: new RegExp(`^${step}: .*${said.source}`) },
});

/** A key as people get it wrong. */
const wrongKeys: readonly [name: string, from: string, wrong: (key: string) => string, RegExp][] = [
  ['quotes around the key', '8a', (right) => `"${right}"`, /quotes/],
  ['the name before the key', '8b', (right) => `API_KEY=${right}`, /its name before it/],
  ['a key of six characters', '8d', () => 'abc123', /begin with pl_/],
  ['a key that lost its last character', '8g', (right) => right.slice(0, -1), /has 66 characters/],
  ['a masked key', '8f', () => 'pl_…05a2', /masked/],
  ['a key in base64', '8c', (right) => Buffer.from(right).toString('base64'), /is in base64/],
];

/** A gateway that lets the check-in pass, and this call not. */
const callsRefused: readonly [name: string, from: string, call: RegExp, number, doctor: RegExp][] =
  [
    ['results are too large for a gateway', '3a', /results$/, 413, /^calls: results .*413/],
    ['results are no good request for a gateway', '3b', /results$/, 400, /^calls: results .*400/],
    ['a login page for results', '', /results$/, 200, /^calls: results .*200 came.*gateway/],
    ['a proxy wants a login for files alone', '', /artifacts/, 407, /^calls: files .*407/],
    ['files are unknown to a gateway', '3d', /artifacts/, 404, /^calls: files .*404/],
  ];

export const rows: readonly Row[] = [
  { name: 'nothing', ...passes, status: nothingWrong },
  ...wrongKeys.map(([name, from, wrong, said]) => ({
    ...{ name, from, ...refused(said) },
    make: (ground: Ground) => (ground.settings['API_KEY'] = wrong(key(ground))),
  })),
  {
    ...{ name: 'a file of the key in UTF-16', from: '8e', exits: 2, log: /not in UTF-8/ },
    make: (ground) => {
      const text = Buffer.from(key(ground), 'utf16le').toString('latin1');
      ground.settings['API_KEY_FILE'] = ground.file('key', text);
      delete ground.settings['API_KEY'];
    },
    doctor: /^settings: .*not in UTF-8/,
  },
  {
    ...{ name: 'a key that nobody has', from: '13a', ends: 0, linesAtEnd: 10 },
    make: set({ API_KEY: `pl_${'0'.repeat(64)}` }),
    log: /refused the key/,
    doctor: /^key: .*refuses pl_…0000/,
    status: /refuses this agent/,
  },
  {
    ...{ name: 'a misspelt setting', from: '9a' },
    make: ({ settings }) => {
      settings['CONTROL_PLANE_URI'] = settings['CONTROL_PLANE_URL'] ?? '';
      delete settings['CONTROL_PLANE_URL'];
    },
    log: /did you mean CONTROL_PLANE_URL/,
    doctor: /^connect: .*3000/,
    status: /not reached.*3000/,
  },
  {
    name: 'a closed port',
    make: set({ CONTROL_PLANE_URL: 'http://127.0.0.1:1' }),
    ...{
      log: /refuses the connection/,
      doctor: /^connect: .*refuses/,
      status: /refuses the connection/,
    },
  },
  {
    name: 'a name that is none',
    make: set({ CONTROL_PLANE_URL: 'http://control-plane.invalid' }),
    ...{ log: unresolved, doctor: /^dns: /, status: unresolved },
  },
  {
    ...{ name: 'a proxy with #', from: '12a', ...refused(/HTTP_PROXY .*%XX/) },
    make: set({ HTTP_PROXY: 'http://u:pa@rt#x@host:3128' }),
  },
  {
    name: 'a proxy that is away',
    make: set({ HTTP_PROXY: 'http://127.0.0.1:1' }),
    log: /the proxy 127\.0\.0\.1:1 refuses/,
    ...{ doctor: /^proxy: .*refuses/, status: /the proxy/ },
  },
  {
    ...{ name: 'no file of authorities', exits: 2, log: /ca\.pem does not exist/ },
    make: set({ NODE_EXTRA_CA_CERTS: '/nowhere/ca.pem' }),
    doctor: /NODE_EXTRA_CA_CERTS|ca\.pem/,
  },
  {
    ...{ name: 'a folder below a file', exits: 2, log: /\/dev\/null\/data/ },
    make: set({ AGENT_DATA_DIR: '/dev/null/data' }),
    doctor: /^data-directory: /,
  },
  {
    ...{ name: 'a login page', from: '7e', gateway: page(/./, 200) },
    ...gateway(/something else/, /200 with a page: .*captive portal/),
    log: /something else than the protocol says/,
  },
  {
    ...{ name: 'a redirect', from: '7d', ...gateway(/redirects to/) },
    gateway: page(/./, 302, { location: 'https://login.example/' }),
    log: /redirects to https:\/\/login\.example/,
  },
  {
    ...{ name: 'a firewall of web applications', ...gateway(/403 with a page: .*Forbidden/) },
    gateway: page(/./, 403, json, '{"message":"Forbidden"}'),
    status: /answered 403 with a page/,
  },
  {
    ...{ name: 'maintenance, by a gateway', ...gateway(/503 with a page: .*until 05:00/) },
    gateway: page(/./, 503, { 'retry-after': '600' }, '<h1>until 05:00</h1>'),
  },
  {
    name: 'the key is taken away on the way',
    gateway: (_path, _response, _waits, headers) => {
      delete headers.authorization;
      return false;
    },
    ...{ log: keyless, doctor: new RegExp(`^key: .*${keyless.source}`), status: keyless },
  },
  {
    ...{ name: 'SSH on the port', ...gateway(/does not speak HTTP/, /does not answer in HTTP/) },
    gateway: (_path, { socket }) => {
      socket?.end('SSH-2.0-OpenSSH_9.2p1\r\n');
      return true;
    },
  },
  {
    name: 'NO_PROXY as another program has it',
    make: set({ HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '127.*' }),
    log: /NO_PROXY has .*127\.\*.*no host can match/,
    ...{ doctor: /^proxy: .*refuses/, status: /the proxy/ },
    warns: /^settings: NO_PROXY has "127\.\*"/,
  },
  {
    ...{ name: 'a slash at the end of the address', ...passes, status: nothingWrong },
    make: ({ settings }) => (settings['CONTROL_PLANE_URL'] += '/'),
  },
  {
    name: 'an address of another machine for the probes, and any port',
    make: set({ AGENT_HEALTH_HOST: '192.0.2.9' }),
    ...{ exits: 2, log: /set AGENT_HEALTH_HOST to an address of this machine/ },
    doctor: /^health-port: AGENT_HEALTH_HOST=192\.0\.2\.9 is not an address/,
  },
  {
    ...{
      name: 'a limit on the size of files',
      ...refused(/EFBIG: file too large/, 'data-directory'),
    },
    make: (ground) => {
      ground.before = ['sh', ['-c', 'ulimit -f 20 && exec "$0" "$@"', process.execPath]];
    },
  },
  {
    name: 'a file in the place of the folder of runtimes',
    ...{
      asked: ['--only', 'runtimes'],
      ...refused(/cannot be used .*ENOTDIR.*AGENT_RUNTIMES_DIR/, 'runtimes'),
    },
    make: ({ settings, file }) => {
      settings['AGENT_RUNTIMES_DIR'] = file('runtimes', '');
      settings['AGENT_CHECK_TYPES'] = 'MULTI_STEP';
    },
  },
  {
    ...{ name: 'a folder that no kernel makes', exits: 2 },
    make: set({ AGENT_DATA_DIR: '/proc/nowhere/data' }),
    log: /\/proc\/nowhere\/data cannot be used/,
    doctor: /^data-directory: \/proc\/nowhere\/data cannot be written/,
  },
  {
    ...{ name: 'a folder to be made on a read-only file system', isPossible: mayMount },
    make: (ground) => {
      const { path } = (ground.disk = ground.stack.use(new FailingDisk()));
      ground.disk.fail();
      ground.settings['AGENT_DATA_DIR'] = join(path, 'new', 'data');
    },
    ...refused(/read-only file system/, 'data-directory'),
  },
  {
    ...{ name: 'a gateway without its server', from: '7a', gateway: page(/./, 502) },
    ...gateway(/answered 502/, /502/),
  },
  {
    ...{
      name: 'Content-Type is taken away',
      from: '4a',
      ...gateway(/answered 415/, /415.*no JSON/),
    },
    gateway: page(/./, 415, json, '{"message":"no JSON"}'),
  },
  ...callsRefused.map(([name, from, call, status, doctor]) => ({
    ...{ name, ...(from !== '' && { from }), gateway: page(call, status) },
    ...{ log: passes.log, doctor },
  })),
  {
    ...{ name: 'polls are cut', from: '3c', log: /answered 504/ },
    gateway: async (path, response, waits, headers) => {
      if (!waits) return false;
      await wait(2_500);
      return page(/check-in$/, 504)(path, response, waits, headers);
    },
    doctor: /^calls: a poll that waits .*504/,
    status: /polls in a row were cut/,
  },
  {
    ...{ name: 'a stopped agent', from: '6a', log: passes.log, status: /may be stuck/ },
    disturb: ({ agent }) => agent?.signal('SIGSTOP'),
    doctor: /^data-directory: .*stopped/,
  },
  {
    ...{ name: 'another agent on the folder', from: '2c', log: passes.log },
    ...{ disturb: set({ AGENT_HEALTH_PORT: '1' }), doctor: /^agent: another agent/ },
  },
  {
    ...{ name: 'a folder that was removed', from: '6c', make: port, log: passes.log },
    disturb: ({ settings }) => rmSync(settings['AGENT_DATA_DIR'] ?? '', { recursive: true }),
    ...{ doctor: /^health-port: .*folder was removed/, status: /no agent answers/ },
  },
  {
    ...{ name: 'the agent on the port waits for a CPU', from: '6b', isPossible: mayLimitCpu },
    ...{ make: port, ...passes, status: /may be stuck/ },
    disturb: ({ agent, stack }) => {
      const quota = limitCpu(agent?.child.pid ?? 0, 0.001);
      if (quota !== null) stack.use(quota);
    },
    warns: /^health-port: .*the agent of .*does not answer: it waits for a CPU/,
  },
  {
    ...{ name: 'a resolver that takes eight seconds', from: '10a', isPossible: mayMount },
    ...{ make: (ground) => resolveSlowly(ground, 8_000), ...passes },
    warns: /^dns: .*control-plane.test is 127.0.0.1 \([89]\d{3} ms\)/,
  },
  {
    ...{ name: 'the key of a fresh process is another one', from: '2a', log: /refused the key/ },
    make: ({ settings, file }) =>
      (settings['API_KEY_FILE'] = file('key', `pl_${'0'.repeat(64)}\n`)),
    disturb: ({ settings }) => {
      delete settings['API_KEY_FILE'];
    },
    doctor: /^agent: .*still has the key pl_…0000/,
    status: /refuses this agent/,
  },
  {
    ...{ name: 'the file of a refused key is lost', log: /refused the key/ },
    make: ({ settings, file }) => {
      settings['API_KEY_FILE'] = file('key', `pl_${'0'.repeat(64)}\n`);
      delete settings['API_KEY'];
    },
    disturb: ({ settings }) => rmSync(settings['API_KEY_FILE'] ?? ''),
    doctor: /^settings: API_KEY cannot be read from the file/,
    status: /refuses this agent/,
  },
  {
    ...{ name: 'the outbox is removed while it runs', log: passes.log },
    disturb: ({ settings }) => rmSync(join(settings['AGENT_DATA_DIR'] ?? '', 'outbox.db')),
    logAfter: /outbox\.db was removed while the agent runs/,
    doctor: /^data-directory: .*outbox\.db was removed/,
    status: /outbox\.db was removed while the agent runs: restart it/,
  },
  {
    ...{ name: 'the disk becomes read-only while it runs', from: 'W4', isPossible: mayMount },
    make: (ground) => {
      ground.disk = ground.stack.use(new FailingDisk());
      ground.settings['AGENT_DATA_DIR'] = join(ground.disk.path, 'data');
    },
    ...{ log: passes.log, disturb: ({ disk }) => disk?.fail(), ends: 0 },
    logAfter: /EROFS: read-only file system/,
    doctor: /^data-directory: .*read-only file system/,
    status: /AGENT_DATA_DIR cannot be written \(EROFS/,
  },
  {
    ...{ name: 'packets are lost on the way', from: 'W5', ...passes },
    ...{ fault: { kind: 'loss', share: 0.6 }, asked: ['--only', 'link-quality'] },
    warns: /^link-quality: .*(lost|a slow link)/,
  },
  {
    ...{ name: 'SIGTERM while a file of 150 MB is uploaded', from: 'W8', ...passes, ends: 0 },
    ...{ gateway: () => false, holds: /artifacts/, status: /no agent answers/ },
    make: ({ settings }) => leaveFile(settings['AGENT_DATA_DIR'] ?? ''),
    disturb: async ({ agent, held }) => {
      await held;
      agent?.signal('SIGTERM');
    },
    logAfter: /"filesLeft":1,.*the next start delivers them/,
  },
  {
    ...{ name: 'nobody reads the log any more', from: 'W11', ...passes, ends: 0 },
    make: async (ground) => {
      await port(ground);
      Object.assign(ground.settings, { LOG_LEVEL: 'DEBUG', PROBE_ENDPOINT: 'on' });
    },
    disturb: async ({ agent, settings }) => {
      agent?.child.stdout?.pause();
      const target = `127.0.0.1:${settings['AGENT_HEALTH_PORT']}`;
      const url = `http://${target}/probe?module=tcp_connect&target=${target}`;
      const probe = async (): Promise<void> => {
        for (let made = 0; made < 1_000; made += 1) await (await fetch(url)).text();
      };
      await Promise.all(Array.from({ length: 8 }, probe));
    },
    warns: /^agent: .*lines of the log could not be written: nobody reads them/,
    status: /lines of the log could not be written: nobody reads them/,
  },
  {
    ...{ name: 'a slow way', from: '11a', ...passes, status: nothingWrong },
    gateway: async () => {
      await wait(2_500);
      return false;
    },
  },
];

/** Stands before the control plane. */
async function openGateway(
  target: string,
  { gateway: answer = () => false, holds }: Row,
): Promise<AsyncDisposable & { url: string; held: Promise<void> }> {
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const gateway = { url: '', held };
  const pass = (incoming: IncomingMessage, body: Buffer, response: ServerResponse): void => {
    const { method, url = '', headers } = incoming;
    const onward = request(target + url, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(body);
  };
  const server = createServer((incoming, response) => {
    const isLarge = Number(incoming.headers['content-length']) > 1_000_000;
    if (isLarge && holds?.test(incoming.url ?? '') === true) {
      hold();
      return;
    }
    void incoming.toArray().then(
      async (chunks) => {
        const body = Buffer.concat(chunks as Buffer[]);
        const waits = /"waitMs":[1-9]/.test(body.toString('latin1'));
        const { url = '', headers } = incoming;
        if (!(await answer(url, response, waits, headers))) pass(incoming, body, response);
      },
      () => undefined,
    );
  });
  return Object.assign(gateway, await listen(server));
}

interface Said {
  failure?: { id: string; evidence: string };
  warnings: string[];
  ok: boolean;
  code: number | null;
  degraded: string;
}

/** What doctor and status say beside the agent. */
async function ask(
  agent: string,
  { settings, before }: Ground,
  asked: readonly string[] = ['--quick'],
): Promise<Said> {
  const run = async (...words: string[]) => {
    await using program = new Program([agent, ...words, '--json'], settings, { before });
    const { code } = await program.exited;
    // Node may warn before.
    const from = program.lines.findIndex((line) => line.startsWith('{'));
    const text = program.lines.slice(Math.max(0, from)).join('\n');
    // Settings that cannot be used are said in words.
    const answer = text.startsWith('{') ? text : JSON.stringify({ problem: text, findings: [] });
    return { code, answer: JSON.parse(answer) as Record<string, unknown> };
  };
  const { code, answer } = await run('doctor', ...asked);
  const findings = answer['findings'] as { id: string; verdict: string; evidence: string }[];
  const failure = findings.find(({ verdict }) => verdict === 'fail');
  const warnings = findings
    .filter(({ verdict }) => verdict === 'warn')
    .map(({ id, evidence }) => `${id}: ${evidence}`);
  const { answer: status } = await run('status');
  const degraded = [status['degraded'] ?? status['problem'] ?? ''].flat().join('; ');
  return { ...(failure && { failure }), warnings, ok: answer['ok'] === true, code, degraded };
}

/** Plays one row; gives what was not named. */
async function playRow(world: World, row: Row, place: number, key: string): Promise<string[]> {
  const { system, options } = world;
  await using stack = new AsyncDisposableStack();
  const gateway = stack.use(await openGateway(system.baseUrl, row));
  const proxy = stack.use(
    await FaultProxy.start(Number(new URL(system.baseUrl).port), seededRandom(place + 1)),
  );
  if (row.fault !== undefined) await proxy.fail(row.fault);
  const way = row.fault === undefined ? system.baseUrl : proxy.url;
  const name = `diagnosis-row-${place}`;
  const folder = join(system.folder, name);
  const ground: Ground = {
    settings: {
      ...{ API_KEY: key, CONTROL_PLANE_URL: row.gateway ? gateway.url : way },
      ...{ AGENT_DATA_DIR: folder, AGENT_HEALTH_PORT: '0', AGENT_HEALTH_HOST: '127.0.0.1' },
      ...{ AGENT_CHECK_TYPES: 'MONITORS', AGENT_WORK_DIR: `${folder}-work`, LOG_FORMAT: 'json' },
    },
    file: (file, text) => {
      writeFileSync(`${folder}-${file}`, text);
      return `${folder}-${file}`;
    },
    ...{ agent: null, stack, held: gateway.held },
  };
  await row.make?.(ground);
  const { API_KEY_FILE: keyFile, ...started } = ground.settings;
  const { API_KEY: _key, ...withFile } = started;
  await using agent = new Program(
    [options.programs.agent, 'start'],
    keyFile === undefined ? started : { ...withFile, API_KEY_FILE: keyFile },
    { before: ground.before },
  );
  ground.agent = agent;
  const problems: string[] = [];
  const until = performance.now() + 90_000;
  const isLogged = (): boolean => agent.lines.some((line) => row.log?.test(line) === true);
  const ended = row.exits === undefined ? null : await agent.exited;
  while (!isLogged() && ended === null && performance.now() < until) await wait(250);
  if (row.log !== undefined && !isLogged()) problems.push(`log: ${agent.lines.at(-1) ?? ''}`);
  if (ended !== null && ended.code !== row.exits) problems.push(`ended with ${ended.code}`);
  const before = agent.lines.length;
  await row.disturb?.(ground);
  const { logAfter, status, warns } = row;
  const saysAfter = (): boolean => agent.lines.slice(before).some((line) => logAfter?.test(line));
  const hasSaid = ({ degraded, warnings }: Said): boolean =>
    status?.test(degraded) !== false &&
    (warns === undefined || warnings.some((text) => warns.test(text)));
  while (logAfter !== undefined && !saysAfter() && performance.now() < until) await wait(250);
  if (logAfter !== undefined && !saysAfter())
    problems.push(`log afterwards: ${agent.lines.at(-1) ?? ''}`);
  let said = await ask(options.programs.agent, ground, row.asked);
  // What is counted over several polls takes its time.
  while (!hasSaid(said) && performance.now() < until) {
    await wait(1_000);
    said = await ask(options.programs.agent, ground, row.asked);
  }
  agent.signal('SIGCONT');
  agent.child.stdout?.resume();
  if (row.ends !== undefined) {
    const { length } = agent.lines;
    agent.signal('SIGTERM');
    const { code } = await agent.exited;
    if (code !== row.ends) problems.push(`ended with ${code}: ${agent.lines.at(-1) ?? ''}`);
    const linesAtEnd = agent.lines.length - length;
    if (linesAtEnd > (row.linesAtEnd ?? Infinity)) problems.push(`${linesAtEnd} lines at its end`);
  }
  const finding = said.failure === undefined ? '' : `${said.failure.id}: ${said.failure.evidence}`;
  if (!(row.doctor === null ? finding === '' : row.doctor.test(finding)))
    problems.push(`doctor: ${finding}`);
  if (said.ok !== (row.doctor === null) || (said.code === 0) !== said.ok)
    problems.push(`doctor ended with ${said.code}`);
  if (warns !== undefined && !said.warnings.some((text) => warns.test(text)))
    problems.push(`doctor warns: ${said.warnings.join('; ')}`);
  if (row.status?.test(said.degraded) === false) problems.push(`status: ${said.degraded}`);
  return problems;
}

export const diagnosis: ProofCase = {
  name: 'diagnosis',
  plays: `${rows.length} faults of agents, which log, doctor and status must name`,
  async join(world) {
    const lane = await world.makeLane('diagnosis');
    await world.addSubjects(lane, [{ kind: 'healthy' }]);
    const key = await world.system.makeLocation('diagnosis-rows');
    const able = rows.filter(({ isPossible = () => true }) => isPossible());
    let place = 0;
    return async ({ note }) => {
      const row = able[place % able.length];
      if (row === undefined) return;
      note(`to be named: ${row.name}`);
      const problems = await playRow(world, row, place, key);
      world.failures.push(...problems.map((problem) => `diagnosis, ${row.name}: ${problem}`));
      place += 1;
    };
  },
};
