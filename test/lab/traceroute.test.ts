/** The tracer beside Debian's traceroute: both must tell of the same routers. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { labProblem, openNetworkLab, type LabHost } from '../support/network-lab.ts';
import { routerChain } from '../support/router-chain.ts';
import { tracingHost } from '../support/tracing-host.ts';

const execute = promisify(execFile);

/** The addresses of each hop as Debian's program prints them; empty for stars. */
async function debianTraceroute(host: LabHost, words: readonly string[]): Promise<string[][]> {
  assert.ok(
    existsSync('/usr/bin/traceroute') || existsSync('/usr/sbin/traceroute'),
    'traceroute is missing: apt-get install traceroute',
  );
  const [first = '', ...rest] = [...host.prefix, 'traceroute', '-n', ...words];
  const { stdout } = await execute(first, rest);
  return stdout
    .split('\n')
    .slice(1)
    .filter((line) => /^ *\d+ /.test(line))
    .map((line) => [...new Set(line.match(/(?<= )([0-9a-f]*[.:][0-9a-f.:]+)(?= )/g))])
    .map((words) => words.filter((word) => /^(\d+\.){3}\d+$|:/.test(word)));
}

test('the same hops as Debian finds, by TCP and UDP, IPv4 and IPv6, around a silent router', async () => {
  assert.equal(labProblem(), null);
  await using lab = openNetworkLab();
  const { client, routers, hops4, hops6 } = await routerChain(lab, 4);
  await using host = await tracingHost(client);
  const target4 = hops4.at(-1) ?? '';
  const target6 = hops6.at(-1) ?? '';
  const compare = async (): Promise<string[][]> => {
    let last: string[][] = [];
    for (const [address, port, words] of [
      [target4, 80, ['-4', '-M', 'tcpconn', '-p', '80', '-m', '8']],
      [target6, 80, ['-6', '-M', 'tcpconn', '-p', '80', '-m', '8']],
      [target4, null, ['-4', '-m', '8']],
      [target6, null, ['-6', '-m', '8']],
    ] as const) {
      const theirs = await debianTraceroute(client, [...words, address]);
      const { report } = await host.trace(address, port === null ? {} : { port });
      const ours = report.hops.map(({ addresses }) => addresses);
      assert.deepEqual(ours, theirs, words.join(' '));
      last = ours;
    }
    return last;
  };
  assert.equal((await compare()).length, 5);
  await routers[1]?.ip('rule', 'add', 'iif', 'lo', 'to', '10.80.0.1', 'blackhole');
  await routers[1]?.ip('-6', 'rule', 'add', 'iif', 'lo', 'to', 'fd80:0:1::1', 'blackhole');
  assert.deepEqual((await compare())[1], []);
});

/** What a process has used; the kernel counts in hundredths. */
function cpuSecondsOf(pid: number | undefined): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

test('a trace costs little', async () => {
  assert.equal(labProblem(), null);
  await using lab = openNetworkLab();
  const { client, routers } = await routerChain(lab, 3);
  // The dearest trace: thirty hops, of which most are silent, to the end of all patience.
  await routers[1]?.ip('route', 'add', 'blackhole', '10.99.0.0/16');
  await using host = await tracingHost(client);
  const before = cpuSecondsOf(host.pid);
  const { report } = await host.trace('10.99.0.1', { port: 443 });
  const cpuSeconds = cpuSecondsOf(host.pid) - before;
  console.log(`a silent target: ${cpuSeconds * 1000} ms of CPU`);
  assert.equal(report.isReached, false);
  assert.ok(cpuSeconds < 0.2, `${cpuSeconds} s of CPU`);
});
