/**
 * Traces the route to a target without privileges: TCP to its port, or UDP. Each trace is a perl
 * child, `agent/tracer.pl`, because Node can neither set the TTL nor read the error queue.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { AgentError } from '../../errors.ts';
import { findOfSystem } from '../../system/find-program.ts';
import { TracerouteLog } from './log.ts';
import { cannotReadErrors, refuseWithoutScope, tracerBroken, tracerFailure } from './problem.ts';

export interface TracedTarget {
  /** A link-local address includes its interface, as `fe80::1%eth0`. */
  readonly address: string;
  readonly family: IpFamily;
  /** The TCP port; null uses UDP. */
  readonly port: number | null;
}

/** Probe settings of a check. Such a trace is not shared. */
export interface TracePlan {
  readonly method: 'tcp' | 'udp' | 'icmp';
  readonly maxHops: number;
  /** Silent hops shown after the last answer. */
  readonly shownSilent: number;
}

export interface TraceOptions {
  /** A trace needs about one second, 3.4 with a silent target. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** By default the method depends on the target, with up to 30 hops. */
  readonly plan?: TracePlan;
}

export interface Traceroute extends AsyncDisposable {
  /**
   * Ends at `timeoutMs` or when the signal aborts, with the results so far. Rejects with an
   * AgentError when the tracer fails, or when this machine lets no packet out.
   */
  trace(target: TracedTarget, options: TraceOptions): Promise<TracerouteReport>;
}

const tracer = fileURLToPath(new URL('../../tracer.pl', import.meta.url));

const maxHops = 30;
const probesPerHop = 3;

/** The tracer gets this much less time, to write its report. */
const lastWordsMs = 100;

/** A check takes some ten milliseconds. */
const checkTimeoutMs = 3_000;

function wordsOf(target: TracedTarget, timeoutMs: number, plan: TracePlan | undefined): string[] {
  const deadlineMs = Math.max(1, Math.round(timeoutMs - lastWordsMs));
  return [
    ...[target.family === 'IPv6' ? '6' : '4', target.address, String(target.port ?? '-')],
    plan === undefined ? '1' : '0',
    ...[plan?.maxHops ?? maxHops, probesPerHop, deadlineMs].map(String),
    ...(plan === undefined ? [] : [plan.method]),
  ];
}

class PerlTraceroute implements Traceroute {
  readonly #perl: string;
  readonly #clock: Clock;
  readonly #children = new Set<ChildProcess>();

  constructor(perl: string, clock: Clock) {
    this.#perl = perl;
    this.#clock = clock;
  }

  async trace(target: TracedTarget, options: TraceOptions): Promise<TracerouteReport> {
    if (isIP(target.address) !== (target.family === 'IPv6' ? 6 : 4)) {
      throw new AgentError(
        'CONFIG_INVALID',
        `${target.address} is not an ${target.family} address`,
      );
    }
    refuseWithoutScope(target);
    const { timeoutMs, signal, plan } = options;
    const startedAt = this.#clock.now();
    const begun = this.#clock.monotonic();
    const log = new TracerouteLog(target, plan);
    const report = (): TracerouteReport => log.report(startedAt, this.#clock.monotonic() - begun);
    if (signal.aborted) return report();

    const child = spawn(this.#perl, [tracer, process.arch, ...wordsOf(target, timeoutMs, plan)], {
      env: {},
      // Nothing is written to its input: when it closes, the tracer knows that the agent is gone.
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    let complaint = '';
    child.stderr.on('data', (chunk) => (complaint = (complaint + String(chunk)).slice(0, 500)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.add(line);
    });
    let isCut = false;
    const cut = (): void => {
      isCut = true;
      child.kill('SIGKILL');
    };
    const cancelTimer = this.#clock.after(timeoutMs, cut);
    signal.addEventListener('abort', cut, { once: true });
    let ending: string;
    try {
      const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
      ending = complaint.split('\n')[0] || `status ${code ?? killedBy ?? 'unknown'}`;
    } catch (error) {
      ending = error instanceof Error ? error.message : String(error);
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', cut);
      this.#children.delete(child);
    }
    if (log.failure !== null) throw tracerFailure(target, log.failure);
    if (!log.isComplete && !isCut) throw tracerBroken(ending);
    return report();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const children = [...this.#children];
    const ends = children.map((child) => once(child, 'close').catch(() => undefined));
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(ends);
  }
}

/** Tests the tracer's access to an error queue; null when it works. */
function checkTracer(perl: string, architecture: string): string | null {
  const { stdout, stderr, error } = spawnSync(perl, [tracer, architecture, 'check'], {
    encoding: 'utf8',
    env: {},
    timeout: checkTimeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (error !== undefined) return `the way to a target cannot be traced: ${perl}: ${error.message}`;
  if (stdout === 'ok\n') return null;
  const [, call = '', code = ''] = /^failed (\S+) (\S+)$/m.exec(stdout) ?? [];
  if (call === '') return tracerBroken(stderr.split('\n')[0] || 'it said nothing').message;
  return cannotReadErrors(call, code);
}

export interface TracerouteOptions {
  /** Path of perl; null when it is missing. */
  readonly perl?: string | null;
  readonly architecture?: string;
  readonly platform?: string;
  readonly clock?: Clock;
}

/** Opens the tracer, or explains why it is not available. */
export function openTraceroute({
  perl = findOfSystem('perl'),
  architecture = process.arch,
  platform = process.platform,
  clock = systemClock,
}: TracerouteOptions = {}): { traceroute: Traceroute } | { traceroute: null; problem: string } {
  if (platform !== 'linux') {
    return { traceroute: null, problem: 'the way to a target can be traced on Linux only' };
  }
  if (architecture !== 'x64' && architecture !== 'arm64') {
    const problem = `the way to a target can be traced on x64 and arm64 only, and this machine is ${architecture}`;
    return { traceroute: null, problem };
  }
  if (perl === null) {
    const problem =
      'the way to a target cannot be traced: perl is not installed; install it (Debian: perl-base, Alpine: perl)';
    return { traceroute: null, problem };
  }
  const problem = checkTracer(perl, architecture);
  return problem === null
    ? { traceroute: new PerlTraceroute(perl, clock) }
    : { traceroute: null, problem };
}
