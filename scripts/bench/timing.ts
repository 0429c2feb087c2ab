/**
 * `npm run bench -- timing`: by how much the reported total of an HTTP probe is above what the target took,
 * at 20 probes a second, with the whole machine and with half a core; beside blackbox_exporter, under the
 * same limit, where it is installed. The target says of each answer what it took.
 */
import { mkdirSync, rmdirSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inflateRawSync } from 'node:zlib';
import { Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { isExporterInstalled, startExporter, type Peer } from './peers.ts';
import { openLoad } from './load.ts';
import { quantile, treePids } from './process-cost.ts';
import { show } from './show.ts';

const perSecond = 20;
const everySeconds = 10;
const windowMs = 30_000;
const settleMs = 15_000;

/** Gives a process and its descendants this share of one core, in a control group of version 1 or 2. */
class CpuLimit implements Disposable {
  readonly #folder: string;
  readonly #root: string;

  constructor(pid: number, share: number) {
    const period = 100_000;
    const quota = String(period * share);
    const isFirst = existsSync('/sys/fs/cgroup/cpu');
    this.#root = isFirst ? '/sys/fs/cgroup/cpu' : '/sys/fs/cgroup';
    this.#folder = join(this.#root, `bench-${pid}`);
    mkdirSync(this.#folder);
    if (isFirst) writeFileSync(join(this.#folder, 'cpu.cfs_quota_us'), quota);
    else writeFileSync(join(this.#folder, 'cpu.max'), `${quota} ${period}`);
    for (const each of treePids(pid)) this.#move(each, this.#folder);
  }

  #move(pid: number, folder: string): void {
    writeFileSync(join(folder, 'cgroup.procs'), String(pid));
  }

  [Symbol.dispose](): void {
    try {
      rmdirSync(this.#folder);
    } catch {
      // Its processes are still ending.
    }
  }
}

async function errorsOfAgent(system: System, name: string, port: number, share: number) {
  const { agent, pid } = await openLoad(system, {
    ...{ name, checks: perSecond * everySeconds, everySeconds, settleMs: 0 },
    fields: { request: { url: `http://127.0.0.1:${port}/delayed` } },
  });
  using _limit = share < 1 ? new CpuLimit(pid, share) : null;
  await pause(settleMs);
  const since = Date.now();
  await pause(windowMs);
  await agent.kill9();
  const rows = system.query<{ payload: Uint8Array; encoding: string; total: number }>(
    `select payload, encoding, response_time_ms as total from result_payloads
     join check_results on seq = result_seq
     where run_location = '${name}' and check_results.started_at >= ${since}`,
  );
  return rows.flatMap(({ payload, encoding, total }) => {
    const text = encoding === 'deflate' ? inflateRawSync(payload) : Buffer.from(payload);
    const { response } = JSON.parse(text.toString('utf8')) as {
      response: { headers: Record<string, string> } | null;
    };
    return response === null ? [] : [total - Number(response.headers['x-took-ms'])];
  });
}

async function errorsOfExporter(exporter: Peer, port: number, share: number): Promise<number[]> {
  using _limit = share < 1 ? new CpuLimit(exporter.pid, share) : null;
  const totals = new Map<string, number>();
  const asked: Promise<void>[] = [];
  const ask = async (n: string): Promise<void> => {
    const target = encodeURIComponent(`http://127.0.0.1:${port}/delayed?n=${n}`);
    const answer = await fetch(
      `http://127.0.0.1:${exporter.port}/probe?module=http&target=${target}`,
    );
    const seconds = /^probe_duration_seconds (\S+)$/m.exec(await answer.text())?.[1];
    if (seconds !== undefined) totals.set(n, Number(seconds) * 1_000);
  };
  const begunAt = performance.now();
  for (let n = 0; performance.now() - begunAt < windowMs; n += 1) {
    asked.push(ask(`${share}-${n}`));
    await pause(Math.max(0, begunAt + (n * 1_000) / perSecond - performance.now()));
  }
  await Promise.all(asked);
  const took = (await (await fetch(`http://127.0.0.1:${port}/took`)).json()) as Record<
    string,
    number
  >;
  return [...totals].flatMap(([n, total]) => (took[n] === undefined ? [] : [total - took[n]]));
}

const shown = (errors: readonly number[]): string =>
  [0.5, 0.99].map((share) => `${quantile(errors, share).toFixed(2)} ms`).join(' / ');

export async function benchTiming({ rounds }: { rounds: number }): Promise<void> {
  using folder = temporaryFolder();
  await using targets = new Program(['scripts/bench/targets.ts'], {});
  const { http } = JSON.parse(await targets.line('{')) as { http: number };
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  for (const share of [1, 0.5]) {
    const own: number[] = [];
    const other: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      own.push(
        ...(await errorsOfAgent(system, `bench-timing-${share * 10}-${round}`, http, share)),
      );
      if (!isExporterInstalled()) continue;
      await using exporter = await startExporter(folder.path);
      other.push(...(await errorsOfExporter(exporter, http, share)));
    }
    show(`error of the total, ${perSecond}/s, ${share < 1 ? `${share} cores` : 'no limit'}`, {
      results: String(own.length),
      'p50 / p99': shown(own),
      ...(other.length === 0 ? {} : { blackbox: shown(other) }),
    });
  }
}
