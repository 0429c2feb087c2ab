/**
 * `npm run bench -- http tcp dns icmp`: CPU of the agent over the whole path (schedule, measure, judge, outbox,
 * submit) for each run, beside the plainest loop of the same calls and, where it is installed, beside
 * blackbox_exporter, which is asked at the same time for the same targets over a kept connection.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../test/support/system.ts';
import { freePort, Program } from '../../proof/program.ts';
import { openLoad, type Bench, type Ports } from './load.ts';
import {
  inTurns,
  median,
  medianRatio,
  ms,
  show,
  treeCpuMs,
  treePssMib,
  treeWrittenBytes,
} from './measure.ts';

interface Kind {
  /** Of the routes of checks. */
  pathPart: string;
  fields: (ports: Ports) => Record<string, unknown>;
  /** The target, and its module, as the exporter has them. */
  target: (ports: Ports) => string;
  module: object;
}

const kinds: Readonly<Record<string, Kind>> = {
  http: {
    pathPart: 'url',
    fields: ({ http }) => ({ request: { url: `http://127.0.0.1:${http}/` } }),
    target: ({ http }) => `http://127.0.0.1:${http}/`,
    module: { prober: 'http' },
  },
  tcp: {
    pathPart: 'tcp',
    fields: ({ tcp }) => ({ request: { hostname: '127.0.0.1', port: tcp } }),
    target: ({ tcp }) => `127.0.0.1:${tcp}`,
    module: { prober: 'tcp' },
  },
  dns: {
    pathPart: 'dns',
    fields: ({ dns }) => ({
      ...{ heartbeat: {}, script: '' },
      request: { query: 'bench.example', recordType: 'A', nameServer: '127.0.0.1', port: dns },
    }),
    target: ({ dns }) => `127.0.0.1:${dns}`,
    module: { prober: 'dns', dns: { query_name: 'bench.example', query_type: 'A' } },
  },
  icmp: {
    pathPart: 'icmp',
    fields: () => ({ request: { hostname: '127.0.0.1', pingCount: 1 } }),
    target: () => '127.0.0.1',
    module: { prober: 'icmp' },
  },
};

const exporterName = 'prometheus-blackbox-exporter';
const windowMs = 15_000;
const checks = 1_000;
const perSecond = 100;

/** The exporter and questions to it at a steady rate; null where it is not installed. */
async function startExporter(folder: string, name: string, target: string) {
  if (spawnSync(exporterName, ['--version']).error !== undefined) return null;
  const file = join(folder, `${name}.yml`);
  // JSON is YAML as well.
  writeFileSync(file, JSON.stringify({ modules: { [name]: kinds[name]?.module } }));
  const port = await freePort();
  const words = [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`];
  const program = new Program(words, {}, { before: [exporterName, []] });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/-/healthy`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(answers, () => `${exporterName} answers`);
  const agent = new Agent({ keepAlive: true });
  const path = `/probe?module=${name}&target=${encodeURIComponent(target)}`;
  const made = { probes: 0, failed: 0 };
  const startedAt = performance.now();
  let asked = 0;
  const timer = setInterval(() => {
    for (; asked < ((performance.now() - startedAt) * perSecond) / 1_000; asked += 1) {
      get({ agent, host: '127.0.0.1', port, path }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          made.probes += 1;
          if (!/^probe_success 1$/m.test(text)) made.failed += 1;
        });
      }).on('error', () => (made.failed += 1));
    }
  }, 1_000 / perSecond);
  return {
    ...{ made, pid: program.child.pid ?? 0 },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      agent.destroy();
      await program.kill9();
    },
  };
}

function plainCpuMs(kind: string, port: number): number {
  const words = ['scripts/bench/plain.ts', kind, String(port), '1000', String(perSecond)];
  return Number(execFileSync(process.execPath, words, { encoding: 'utf8' }));
}

async function benchKind(
  { system, ports, rounds }: Bench,
  name: string,
  kind: Kind,
): Promise<void> {
  const load = await openLoad(system, {
    ...{ name: `bench-${name}`, checks, pathPart: kind.pathPart, settleMs: 12_000 },
    fields: kind.fields(ports),
  });
  await using exporter = await startExporter(system.folder, name, kind.target(ports));
  const runs = 'monitor_agent_runs_total';
  const failures = () => load.metric(runs, /outcome="(?!passed")/);
  const failedBefore = await failures();
  const other: number[] = [];
  const written: number[] = [];
  const whole = async (): Promise<number> => {
    const before = [
      await load.metric(runs),
      treeCpuMs(load.pid),
      treeWrittenBytes(load.pid),
    ] as const;
    const beside = exporter && { probes: exporter.made.probes, cpuMs: treeCpuMs(exporter.pid) };
    await pause(windowMs);
    const cpuMs = treeCpuMs(load.pid) - before[1];
    if (exporter !== null && beside !== null) {
      const probes = exporter.made.probes - beside.probes;
      other.push((treeCpuMs(exporter.pid) - beside.cpuMs) / probes);
    }
    const made = (await load.metric(runs)) - before[0];
    written.push((treeWrittenBytes(load.pid) - before[2]) / made);
    return cpuMs / made;
  };
  const port = ports[name as keyof Ports] as number | undefined;
  const plain = async () =>
    Promise.resolve(port === undefined ? Number.NaN : plainCpuMs(name, port));
  const costs = await inTurns({ whole, plain }, rounds);
  const failed = (await failures()) - failedBefore + (exporter?.made.failed ?? 0);
  show(`${name}, ${perSecond} runs/s`, {
    'CPU per run, whole path': ms(median(costs.whole)),
    ...(port !== undefined && {
      'plain loop paced': ms(median(costs.plain)),
      ratio: medianRatio(costs.whole, costs.plain).toFixed(2),
    }),
    ...(exporter !== null && {
      'plain blackbox_exporter': ms(median(other)),
      'ratio to it': medianRatio(costs.whole, other).toFixed(2),
      'plain PSS of it': `${treePssMib(exporter.pid).toFixed(0)} MiB`,
    }),
    'written per result': `${(median(written) / 1_000).toFixed(1)} KB`,
    [`PSS with ${checks} checks`]: `${treePssMib(load.pid).toFixed(0)} MiB`,
    ...(failed > 0 && { FAILED: String(failed) }),
  });
  await load.agent.kill9();
}

/** A part for each kind of check. */
export const kindParts = Object.fromEntries(
  Object.entries(kinds).map(([name, kind]) => [
    name,
    (bench: Bench) => benchKind(bench, name, kind),
  ]),
);
