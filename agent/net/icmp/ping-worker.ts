/**
 * Runs `ping` by way of the package of that name, in a thread of its own for three reasons: the
 * package throws where nobody can catch it when the first line `ping` prints has fewer than three
 * words, it hands its whole environment to `ping`, and a thread has an environment of its own.
 */
import { parentPort } from 'node:worker_threads';
import ping, { type PingConfig } from 'ping';

export interface PingOrder {
  id: number;
  address: string;
  config: PingConfig;
}

export type PingReport = { id: number; output: string } | { id: number; problem: string };

const maxOutputLength = 100_000;

async function carryOut({ id, address, config }: PingOrder): Promise<PingReport> {
  try {
    const { output } = await ping.promise.probe(address, config);
    return { id, output: output.slice(0, maxOutputLength) };
  } catch (error) {
    return { id, problem: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on('message', (order: PingOrder) => {
  void carryOut(order).then((report) => parentPort?.postMessage(report));
});
