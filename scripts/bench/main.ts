/**
 * `npm run bench`: what the agent and the control plane cost. CPU is that of the whole process tree
 * of the agent, over the whole path (schedule, measure, judge, outbox, submit), beside the plainest
 * loop of the same calls, in turn, several rounds; medians and ratios are what to compare. Nothing
 * here passes or fails: machines differ.
 */
import { execFileSync, spawn } from 'node:child_process';
import { Program } from '../../proof/program.ts';
import { backdateSchedules, System, temporaryFolder } from '../../test/support/system.ts';
import { benchAnalytics } from './analytics.ts';
import { benchApi } from './api.ts';
import { benchArtifact } from './artifact.ts';
import { benchBrowser } from './browser.ts';
import { benchConsole } from './console.ts';
import { benchEncryption } from './encryption.ts';
import { benchIngestEngines } from './ingest-engines.ts';
import { median, pssMib, quantile, treeCost, treeCpuMs, treePssMib } from './process-cost.ts';
import { readOptions, refuse } from '../options.ts';
import { benchOutbox } from './outbox.ts';
import { benchPeers } from './peers.ts';
import { benchScale } from './scale.ts';
import { benchScrub } from './scrub.ts';
import { show } from './show.ts';
import { benchStart } from './start.ts';
import { benchStatusPage } from './status-page.ts';
import { benchTasks } from './tasks.ts';
import { benchTiming } from './timing.ts';

interface Ports {
  http: number;
  tcp: number;
  dns: number;
}

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const windowMs = 15_000;
const checksPerKind = 1_000;
const checksForSlots = 10_000;
const settleMs = 12_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function script(name: string, ...args: string[]): Record<string, number> {
  const text = execFileSync(process.execPath, [`scripts/bench/${name}.ts`, ...args], {
    encoding: 'utf8',
  });
  return JSON.parse(text) as Record<string, number>;
}

async function metric(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(name) && /[{ ]/.test(line.charAt(name.length)))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

interface Kind {
  name: string;
  plain: keyof Ports | null;
  pathPart: string;
  request: (ports: Ports) => Record<string, unknown>;
  extra?: Record<string, unknown>;
}

const kinds: Kind[] = [
  {
    name: 'url',
    plain: 'http',
    pathPart: 'url',
    request: ({ http }) => ({ url: `http://127.0.0.1:${http}/` }),
  },
  {
    name: 'tcp',
    plain: 'tcp',
    pathPart: 'tcp',
    request: ({ tcp }) => ({ hostname: '127.0.0.1', port: tcp }),
  },
  {
    name: 'dns',
    plain: 'dns',
    pathPart: 'dns',
    request: ({ dns }) => ({
      query: 'bench.example',
      recordType: 'A',
      nameServer: '127.0.0.1',
      port: dns,
    }),
    extra: { heartbeat: {}, script: '' },
  },
  {
    name: 'icmp',
    plain: null,
    pathPart: 'icmp',
    request: () => ({ hostname: '127.0.0.1', pingCount: 1 }),
  },
];

/** An agent with so many checks of a kind, settled into its schedule. */
async function openLoad(
  system: System,
  name: string,
  kind: Kind,
  request: Record<string, unknown>,
  offsetSeconds: number,
): Promise<{ agent: Program; port: number; pid: number }> {
  const key = await system.makeLocation(name);
  for (let index = 0; index < checksPerKind; index += 1) {
    await system.api('POST', `/v1/checks/${kind.pathPart}`, {
      name: `${name} ${index}`,
      frequency: 0,
      frequencyOffset: offsetSeconds,
      doubleCheck: false,
      privateLocations: [name],
      request,
      ...kind.extra,
    });
  }
  const agent = system.startAgent(name, key);
  const port = Number((await agent.log('agent has started'))['healthPort']);
  await agent.log('checked in');
  await pause(settleMs);
  return { agent, port, pid: agent.child.pid ?? 0 };
}

/** CPU per run of the agent's process tree over a window, in ms. */
async function cpuPerRun(port: number, pid: number): Promise<number> {
  const runs = await metric(port, 'monitor_agent_runs_total');
  const cpu = treeCpuMs(pid);
  await pause(windowMs);
  const made = (await metric(port, 'monitor_agent_runs_total')) - runs;
  return (treeCpuMs(pid) - cpu) / made;
}

const ms = (value: number): string => `${value.toFixed(2)} ms`;

async function benchKind(system: System, kind: Kind, ports: Ports): Promise<void> {
  const load = await openLoad(system, `bench-${kind.name}`, kind, kind.request(ports), 10);
  const whole: number[] = [];
  const paced: number[] = [];
  const flat: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    whole.push(await cpuPerRun(load.port, load.pid));
    if (kind.plain === null) continue;
    const port = String(ports[kind.plain]);
    paced.push(script('plain', kind.name, port, '1000', '100')['cpuMs'] ?? Number.NaN);
    flat.push(script('plain', kind.name, port, '3000', '0')['cpuMs'] ?? Number.NaN);
  }
  const ratios = whole.map((cost, round) => cost / (paced[round] ?? Number.NaN));
  show(`${kind.name}, 100 runs/s`, {
    'CPU per run, whole path': ms(median(whole)),
    ...(kind.plain === null
      ? {}
      : {
          'plain loop paced': ms(median(paced)),
          ratio: median(ratios).toFixed(2),
          'plain flat out': ms(median(flat)),
        }),
    'PSS with 1,000 checks': `${pssMib(load.pid).toFixed(0)} MiB`,
    'of all its processes': `${treePssMib(load.pid).toFixed(0)} MiB`,
  });
  await load.agent.kill9();
}

/** Echo requests on loopback: a target that takes no time, so that what is measured is the measuring. */
async function benchRoundTrip(busy: number): Promise<void> {
  const spinning = Array.from({ length: busy }, () =>
    // They end with this program, however it ends.
    spawn(process.execPath, ['-e', `while (process.ppid === ${process.pid});`], {
      stdio: 'ignore',
    }),
  );
  const found: Record<string, Record<string, number[]>> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const who of ['agent', 'plain']) {
      for (const [name, value] of Object.entries(script('round-trip', who))) {
        ((found[who] ??= {})[name] ??= []).push(value);
      }
    }
  }
  for (const child of spinning) child.kill('SIGKILL');
  const [agent = {}, plain = {}] = [found['agent'], found['plain']];
  for (const name of ['p50', 'p99']) {
    const [own, other] = [median(agent[name] ?? []), median(plain[name] ?? [])];
    show(`echo ${name}, ${busy} busy`, {
      agent: `${own.toFixed(4)} ms`,
      'raw socket read at once': `${other.toFixed(4)} ms`,
      ratio: (own / other).toFixed(2),
    });
  }
  await pause(100);
}

/** Both programs with many checks: lateness from the slot to the start of its run, cost and memory. */
async function benchLateness(system: System, ports: Ports): Promise<void> {
  const name = 'bench-slots';
  const key = await system.makeLocation(name);
  for (let made = 0; made < checksForSlots; made += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        system.createUrlCheck(`http://127.0.0.1:${ports.http}/`, {
          ...{ name: `slots ${made + index}`, privateLocations: [name] },
          ...{ frequency: 1, frequencyOffset: 1 + (index % 10) },
        }),
      ),
    );
  }
  const agent = system.startAgent(name, key);
  await agent.log('checked in');
  // The slots made up for at the start are late by design; what counts comes after them.
  await pause(settleMs);
  const since = Date.now();
  const programs = {
    agent: agent.child.pid ?? 0,
    'control plane': system.controlPlane.child.pid ?? 0,
  };
  const before = Object.values(programs).map(treeCost);
  await pause(60_000);
  const costs = Object.entries(programs).map(([program, pid], index) => {
    const now = treeCost(pid);
    const cost = {
      cpuMs: now.cpuMs - (before[index]?.cpuMs ?? 0),
      writtenBytes: now.writtenBytes - (before[index]?.writtenBytes ?? 0),
    };
    return { program, ...cost, pssMib: treePssMib(pid) };
  });
  await agent.kill9();
  const late = system
    .query<{ late: number }>(
      `select started_at - scheduled_for as late from check_results
       where run_location = '${name}' and scheduled_for >= ${since}`,
    )
    .map((row) => row.late);
  show(`${checksForSlots} URL checks at 1/min`, {
    slots: String(late.length),
    'lateness p50': ms(quantile(late, 0.5)),
    p99: ms(quantile(late, 0.99)),
    most: ms(Math.max(...late)),
  });
  for (const { program, cpuMs, writtenBytes, pssMib } of costs) {
    show(`${program}, the same`, {
      'CPU per check': ms(cpuMs / late.length),
      'written per result': `${(writtenBytes / late.length / 1_000).toFixed(1)} KB`,
      PSS: `${pssMib.toFixed(0)} MiB`,
    });
  }
}

/**
 * Results of a hundred checks that are handed in over HTTP and acknowledged once they are durable: the
 * requests, the decisions and the statuses included; CPU with the sums of analytics that are made meanwhile.
 */
async function benchIngest(system: System): Promise<void> {
  const key = await system.makeLocation('bench-ingest');
  const ids: string[] = [];
  for (let index = 0; index < 100; index += 1) {
    const { id } = await system.createUrlCheck('http://127.0.0.1/', {
      name: `ingest ${index}`,
      frequency: 0,
      frequencyOffset: 10,
      privateLocations: ['bench-ingest'],
    });
    ids.push(id);
  }
  const dayMs = 86_400_000;
  backdateSchedules(system.databaseFile, 29 * dayMs);
  const pid = system.controlPlane.child.pid ?? 0;
  const ways = [
    { label: 'ingest, batches of 500', batches: 60, connections: 4, batchSize: 500 },
    { label: 'ingest, one a request', batches: 6_000, connections: 32, batchSize: 1 },
  ];
  for (const [way, { label, batches, connections, batchSize }] of ways.entries()) {
    const figures: number[] = [];
    const cpuUs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // Each round has slots of its own.
      const begin = Date.now() - (28 - 2 * (way * rounds + round)) * dayMs;
      const counts = [batches, connections, begin, batchSize].map(String);
      const cpu = treeCpuMs(pid);
      const args = [system.baseUrl, key, 'bench-ingest', ids.join(), ...counts];
      figures.push(script('ingest', ...args)['perSecond'] ?? Number.NaN);
      // One more batch warms up.
      const results = (batches + 1) * batchSize;
      cpuUs.push((1_000 * (treeCpuMs(pid) - cpu)) / results);
    }
    show(label, {
      'acknowledged durably': `${median(figures).toFixed(0)} results/s`,
      'CPU per result': `${median(cpuUs).toFixed(0)} µs`,
    });
  }
}

const { values, positionals: given } = readOptions({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
if (given.includes('scale')) {
  // It takes half an hour, and starts what it needs itself.
  await benchScale(rounds, values.json);
  process.exit(0);
}
if (given.includes('peers')) {
  await benchPeers(Number(process.env['BENCH_ROUNDS'] ?? 5), given, show);
  process.exit(0);
}
const parts: Record<string, (open: { system: System; ports: Ports }) => Promise<void>> = {
  analytics: benchAnalytics,
  scrub: () => benchScrub(rounds),
  api: () => benchApi(rounds),
  console: () => benchConsole(rounds),
  tasks: benchTasks,
  artifact: () => benchArtifact(rounds),
  outbox: benchOutbox,
  'status-page': () => benchStatusPage(rounds),
  browser: benchBrowser,
  ingest: ({ system }) => benchIngest(system),
  'ingest-engines': () => benchIngestEngines(rounds, show),
  start: ({ system }) => benchStart(system, rounds, show),
  ...Object.fromEntries(
    kinds.map((kind) => [kind.name, ({ system, ports }) => benchKind(system, kind, ports)]),
  ),
  encryption: ({ ports }) => benchEncryption(rounds, ports.http, show),
  'round-trip': async () => {
    for (const busy of [0, 20]) await benchRoundTrip(busy);
  },
  timing: () => benchTiming(rounds, show),
  slots: ({ system, ports }) => benchLateness(system, ports),
};
const unknown = given.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  refuse(
    `There is no part "${unknown}"; there are ${Object.keys(parts).join(', ')}, peers and scale`,
  );
}
using folder = temporaryFolder();
await using targets = new Program(['scripts/bench/targets.ts'], {});
const ports = JSON.parse(await targets.line('{')) as Ports;
await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
console.log(`Node ${process.versions.node}, ${rounds} rounds, medians`);
for (const [name, measure] of Object.entries(parts)) {
  if (given.length === 0 || given.includes(name)) await measure({ system, ports });
}
