// Own process: it starts many programs.
/** A run that the kernel ended for want of memory: the machine's lack, never the target's fault. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { failureOfRun } from '../../../agent/runners/scripts/run-failure.ts';
import { AgentError } from '../../../agent/errors.ts';
import { assertEnded } from '../../../agent/runners/playwright/program-failure.ts';
import { createScriptHost } from '../../../agent/script-host/create-script-host.ts';
import type { ProgramEnd } from '../../../agent/script-host/script-host.ts';
import { temporaryFolder } from '../../support/system.ts';

/** How a script ends while the kernel ends as many processes. */
async function endOf(script: string, killed: number): Promise<ProgramEnd> {
  using folder = temporaryFolder();
  let kills = 3;
  await using host = await createScriptHost({
    workFolder: join(folder.path, 'runs'),
    ways: [{ isolation: 'process-group', namespacesBy: null }],
    limits: {
      ...{ memoryBytes: 500e6, diskBytes: 1e6, files: 100, processes: 10, outputBytes: 10_000 },
    },
    memoryKills: () => kills,
  });
  await using workspace = await host.open();
  const running = workspace.start({
    ...{ command: process.execPath, args: ['-e', script], environment: {}, timeoutMs: 60_000 },
    signal: new AbortController().signal,
  });
  kills += killed;
  return await running.done;
}

const isOurs = (error: unknown): boolean =>
  error instanceof AgentError &&
  error.code === 'MACHINE_MEMORY' &&
  /control group/.test(error.message);

test('a run that the kernel ends for want of memory is an agent error', async () => {
  const end = await endOf('process.kill(process.pid, "SIGKILL")', 1);
  assert.equal(end.reason, 'machine-memory');
  assert.throws(() => failureOfRun(end, [], false), isOurs);
  assert.throws(() => {
    assertEnded('test', end, 1_000);
  }, isOurs);
});

const losses = {
  'a shell tells of it': 'process.exit(137)',
  'its output tells of it': `console.log('Error: worker process exited unexpectedly'); process.exit(1)`,
  'it tells the agent': `fs.writeSync(3, '{"type":"crash","url":"http://a"}\\n'); process.exit(1)`,
};
for (const [how, script] of Object.entries(losses)) {
  test(`so is one that lost a process, where ${how}`, async () => {
    assert.equal((await endOf(script, 1)).reason, 'machine-memory');
    assert.equal((await endOf(script, 0)).reason, 'exit');
  });
}

test('one that failed by itself while another was ended keeps its failure', async () => {
  const failing = `console.error('expected 200, got 500'); process.exit(1)`;
  for (const script of [failing, 'process.exit(1)', 'process.abort()']) {
    assert.equal((await endOf(script, 1)).reason, 'exit', script);
  }
});

test('one that came to a good end does not care', async () => {
  assert.equal((await endOf('', 1)).reason, 'exit');
});

test('one that ended itself is to blame for it', async () => {
  const end = await endOf('process.kill(process.pid, "SIGKILL")', 0);
  assert.deepEqual([end.reason, end.signal], ['exit', 'SIGKILL']);
});
