/**
 * `npm run bench -- api`: requests a second of the API on one core, keep-alive, with authentication,
 * under 10,000 checks and a million results; beside it bare Express that gives the same bytes.
 */
import { execFileSync } from 'node:child_process';
import autocannon from 'autocannon';
import { Program } from '../../test/support/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { median, treeCpuMs } from './process-cost.ts';

const checks = Number(process.env['BENCH_CHECKS'] ?? 10_000);
const results = Number(process.env['BENCH_RESULTS'] ?? 1_000_000);
const seconds = 8;
const connections = 20;

interface Load {
  url: string;
  method?: 'GET' | 'POST';
  body?: () => string;
  paths: readonly string[];
  key?: string;
}

interface Figures {
  perSecond: number;
  p99Ms: number;
  cpuMs: number;
}

async function measure(pid: number, load: Load): Promise<Figures> {
  const { url, method = 'GET', paths, body, key } = load;
  const before = treeCpuMs(pid);
  const run = await autocannon({
    url,
    connections,
    duration: seconds,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    requests: paths.map((path) => ({
      path,
      method,
      ...(body === undefined ? {} : { body: body() }),
    })),
  });
  const answered = run['2xx'];
  if (run.non2xx > 0) throw new Error(`${run.non2xx} answers were no success`);
  return {
    perSecond: answered / run.duration,
    p99Ms: run.latency.p99,
    cpuMs: (treeCpuMs(pid) - before) / answered,
  };
}

function show(label: string, ours: readonly Figures[], plain: readonly Figures[]): void {
  const of = (figures: readonly Figures[], name: keyof Figures) =>
    median(figures.map((figure) => figure[name]));
  const ratios = ours.map(({ cpuMs }, round) => cpuMs / (plain[round]?.cpuMs ?? Number.NaN));
  console.log(
    [
      label.padEnd(26),
      `${of(ours, 'perSecond').toFixed(0)} req/s`,
      `p99 ${of(ours, 'p99Ms').toFixed(0)} ms`,
      `CPU ${of(ours, 'cpuMs').toFixed(3)} ms`,
      `bare Express ${of(plain, 'perSecond').toFixed(0)} req/s, CPU ${of(plain, 'cpuMs').toFixed(3)} ms`,
      `ratio ${median(ratios).toFixed(2)}`,
    ].join('   '),
  );
}

/** Runs each operation and its floor in turn. */
export async function benchApi(rounds: number): Promise<void> {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  const ids = JSON.parse(
    execFileSync(
      process.execPath,
      [
        'scripts/bench/api-seed.ts',
        system.databaseFile,
        system.accountId,
        String(checks),
        String(results),
      ],
      { encoding: 'utf8' },
    ),
  ) as string[];
  const pid = system.controlPlane.child.pid ?? 0;
  const key = system.apiKey;
  const newCheck = () =>
    JSON.stringify({
      name: 'bench',
      activated: true,
      locations: ['eu-central-1'],
      tags: ['bench'],
      request: { url: 'https://shop.example/health' },
    });
  const loads: { label: string; load: Load }[] = [
    {
      label: 'status read',
      load: { url: system.baseUrl, key, paths: ids.map((id) => `/v1/check-statuses/${id}`) },
    },
    {
      label: 'results list of 10',
      load: { url: system.baseUrl, key, paths: ids.map((id) => `/v1/check-results/${id}`) },
    },
    {
      label: 'create check, durable',
      load: {
        url: system.baseUrl,
        key,
        method: 'POST',
        body: newCheck,
        paths: ['/v1/checks/url'],
      },
    },
  ];
  for (const { label, load } of loads) {
    const [path = ''] = load.paths;
    const sample = await fetch(load.url + path, {
      method: load.method ?? 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(load.body === undefined ? {} : { body: load.body() }),
    });
    await using plain = new Program(['scripts/bench/plain-express.ts', await sample.text()], {});
    const { port } = JSON.parse(await plain.line('{')) as { port: number };
    const { key: _key, ...bare } = { ...load, url: `http://127.0.0.1:${port}` };
    const ours: Figures[] = [];
    const floor: Figures[] = [];
    for (let round = 0; round < rounds; round += 1) {
      floor.push(await measure(plain.child.pid ?? 0, bare));
      ours.push(await measure(pid, load));
    }
    show(label, ours, floor);
  }
}
