/** Starting a program under `supervisor.pl`, which keeps it apart and within its limits. */
import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { endProcessesOf } from './end-processes.ts';
import { explainTimeout, notStarted, type Ending, type Launched, type Order } from './launch.ts';
import type { ProgramEnd, ScriptLimits } from './script-host.ts';

const supervisor = fileURLToPath(new URL('supervisor.pl', import.meta.url));

/** How the supervisor keeps a program apart. */
export interface Way {
  readonly isolation: 'user' | 'namespaces' | 'process-group';
  /** Processes, mounts and shared memory of its own. */
  readonly hasNamespaces: boolean;
}

export interface Supervision {
  readonly perl: string;
  readonly way: Way;
  /** The folder of the run. */
  readonly folder: string;
  /** The user it runs as; null for the agent's own. */
  readonly uid: number | null;
  /** Files and folders it must not see. */
  readonly hidden: readonly string[];
  readonly limits: ScriptLimits;
  readonly graceMs: number;
}

/** More than honest programs open, less than would harm the machine. */
const maxDescriptors = 8_192;

/** What the supervisor may take to end a program, after which it is ended itself. */
const stuckAfterMs = 2_500;

const maxMs = 2_147_483_647;

/** Texts one after the other, each with its length before it; the length of all before all. */
function frame(texts: readonly string[]): Buffer {
  const parts = texts.flatMap((text) => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  const all = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(all.length);
  return Buffer.concat([length, all]);
}

function written(order: Order, { way, limits, ...rest }: Supervision): Buffer {
  const pairs: [string, string | number][] = [
    ['architecture', process.arch],
    ['namespaces', way.hasNamespaces ? 1 : 0],
    ['userns', way.isolation === 'namespaces' ? 1 : 0],
    ['folder', rest.folder],
    ['cwd', order.cwd],
    ['timeout', order.timeoutMs / 1000],
    ['grace', rest.graceMs / 1000],
    ['memory', limits.memoryBytes],
    ['disk', limits.diskBytes],
    ['files', limits.files],
    ['processes', limits.processes],
    ['descriptors', maxDescriptors],
    ...(rest.uid === null ? [] : [['uid', rest.uid] as [string, number]]),
    ...rest.hidden.map((path): [string, string] => ['hide', path]),
    ...Object.entries(order.environment).map(([name, value]): [string, string] => [
      'env',
      `${name}=${value}`,
    ]),
    ...[order.command, ...order.args].map((text): [string, string] => ['arg', text]),
  ];
  return frame(pairs.flatMap(([name, value]) => [name, String(value)]));
}

function inUnits(bytes: number): string {
  const gib = bytes / 2 ** 30;
  return gib >= 1 ? `${Number(gib.toFixed(1))} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}

function explain(reason: ProgramEnd['reason'], order: Order, limits: ScriptLimits): string | null {
  switch (reason) {
    case 'timeout':
      return explainTimeout(order.timeoutMs);
    case 'cancelled':
      return 'was cancelled';
    case 'memory':
      return `used more than ${inUnits(limits.memoryBytes)} of memory`;
    case 'disk':
      return `wrote more than ${inUnits(limits.diskBytes)} or ${limits.files} files`;
    case 'processes':
      return `had more than ${limits.processes} processes`;
    case 'exit':
    case 'machine-memory':
    case 'not-started':
      return null;
  }
}

/** Where a signal has two names, the first is the usual one. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** What the supervisor said, as an ending; null when it died without a word. */
function read(report: string, order: Order, limits: ScriptLimits): Ending | null {
  const failure = /^failed (.*)$/m.exec(report)?.[1];
  if (failure !== undefined) return notStarted(failure);
  const [, word = '', status = '', peak = ''] = /^end (\w+) (\d+) (\d+)$/m.exec(report) ?? [];
  if (word === '') return null;
  const reason = word as ProgramEnd['reason'];
  const signal = Number(status) & 127;
  return {
    reason,
    exitCode: signal === 0 ? Number(status) >> 8 : null,
    signal: signal === 0 ? null : (signalNames.get(signal) ?? `signal ${signal}`),
    peakMemoryBytes: Number(peak),
    explanation: explain(reason, order, limits),
  };
}

/** Descriptor 5, which the types of Node leave out; it is a pipe, since that was asked for. */
function sixthOf(child: ChildProcess): Duplex {
  return (child.stdio as unknown as readonly Duplex[])[5] as Duplex;
}

/** Starts a program under a supervisor. */
export function launchSupervised(order: Order, supervision: Supervision): Launched {
  const { limits, graceMs, folder, uid, way } = supervision;
  const child = spawn(supervision.perl, [supervisor], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const control = sixthOf(child);
  let report = '';
  control.on('data', (chunk: Buffer) => {
    // Until it has become the program, a copy of this descriptor is in its hands alone; still, no trust.
    if (report.length < 65_536) report += chunk.toString();
  });
  control.on('error', () => undefined);
  control.write(written(order, supervision));

  let watchdog: NodeJS.Timeout | undefined;
  const watch = (ms: number): void => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => child.kill('SIGKILL'), Math.min(ms + stuckAfterMs, maxMs));
  };
  watch(order.timeoutMs + graceMs);

  const closed = new Promise<void>((resolve) => {
    control.once('close', resolve);
  });
  const left = new Promise<string | null>((resolve) => {
    child.once('error', (error) => {
      resolve(error.message);
    });
    child.once('exit', () => {
      resolve(null);
    });
  });
  const end = async (): Promise<Ending> => {
    const problem = await left;
    clearTimeout(watchdog);
    if (problem !== null) return notStarted(`perl could not be started: ${problem}`);
    await closed;
    if (!/^gone$/m.test(report) && !way.hasNamespaces) await endProcessesOf(folder, uid);
    return (
      read(report, order, limits) ?? {
        reason: 'exit',
        exitCode: null,
        signal: 'SIGKILL',
        peakMemoryBytes: 0,
        explanation: null,
      }
    );
  };
  return {
    pid: child.pid ?? null,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    messages: child.stdio[3] as Readable,
    commands: child.stdio[4] as Writable,
    ended: end(),
    cancel() {
      watch(graceMs);
      if (!control.destroyed) control.write('C');
    },
  };
}
