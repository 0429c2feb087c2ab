// Own process: it counts the programs that the process has started.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { tracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../../../agent/errors.ts';
import { openTraceroute, type Traceroute } from '../../../../agent/net/traceroute/traceroute.ts';
import { freePort } from '../../../support/program.ts';
import { temporaryFolder } from '../../../support/system.ts';

const never = new AbortController().signal;
const here = { address: '127.0.0.1', family: 'IPv4' } as const;

function opened(perl?: string): Traceroute {
  const result = openTraceroute(perl === undefined ? {} : { perl });
  assert.ok(result.traceroute !== null, 'problem' in result ? result.problem : '');
  return result.traceroute;
}

/** A perl that does what it is told: real for the check, something else for a trace. */
function strangePerl(folder: string, instead: string): string {
  const file = join(folder, 'perl');
  writeFileSync(file, `#!/bin/sh\n[ "$3" = check ] && { echo ok; exit 0; }\n${instead}\n`);
  chmodSync(file, 0o755);
  return file;
}

function childrenOfThisProcess(): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] ===
          String(process.pid)
      );
    } catch {
      return false;
    }
  });
}

test('a port of this machine is one hop away, whether it is open or not', async () => {
  await using traceroute = opened();
  const server = createServer((socket) => socket.on('error', () => undefined).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: open } = server.address() as AddressInfo;
  const closed = await freePort();
  const traces = await Promise.all(
    [open, closed, null].map((port) =>
      traceroute.trace({ ...here, port }, { timeoutMs: 5_000, signal: never }),
    ),
  );
  server.close();
  for (const [index, [method, note]] of (
    [
      ['tcp', null],
      ['tcp', 'connection refused'],
      ['udp', null],
    ] as const
  ).entries()) {
    const report = tracerouteReport.parse(traces[index]);
    assert.deepEqual([report.method, report.isReached, report.hops.length], [method, true, 1]);
    const [hop] = report.hops;
    assert.deepEqual([hop?.addresses, hop?.sent, hop?.received], [['127.0.0.1'], 3, 3]);
    assert.deepEqual([hop?.isTarget, hop?.note], [true, note]);
    assert.ok(report.durationMs < 3_000);
  }
});

test('a tracer that hangs is ended at the deadline, by a signal and by closing', async () => {
  using folder = temporaryFolder();
  await using traceroute = opened(
    strangePerl(folder.path, 'echo "method udp 127.0.0.1"; echo "sent 1"; exec sleep 60'),
  );
  const target = { ...here, port: null };
  const byDeadline = await traceroute.trace(target, { timeoutMs: 200, signal: never });
  assert.deepEqual(
    byDeadline.hops.map(({ sent, received }) => [sent, received]),
    [[1, 0]],
  );
  const cancellation = new AbortController();
  const cancelled = traceroute.trace(target, { timeoutMs: 60_000, signal: cancellation.signal });
  cancellation.abort();
  assert.equal((await cancelled).isReached, false);
  const already = await traceroute.trace(target, {
    timeoutMs: 60_000,
    signal: cancellation.signal,
  });
  assert.deepEqual(already.hops, []);
  const closed = traceroute.trace(target, { timeoutMs: 60_000, signal: never });
  await traceroute[Symbol.asyncDispose]();
  await assert.rejects(closed, AgentError);
  assert.deepEqual(childrenOfThisProcess(), []);
});

test('a tracer that breaks is an agent error with its own message', async () => {
  using folder = temporaryFolder();
  const cases = [
    { instead: 'echo "Out of memory!" >&2; exit 1', message: /ended early \(Out of memory!\)/ },
    { instead: 'kill -9 $$', message: /ended early \(status SIGKILL\)/ },
    { instead: 'exit 0', message: /ended early \(status 0\)/ },
    { instead: 'echo "failed socket EMFILE"', message: /no file descriptor is left/ },
    { instead: 'echo "failed setsockopt EPERM"', message: /sandbox/ },
  ];
  for (const { instead, message } of cases) {
    await using traceroute = opened(strangePerl(folder.path, instead));
    await assert.rejects(
      traceroute.trace({ ...here, port: null }, { timeoutMs: 5_000, signal: never }),
      (error) => error instanceof AgentError && message.test(error.message),
    );
  }
});

test('an address that cannot be meant is refused before anything is sent', async () => {
  await using traceroute = opened();
  for (const [address, family, message] of [
    ['shop.internal', 'IPv4', /is not an IPv4 address/],
    ['10.0.0.1', 'IPv6', /is not an IPv6 address/],
    ['fe80::1', 'IPv6', /fe80::1%eth0/],
  ] as const) {
    await assert.rejects(
      traceroute.trace({ address, family, port: 1 }, { timeoutMs: 5_000, signal: never }),
      message,
    );
  }
});

test('where it cannot work it says why and what would help', () => {
  using folder = temporaryFolder();
  const perlThat = (does: string): string => {
    const file = join(folder.path, 'perl');
    writeFileSync(file, `#!/bin/sh\n${does}\n`);
    chmodSync(file, 0o755);
    return file;
  };
  const problems = [
    [{ perl: null }, /perl is not installed; install it/],
    [{ perl: '/nowhere/perl' }, /\/nowhere\/perl/],
    [{ architecture: 's390x' }, /x64 and arm64 only, and this machine is s390x/],
    [{ platform: 'darwin' }, /on Linux only/],
    [
      { perl: perlThat('echo "failed setsockopt ENOPROTOOPT"') },
      /ENOPROTOOPT.*outside of it, or set TRACEROUTE=off/,
    ],
  ] as const;
  for (const [means, problem] of problems) {
    const result = openTraceroute(means);
    assert.equal(result.traceroute, null);
    assert.match('problem' in result ? result.problem : '', problem);
  }
});
