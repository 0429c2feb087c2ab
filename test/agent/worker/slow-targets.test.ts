// Own process: the long tier limits its CPU, and burns every processor beside it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import test, { after, before } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import type { AgentType } from '@monitor/shared/contract/checks/index.ts';
import { limitCpu } from '../../../proof/limit-cpu.ts';
import { openNetwork } from '../../../agent/network.ts';
import type { NetworkAccess } from '../../../agent/net/network-access.ts';
import { runners } from '../../../agent/runners/index.ts';
import { makeAttempt, type AttemptOutcome } from '../../../agent/worker/attempt.ts';
import { ProcessTime } from '../../../agent/worker/process-time.ts';
import { isLong, tries } from '../../support/random.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { slowEchoTransport } from '../../support/slow-echo.ts';
import { openSlowTargets, tookMs } from '../../support/slow-targets.ts';
import { assignedCheck } from '../../support/plain.ts';

const count = tries(400);
const atOnce = isLong ? 10 : count;
/** So many times over its limit is a slow target. */
const overBy = [1.2, 2, 4];
/** So much of its limit a healthy target takes where nothing else is busy. */
const withinBy = 0.65;
/** A target that gets its CPU first takes less, however busy the machine is. */
const generousMs = 1_000;

let targets: Awaited<ReturnType<typeof openSlowTargets>>;
let opened: NetworkAccess & AsyncDisposable;
let network: NetworkAccess;
const processTime = new ProcessTime({ clock: systemClock });

before(async () => {
  targets = await openSlowTargets();
  opened = await openNetwork(
    {
      ...{ USE_OS_DNS_RESOLVER: false, PACKET_CAPTURE: false, PACKET_CAPTURE_BUFFER_MB: 1 },
      TRACEROUTE: false,
    },
    process.env,
  );
  network = { ...opened, icmp: slowEchoTransport(kinds.map((kind) => targets.echo[kind])) };
  processTime.watch();
});

after(async () => {
  targets[Symbol.dispose]();
  processTime[Symbol.dispose]();
  network.icmp?.close();
  await opened[Symbol.asyncDispose]();
});

type Kind = keyof typeof tookMs;
const kinds = Object.keys(tookMs) as Kind[];

interface Subject {
  type: AgentType;
  request: (kind: Kind, limitMs: number) => Record<string, unknown>;
}

const urlOf = (scheme: string, port: () => number): Subject => ({
  type: 'URL',
  request: (kind) => ({ url: `${scheme}://127.0.0.1:${port()}/${kind}`, skipSSL: true }),
});

/** A check that asks a target of a kind. */
const subjects: Record<string, Subject> = {
  URL: urlOf('http', () => targets.http),
  'URL over TLS 1.3': urlOf('https', () => targets.https),
  'URL over TLS 1.2': urlOf('https', () => targets.oldHttps),
  API: {
    type: 'API',
    request: (kind) => ({ method: 'GET', url: `http://127.0.0.1:${targets.http}/${kind}` }),
  },
  TCP: {
    type: 'TCP',
    request: (kind) => ({
      ...{ hostname: '127.0.0.1', port: targets.tcp, data: kind },
      assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'ready' }],
    }),
  },
  DNS: {
    type: 'DNS',
    request: (kind) => ({
      ...{ query: `${kind}.example`, recordType: 'A', nameServer: '127.0.0.1' },
      port: targets.dns,
    }),
  },
  SSL: {
    type: 'SSL',
    request: (kind) => ({
      sslConfig: {
        ...{ hostname: 'localhost', port: targets.tls[kind], skipChainValidation: true },
        handshakeTimeoutMs: 2_000,
      },
    }),
  },
  GRPC: {
    type: 'GRPC',
    request: (kind) => ({
      ...{ url: 'localhost', port: targets.grpc, timeout: 2 },
      grpcConfig: {
        ...{ tls: false, mode: 'BEHAVIOR', method: 'shop.v1.Orders/Get' },
        message: JSON.stringify({ orderId: kind }),
      },
    }),
  },
  ICMP: {
    type: 'ICMP',
    request: (kind, limitMs) => ({
      ...{ hostname: `127.0.0.${kinds.indexOf(kind) + 1}`, pingCount: 1 },
      assertions: [
        { source: 'LATENCY', property: 'avg', comparison: 'LESS_THAN', target: String(limitMs) },
      ],
    }),
  },
};

function ask({ type, request }: Subject, kind: Kind, limitMs: number): Promise<AttemptOutcome> {
  const limits = { degradedResponseTime: limitMs, maxResponseTime: limitMs };
  const definition = { ...definitionOf(type, request(kind, limitMs)), ...limits };
  const check = assignedCheck({ type, definition });
  return makeAttempt(
    { check, run: runnerContext().run, environmentUrl: null, latestStart: Infinity },
    {
      ...{ clock: systemClock, network, processTime, scripting: null, scriptingProblem: null },
      // A target that hangs is given up sooner than users' are.
      runners: { [type]: { ...runners[type], timeoutMs: 2_000 } },
      artifactsOf: () => ({
        ...{ add: () => Promise.resolve(''), finish: () => Promise.resolve([]) },
        discard: () => Promise.resolve(),
      }),
    },
    new AbortController().signal,
  );
}

const wordOf = ({ hasErrors, hasFailures, isDegraded }: AttemptOutcome): string =>
  hasErrors ? 'undecided' : hasFailures ? 'failed' : isDegraded ? 'degraded' : 'passed';

/** How many of some runs ended how. */
async function tally(subject: Subject, kind: Kind, limitsMs: readonly number[], runs = count) {
  const words: Record<string, number> = {};
  let left = runs;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const outcome = await ask(subject, kind, limitsMs[left % limitsMs.length] ?? 0);
      const word = wordOf(outcome);
      words[word] = (words[word] ?? 0) + 1;
      if (word === 'undecided')
        assert.equal(outcome.faultCode, 'AGENT_OVERLOADED', `${outcome.reason}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return words;
}

/** So many busy processes beside, or the share of a CPU that the agent may have. */
type Load = { busy: number } | { quota: number };

/** Null where no quota can be set. */
function start(load: Load): Disposable | null {
  if ('quota' in load) return limitCpu(process.pid, load.quota);
  const others = Array.from({ length: load.busy }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  return {
    [Symbol.dispose]: () => {
      for (const other of others) other.kill('SIGKILL');
    },
  };
}

async function judgeAnswers(subject: Subject, load: Load, report: (line: string) => void) {
  const isQuiet = isLong && 'busy' in load && load.busy === 0;
  const lateMs = isQuiet ? tookMs.slow / withinBy - tookMs.slow : generousMs;
  const overMs = overBy.map((factor) => tookMs.slow / factor);
  const [slow, within] = await Promise.all([
    tally(subject, 'slow', overMs),
    tally(subject, 'slow', [tookMs.slow + lateMs]),
  ]);
  const fast = await tally(subject, 'fast', [generousMs]);
  report(JSON.stringify({ ...load, slow, within, fast }));
  assert.equal(slow['passed'], undefined, 'a slow target is no pass');
  for (const words of [within, fast])
    assert.deepEqual(
      Object.keys(words).filter((word) => !['passed', 'undecided'].includes(word)),
      [],
      'a healthy target is neither slow nor down',
    );
  assert.ok((fast['passed'] ?? 0) >= 0.8 * count, 'most healthy targets pass');
  if (isLong) assert.ok((slow['failed'] ?? 0) >= 0.8 * count, 'most slow targets are found slow');
}

/** `attempt.test.ts` plays a busy machine on a moved clock: the short tier burns nothing for it. */
const loads: Load[] = isLong
  ? [{ busy: 0 }, { busy: 10 * availableParallelism() }, { quota: 0.1 }]
  : [{ busy: 0 }];

for (const load of loads) {
  test(`a slow target never passes, and a healthy one is never down, with ${JSON.stringify(load)}`, async (t) => {
    using started = start(load);
    if (started === null) {
      t.diagnostic('no quota can be set here: it needs root and a control group of version 1');
      return;
    }
    // They wait for their time-outs: beside the others.
    const hanging = Promise.all(
      Object.values(subjects).map((subject) => tally(subject, 'silent', [generousMs], 10)),
    );
    for (const [name, subject] of Object.entries(subjects)) {
      await t.test(name, (of) =>
        judgeAnswers(subject, load, (line) => {
          of.diagnostic(line);
        }),
      );
    }
    for (const silent of await hanging)
      assert.deepEqual(silent, { failed: 10 }, 'a target that hangs is down');
  });
}
