import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createScriptHost } from '../../../agent/script-host/create-script-host.ts';
import { ways } from '../../../agent/script-host/isolation.ts';
import { listProcesses, readOf } from '../../../agent/script-host/processes.ts';
import type { Way } from '../../../agent/script-host/sandbox.ts';
import type { Program, ProgramEnd } from '../../../agent/script-host/script-host.ts';
import { longestWaitMs } from '../../../proof/system.ts';

/** Users of runs must be able to enter it, also where TMPDIR is closed to them. */
const base = mkdtempSync(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'launches-'));
chmodSync(base, 0o755);
after(() => {
  rmSync(base, { recursive: true });
});

const limits = {
  ...{ memoryBytes: 1e9, diskBytes: 1e8, files: 10_000, processes: 64, outputBytes: 100_000 },
};

let count = 0;
const folderOf = (): string => join(base, String((count += 1)));

async function endOf(program: Partial<Program>, way?: Way): Promise<ProgramEnd> {
  const tried = way === undefined ? {} : { ways: [way] };
  await using host = await createScriptHost({ workFolder: folderOf(), limits, ...tried });
  await using workspace = await host.open();
  const { done } = workspace.start({
    ...{ command: '/bin/sh', args: ['-c', 'true'], environment: {}, timeoutMs: 60_000 },
    signal: new AbortController().signal,
    ...program,
  });
  return await done;
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + longestWaitMs;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, `waited in vain: ${what}`);
    await pause(20);
  }
}

const byGroup: Way = { isolation: 'process-group', namespacesBy: null };

describe('a program that cannot be executed was not started', () => {
  test('where a variable is longer than the kernel takes', async () => {
    const end = await endOf({ environment: { LONG: 'x'.repeat(200_000) } });
    assert.equal(end.reason, 'not-started');
    assert.match(end.explanation ?? '', /^\/bin\/sh could not be started/);
    assert.match(end.stderr, /too long/i);
  });

  test('where its interpreter is missing', async () => {
    const command = join(base, 'no-interpreter');
    writeFileSync(command, '#!/missing/interpreter\n', { mode: 0o755 });
    assert.equal((await endOf({ command })).reason, 'not-started');
  });

  test('where a variable has a NUL byte, which shells leave out', async () => {
    const end = await endOf({ environment: { GIVEN: 'a\0b' } });
    assert.equal(end.reason, 'not-started');
    assert.match(end.explanation ?? '', /NUL byte/);
  });

  test('and not where it ends itself with the code of such a failure', async () => {
    const end = await endOf({ args: ['-c', 'exit 126'] });
    assert.deepEqual([end.reason, end.exitCode], ['exit', 126]);
  });
});

for (const code of [143, 153]) {
  test(`exit code ${code} is no signal where no process stands between`, async () => {
    assert.equal(process.geteuid?.(), 0, 'this test needs root, to give the program a user');
    const way: Way = { isolation: 'user', namespacesBy: null };
    const end = await endOf({ args: ['-c', `exit ${code}`] }, way);
    assert.deepEqual([end.reason, end.exitCode, end.signal], ['exit', code, null]);
  });
}

/** An agent in a process of its own that runs one program; prints the id of the program, then how it ended. */
const agentCode = `
import { createScriptHost } from '${new URL('../../../agent/script-host/create-script-host.ts', import.meta.url).href}';
const [workFolder, ways, script, timeoutMs] = process.argv.slice(1);
const host = await createScriptHost({ workFolder, ways: JSON.parse(ways), limits: ${JSON.stringify(limits)} });
const workspace = await host.open().catch(() => null);
if (workspace === null) console.log('none');
else {
  const { done } = workspace.start({
    command: '/bin/sh', args: ['-c', script], environment: {}, timeoutMs: Number(timeoutMs),
    signal: new AbortController().signal, onLine: () => console.log('running'),
  });
  const { reason, exitCode } = await done;
  console.log(JSON.stringify({ reason, exitCode }));
  await workspace[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
}
`;

function startAgent(way: Way, script: string, timeoutMs: number, before = '') {
  const words = [process.execPath, '--input-type=module', '-e', agentCode, '--'];
  const child = spawn(
    '/bin/sh',
    [
      ...['-c', `${before}\nexec "$@"`, 'sh', ...words],
      ...[folderOf(), JSON.stringify([way]), script, String(timeoutMs)],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  return { child, pid: child.pid ?? 0, out: () => out };
}

function withMark(mark: string): number[] {
  return [...listProcesses().keys()].filter((pid) => readOf(pid, 'cmdline').includes(mark));
}

for (const way of ways) {
  test(`a program ends when the agent is killed: ${way.isolation}, ${way.namespacesBy ?? 'no namespaces'}`, async () => {
    const mark = `98${process.pid}${(count += 1)}`;
    const agent = startAgent(way, `echo running; exec sleep ${mark}`, 3_600_000);
    await until('the program runs, or this machine has no such way', () => agent.out() !== '');
    agent.child.kill('SIGKILL');
    await until('no process of the program is left', () => withMark(mark).length === 0);
  });
}

test('names that a shell computes or takes for options keep their values', async () => {
  const environment = { RANDOM: 'a', SECONDS: 'b', GROUPS: 'c', '-x': 'd', 'e.f': 'g\n' };
  const end = await endOf({ command: '/usr/bin/env', args: ['-0'], environment });
  const given = end.stdout.split('\0');
  for (const [name, value] of Object.entries(environment)) {
    assert.ok(given.includes(`${name}=${value}`), `${name}: ${end.stdout}${end.stderr}`);
  }
});

test('a program that ended in time while the agent was stopped did not time out', async () => {
  const agent = startAgent(byGroup, 'echo running; sleep 1', 5_000);
  await until('the program runs', () => agent.out().includes('running'));
  const startedAt = performance.now();
  agent.child.kill('SIGSTOP');
  // Its time must be over before the agent goes on.
  await until('its time is over', () => performance.now() > startedAt + 6_000);
  agent.child.kill('SIGCONT');
  await once(agent.child, 'exit');
  assert.match(agent.out(), /\{"reason":"exit","exitCode":0\}/);
});

test('a program that was there before the agent, and is its child, is not ended with a run', async () => {
  assert.equal(process.geteuid?.(), 0, 'this test needs root, to give the program a user');
  const mark = `96${process.pid}`;
  const way: Way = { isolation: 'user', namespacesBy: null };
  const agent = startAgent(way, 'echo running; sleep 1', 60_000, `setsid sleep ${mark} &`);
  await once(agent.child, 'exit');
  const [left] = withMark(mark);
  assert.match(agent.out(), /"exit"/);
  assert.ok(left !== undefined, 'it was ended');
  process.kill(left);
});
