/**
 * `npm run bench -- timing`: by how much the reported total of an HTTP probe is above what the target took, at 20
 * probes a second, with the whole machine and, where control groups allow it, with half a core. The target says of
 * each answer what it took.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { inflateRawSync } from 'node:zlib';
import { limitCpu } from '../../proof/limit-cpu.ts';
import { openLoad, type Bench } from './load.ts';
import { ms, quantile, show } from './measure.ts';

const perSecond = 20;
const windowMs = 30_000;

async function errorsOf({ system, ports }: Bench, name: string, share: number): Promise<number[]> {
  const { agent, pid } = await openLoad(system, {
    ...{ name, checks: perSecond * 10, settleMs: 0 },
    fields: { request: { url: `http://127.0.0.1:${ports.http}/delayed` } },
  });
  using limit = share < 1 ? limitCpu(pid, share) : null;
  if (share < 1 && limit === null) {
    await agent.kill9();
    return [];
  }
  await pause(15_000);
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

export async function benchTiming(bench: Bench): Promise<void> {
  for (const share of [1, 0.5]) {
    const errors: number[] = [];
    for (let round = 0; round < bench.rounds; round += 1) {
      errors.push(...(await errorsOf(bench, `bench-timing-${share * 10}-${round}`, share)));
    }
    if (errors.length === 0) continue;
    show(`error of the total, ${perSecond}/s, ${share < 1 ? `${share} cores` : 'no limit'}`, {
      results: String(errors.length),
      p50: ms(quantile(errors, 0.5)),
      p99: ms(quantile(errors, 0.99)),
    });
  }
}
