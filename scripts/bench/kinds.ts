/**
 * `npm run bench -- http tcp dns icmp browser`: CPU of the agent over the whole path (schedule, measure, judge,
 * outbox, submit) for each run, beside blackbox_exporter where it is installed, which is asked at the same time for
 * the same targets over a kept connection. Beside a browser check: `playwright test` with the same script.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, Program } from '../../proof/program.ts';
import { foundBrowser } from '../../test/support/found-browser.ts';
import { openLoad, type Bench, type Ports } from './load.ts';
import {
  endedCpuMs,
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
  /** The target, and its module, as the exporter has them; without it the exporter knows no such probe. */
  exporter?: { target: (ports: Ports) => string; module: object };
  /** How many there are, and when they run; by default a thousand, every ten seconds. */
  checks?: number;
  fieldsOf?: (index: number) => Record<string, unknown>;
  windowMs?: number;
}

const kinds: Readonly<Record<string, Kind>> = {
  http: {
    pathPart: 'url',
    fields: ({ http }) => ({ request: { url: `http://127.0.0.1:${http}/` } }),
    exporter: { target: ({ http }) => `http://127.0.0.1:${http}/`, module: { prober: 'http' } },
  },
  tcp: {
    pathPart: 'tcp',
    fields: ({ tcp }) => ({ request: { hostname: '127.0.0.1', port: tcp } }),
    exporter: { target: ({ tcp }) => `127.0.0.1:${tcp}`, module: { prober: 'tcp' } },
  },
  dns: {
    pathPart: 'dns',
    fields: ({ dns }) => ({
      ...{ heartbeat: {}, script: '' },
      request: { query: 'bench.example', recordType: 'A', nameServer: '127.0.0.1', port: dns },
    }),
    exporter: {
      target: ({ dns }) => `127.0.0.1:${dns}`,
      module: { prober: 'dns', dns: { query_name: 'bench.example', query_type: 'A' } },
    },
  },
  icmp: {
    pathPart: 'icmp',
    fields: () => ({ request: { hostname: '127.0.0.1', pingCount: 1 } }),
    exporter: { target: () => '127.0.0.1', module: { prober: 'icmp' } },
  },
  browser: {
    ...{ pathPart: 'browser', checks: 6, windowMs: 60_000 },
    fields: ({ http }) => ({
      script: `const { test, expect } = require('@playwright/test');
        test('shop', async ({ page }) => {
          await page.goto('http://127.0.0.1:${http}/');
          await expect(page).toHaveTitle('Shop');
        });`,
    }),
    fieldsOf: (index) => ({ frequency: 1, frequencyOffset: 1 + index }),
  },
};

const exporterName = 'prometheus-blackbox-exporter';
/** Questions to the exporter: as many as there are runs. */
const perSecond = 100;

/** The exporter and questions to it at a steady rate; null where it is not installed. */
async function startExporter(
  folder: string,
  name: string,
  given: { target: string; module: object } | null,
) {
  if (given === null || spawnSync(exporterName, ['--version']).error !== undefined) return null;
  const file = join(folder, `${name}.yml`);
  // JSON is YAML as well.
  writeFileSync(file, JSON.stringify({ modules: { [name]: given.module } }));
  const port = await freePort();
  const words = [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`];
  const program = new Program(words, {}, { before: [exporterName, []] });
  await program.answers(`http://127.0.0.1:${port}/-/healthy`);
  const agent = new Agent({ keepAlive: true });
  const path = `/probe?module=${name}&target=${encodeURIComponent(given.target)}`;
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

/** Gives what runs `playwright test` with a script once, and its CPU in ms. */
async function openPlaywrightTest(folder: string, script: string): Promise<() => number> {
  const { executablePath, args } = await foundBrowser();
  const cwd = join(folder, 'playwright-test');
  mkdirSync(cwd);
  symlinkSync(join(import.meta.dirname, '..', '..', 'node_modules'), join(cwd, 'node_modules'));
  writeFileSync(join(cwd, 'shop.spec.js'), script);
  const use = { launchOptions: { executablePath, args } };
  const config = `module.exports = ${JSON.stringify({ workers: 1, use })};`;
  writeFileSync(join(cwd, 'playwright.config.js'), config);
  return () => {
    const before = endedCpuMs();
    execFileSync(process.execPath, ['node_modules/@playwright/test/cli.js', 'test'], { cwd });
    return endedCpuMs() - before;
  };
}

async function benchKind(
  { system, ports, rounds }: Bench,
  name: string,
  { pathPart, fields, exporter: known, checks = 1_000, fieldsOf, windowMs = 15_000 }: Kind,
): Promise<void> {
  const load = await openLoad(system, {
    ...{ name: `bench-${name}`, checks, pathPart, settleMs: 12_000 },
    ...{ fields: fields(ports), fieldsOf },
  });
  const given = known === undefined ? null : { ...known, target: known.target(ports) };
  await using exporter = await startExporter(system.folder, name, given);
  const { script } = fields(ports);
  const playwrightTest =
    typeof script === 'string' && script !== ''
      ? await openPlaywrightTest(system.folder, script)
      : null;
  const runs = 'monitor_agent_runs_total';
  const failures = () => load.metric(runs, /outcome="(?!passed")/);
  const soFar = async () => ({
    ...{ runs: await load.metric(runs), cpuMs: treeCpuMs(load.pid) },
    ...{ written: treeWrittenBytes(load.pid), probes: exporter?.made.probes ?? 0 },
    probesCpuMs: exporter === null ? 0 : treeCpuMs(exporter.pid),
  });
  const failedBefore = await failures();
  const costs: number[] = [];
  const written: number[] = [];
  const others: number[] = [];
  const peers: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = await soFar();
    await pause(windowMs);
    const now = await soFar();
    const made = now.runs - before.runs;
    costs.push((now.cpuMs - before.cpuMs) / made);
    written.push((now.written - before.written) / made);
    if (playwrightTest !== null) peers.push(playwrightTest());
    others.push((now.probesCpuMs - before.probesCpuMs) / (now.probes - before.probes));
  }
  const failed = (await failures()) - failedBefore + (exporter?.made.failed ?? 0);
  show(`${name}, ${checks} checks`, {
    'CPU per run, whole path': ms(median(costs)),
    ...(exporter !== null && {
      'plain blackbox_exporter': ms(median(others)),
      'ratio to it': medianRatio(costs, others).toFixed(2),
      'plain PSS of it': `${treePssMib(exporter.pid).toFixed(0)} MiB`,
    }),
    ...(playwrightTest !== null && {
      'plain playwright test': ms(median(peers), 0),
      'ratio to it': medianRatio(costs, peers).toFixed(2),
    }),
    'written per result': `${(median(written) / 1_000).toFixed(1)} KB`,
    PSS: `${treePssMib(load.pid).toFixed(0)} MiB`,
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
