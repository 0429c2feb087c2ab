/**
 * `npm run bench -- peers`: the agent beside blackbox_exporter, and both programs beside Prometheus
 * with blackbox_exporter. Each pair works at the same time on the same targets, at the same rate, with
 * its default settings; what counts is the CPU time of whole process trees, read from outside. The
 * agent does the whole path: schedule, measure, judge, scrub, outbox on disk, submit. The exporter is
 * asked over a kept connection and stores nothing.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeAuthority } from '../../test/support/certificates.ts';
import { freePort, Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { kinds, openLoad, type Kind, type Load, type Ports } from './load.ts';
import { median, treeCost, treePssMib, type TreeCost } from './process-cost.ts';
import { show } from './show.ts';

const exporterName = 'prometheus-blackbox-exporter';
const serverName = 'prometheus';
const windowMs = 12_000;
const settleMs = 15_000;
const checksPerProtocol = 1_000;
const perSecond = 100;

/** Of the exporter's configuration, by the name of the kind. */
const modulesFor = (authority: string): Record<Kind['name'], object> => ({
  http: { prober: 'http' },
  https: { prober: 'http', http: { tls_config: { ca_file: authority } } },
  tcp: { prober: 'tcp' },
  dns: { prober: 'dns', dns: { query_name: 'bench.example', query_type: 'A' } },
  icmp: { prober: 'icmp' },
});

/** A program of the system, ended with its pair. */
export class Peer implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(name: string, args: readonly string[], port: number) {
    this.port = port;
    this.#child = spawn(name, args, { stdio: 'ignore' });
  }

  static async start(name: string, args: readonly string[], port: number): Promise<Peer> {
    const peer = new Peer(name, args, port);
    for (let tries = 0; tries < 200; tries += 1) {
      const isUp = await fetch(`http://127.0.0.1:${port}/-/healthy`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return peer;
      await pause(50);
    }
    throw new Error(`${name} does not answer`);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

export async function startExporter(folder: string): Promise<Peer> {
  const file = join(folder, 'blackbox.yml');
  // JSON is YAML as well.
  writeFileSync(file, JSON.stringify({ modules: modulesFor(join(folder, 'authority.pem')) }));
  const port = await freePort();
  const args = [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`];
  return Peer.start(exporterName, args, port);
}

/** Asks the exporter for probes at a steady rate until it is disposed. */
class Scrapes implements Disposable {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #timer: NodeJS.Timeout;
  made = 0;
  failed = 0;

  constructor(port: number, module: string, target: string) {
    const path = `/probe?module=${module}&target=${encodeURIComponent(target)}`;
    const startedAt = performance.now();
    let asked = 0;
    this.#timer = setInterval(() => {
      for (; asked < ((performance.now() - startedAt) * perSecond) / 1_000; asked += 1) {
        get({ agent: this.#agent, host: '127.0.0.1', port, path }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => {
            this.made += 1;
            if (!/^probe_success 1$/m.test(text)) this.failed += 1;
          });
        }).on('error', () => (this.failed += 1));
      }
    }, 1_000 / perSecond);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }
}

const runs = 'monitor_agent_runs_total';
const notPassed = /outcome="(?!passed")/;

const startLoad = (
  { system, folder, ports }: Bench,
  name: string,
  { pathPart, request, extra }: Kind,
  everySeconds: number,
): Promise<Load> =>
  openLoad(system, {
    ...{ name, pathPart, everySeconds, settleMs, checks: checksPerProtocol },
    fields: { request: request(ports), ...extra },
    environment: { NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') },
  });

const since = (now: TreeCost, before: TreeCost): TreeCost => ({
  cpuMs: now.cpuMs - before.cpuMs,
  writtenBytes: now.writtenBytes - before.writtenBytes,
});

const ms = (value: number): string => `${value.toFixed(2)} ms`;

async function benchProtocol(bench: Bench, protocol: Kind): Promise<void> {
  const { ports, exporter, rounds } = bench;
  const { name, target } = protocol;
  const load = await startLoad(bench, `peers-${name}`, protocol, 10);
  using scrapes = new Scrapes(exporter.port, name, target(ports));
  await pause(windowMs / 4);
  const own: number[] = [];
  const other: number[] = [];
  const written: number[] = [];
  let failed = 0;
  for (let round = 0; round < rounds; round += 1) {
    const before = {
      made: await load.metric(runs),
      failed: await load.metric(runs, notPassed),
      scrapes: scrapes.made,
      agent: treeCost(load.pid),
      exporter: treeCost(exporter.pid),
    };
    await pause(windowMs);
    const agent = since(treeCost(load.pid), before.agent);
    const beside = since(treeCost(exporter.pid), before.exporter);
    const made = (await load.metric(runs)) - before.made;
    own.push(agent.cpuMs / made);
    written.push(agent.writtenBytes / made);
    other.push(beside.cpuMs / (scrapes.made - before.scrapes));
    failed += (await load.metric(runs, notPassed)) - before.failed;
  }
  show(`${name}, ${perSecond}/s`, {
    'CPU per check': ms(median(own)),
    blackbox: ms(median(other)),
    ratio: median(own.map((cost, round) => cost / (other[round] ?? Number.NaN))).toFixed(2),
    'written per result': `${(median(written) / 1_000).toFixed(1)} KB`,
    PSS: `${treePssMib(load.pid).toFixed(0)} MiB`,
    'of blackbox': `${treePssMib(exporter.pid).toFixed(0)} MiB`,
    ...(failed + scrapes.failed > 0 ? { FAILED: `${failed}, ${scrapes.failed}` } : {}),
  });
  await load.agent.kill9();
}

async function startServer(folder: string, exporter: Peer, ports: Ports): Promise<Peer> {
  const file = join(folder, 'prometheus.yml');
  const targets = Array.from(
    { length: checksPerProtocol },
    (_, index) => `http://127.0.0.1:${ports.http}/?n=${index}`,
  );
  const relabel_configs = [
    { source_labels: ['__address__'], target_label: '__param_target' },
    { source_labels: ['__param_target'], target_label: 'instance' },
    { target_label: '__address__', replacement: `127.0.0.1:${exporter.port}` },
  ];
  writeFileSync(
    file,
    JSON.stringify({
      scrape_configs: [
        {
          ...{ job_name: 'peers', metrics_path: '/probe', params: { module: ['http'] } },
          ...{ scrape_interval: '20s', static_configs: [{ targets }], relabel_configs },
        },
      ],
    }),
  );
  const port = await freePort();
  return Peer.start(
    serverName,
    [
      `--config.file=${file}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
    ],
    port,
  );
}

/** Both programs beside their peers, 1,000 URL checks every 20 s. */
async function benchWhole(bench: Bench): Promise<void> {
  const { system, folder, ports, rounds } = bench;
  const [http] = kinds;
  if (http === undefined) return;
  await using exporter = await startExporter(folder);
  await using server = await startServer(folder, exporter, ports);
  const load = await startLoad(bench, 'peers-whole', http, 20);
  const own = [load.pid, system.controlPlane.child.pid ?? 0];
  const peers = [server.pid, exporter.pid];
  const cpuMs = (pids: readonly number[]) =>
    pids.reduce((sum, pid) => sum + treeCost(pid).cpuMs, 0);
  const pss = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + treePssMib(pid), 0);
  const costs: { own: number; peers: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = { own: cpuMs(own), peers: cpuMs(peers) };
    await pause(20_000);
    costs.push({
      own: (cpuMs(own) - before.own) / checksPerProtocol,
      peers: (cpuMs(peers) - before.peers) / checksPerProtocol,
    });
  }
  const memory = { own: pss(own), peers: pss(peers) };
  show('both, 1,000 URLs at 20 s', {
    'CPU per check': ms(median(costs.map((cost) => cost.own))),
    'Prometheus and blackbox': ms(median(costs.map((cost) => cost.peers))),
    ratio: median(costs.map((cost) => cost.own / cost.peers)).toFixed(2),
    PSS: `${memory.own.toFixed(0)} MiB`,
    'of the peers': `${memory.peers.toFixed(0)} MiB`,
    'ratio of PSS': (memory.own / memory.peers).toFixed(2),
  });
  await load.agent.kill9();
}

interface Bench {
  system: System;
  folder: string;
  ports: Ports;
  exporter: Peer;
  rounds: number;
}

const isInstalled = (name: string): boolean =>
  spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;

export const isExporterInstalled = (): boolean => isInstalled(exporterName);

/** `only` names protocols, or `whole`; all of them when it names none. */
export async function benchPeers(rounds: number, only: readonly string[]): Promise<void> {
  const missing = [exporterName, serverName].filter((name) => !isInstalled(name));
  if (missing.length > 0) {
    console.log(
      `peers: skipped, ${missing.join(' and ')} not installed (they are Debian packages)`,
    );
    return;
  }
  using folder = temporaryFolder();
  const authority = await makeAuthority();
  const { key, cert } = await authority.issue({ host: '127.0.0.1', validForDays: 90 });
  writeFileSync(join(folder.path, 'authority.pem'), authority.cert);
  const certificate = { TARGET_KEY: key, TARGET_CERTIFICATE: cert };
  await using targets = new Program(['scripts/bench/targets.ts'], certificate);
  const ports = JSON.parse(await targets.line('{')) as Ports;
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  await using exporter = await startExporter(folder.path);
  const bench = { system, folder: folder.path, ports, exporter, rounds };
  const names = [...kinds.map(({ name }) => name), 'whole'];
  const chosen = names.filter((name) => only.includes(name));
  const wants = (name: string): boolean => chosen.length === 0 || chosen.includes(name);
  for (const protocol of kinds) if (wants(protocol.name)) await benchProtocol(bench, protocol);
  if (wants('whole')) await benchWhole(bench);
}
