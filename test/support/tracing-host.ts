/** Traces from a host of the lab, as a user without any right. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import type { LabHost } from './network-lab.ts';
import type { NumberedOrder } from './trace-orders.ts';

/** The words that take every right from a command. */
export const withoutRights = [
  ...['setpriv', '--reuid=1001', '--regid=1001', '--clear-groups'],
  ...['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'],
];

interface Outcome {
  readonly id: number;
  readonly tookMs: number;
  readonly report?: TracerouteReport;
  readonly error?: string;
}

export interface TraceOrder {
  readonly port?: number;
  readonly timeoutMs?: number;
  readonly abortAfterMs?: number;
}

export interface TracingHost extends AsyncDisposable {
  readonly pid: number | undefined;
  /** Rejects with the message of the AgentError. */
  trace(address: string, order?: TraceOrder): Promise<{ report: TracerouteReport; tookMs: number }>;
  /** The error that a trace must end with. */
  failure(address: string, order?: TraceOrder): Promise<string>;
}

const program = fileURLToPath(new URL('trace-orders.ts', import.meta.url));

/** Starts a process in a host that traces on demand, several at once where asked to. */
export async function tracingHost(host: LabHost): Promise<TracingHost> {
  const [first = '', ...rest] = [...withoutRights, process.execPath, program];
  const child = host.spawn(first, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('no pipes');
  const waiting = new Map<number, (outcome: Outcome) => void>();
  const lines = createInterface({ input: stdout });
  await once(lines, 'line');
  lines.on('line', (line) => {
    const outcome = JSON.parse(line) as Outcome;
    waiting.get(outcome.id)?.(outcome);
  });
  let last = 0;
  const ask = (address: string, order: TraceOrder): Promise<Outcome> => {
    const id = (last += 1);
    const { port = null, timeoutMs = 6_000, abortAfterMs = null } = order;
    const family = address.includes(':') ? 'IPv6' : 'IPv4';
    const numbered: NumberedOrder = {
      ...{ id, target: { address, family, port }, timeoutMs, abortAfterMs },
    };
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    waiting.set(id, resolve);
    stdin.write(`${JSON.stringify(numbered)}\n`);
    return promise;
  };
  return {
    pid: child.pid,
    async trace(address, order = {}) {
      const { report, error, tookMs } = await ask(address, order);
      if (report === undefined) throw new Error(error);
      return { report, tookMs };
    },
    async failure(address, order = {}) {
      const { error, report } = await ask(address, order);
      if (error === undefined) throw new Error(`it was traced: ${JSON.stringify(report)}`);
      return error;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
