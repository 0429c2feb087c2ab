// Own process: it starts programs.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { LogOutput } from '../../shared/log-output.ts';
import { locationKey } from '../support/fake-control-plane.ts';
import { agentProgram, controlPlaneProgram } from '../support/programs.ts';
import { eventually, temporaryFolder } from '../support/system.ts';
import { freePort } from '../../proof/program.ts';

test('lines that cannot be written are counted, and that is said once, after the line that was cut', async () => {
  let problem: Error | null = null;
  const written: string[] = [];
  // A standard stream goes on after an error.
  const stream = Object.assign(new EventEmitter(), {
    writableLength: 0,
    write(line: string, done: (error: Error | null) => void) {
      if (problem === null) written.push(line);
      setImmediate(done, problem);
    },
  }) as unknown as typeof process.stdout;
  const output = new LogOutput(stream);
  output.onRecovered = ({ lines, reason }) => {
    output.write(`${lines} lost: ${reason}\n`);
  };
  const write = async (line: string): Promise<void> => {
    output.write(line);
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  await write('one\n');
  for (const code of ['ENOSPC', 'EIO', 'EAGAIN', 'EPIPE']) {
    problem = Object.assign(new Error('it cannot be written'), { code });
    await write('lost\n');
    await write('lost\n');
    assert.equal(output.problem, `2 lines of the log could not be written: ${code}`);
    problem = null;
    await write(`after ${code}\n`);
    assert.equal(output.problem, null);
    assert.deepEqual(written.splice(0).slice(-2), [`\nafter ${code}\n`, `2 lost: ${code}\n`]);
  }
  await write('more\n');
  assert.deepEqual(written, ['more\n']);
  assert.equal(output.dropped, 8);
});

/** A program that writes a line of 1 kB every ms, says on stderr how it is, and ends at SIGTERM. */
const writer = `
  import { LogOutput } from ${JSON.stringify(new URL('../../shared/log-output.ts', import.meta.url).href)};
  const output = new LogOutput(process.stdout);
  output.onRecovered = (facts) => output.write('recovered ' + JSON.stringify(facts) + '\\n');
  const timer = setInterval(() => {
    for (let i = 0; i < 100; i += 1) output.write('x'.repeat(1000) + '\\n');
    process.stderr.write((output.problem ?? 'ok') + '\\n');
  }, 10);
  process.on('SIGTERM', () => { clearInterval(timer); output.letEnd(); });
`;

function start(args: string[], stdio: StdioOptions, env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, args, { stdio, env: { ...process.env, ...env } });
}

test('a reader that stops costs lines and no memory, and neither holds up the program nor its end', async () => {
  const child = start(['--input-type=module', '-e', writer], ['ignore', 'pipe', 'pipe']);
  const { stdout, stderr } = child;
  assert.ok(stdout !== null && stderr !== null);
  let last = '';
  stderr.on('data', (chunk) => {
    last = String(chunk);
  });
  await eventually(
    () => last.includes('nobody reads them'),
    () => last,
  );
  // It reads again, and stops once more.
  let read = '';
  stdout.on('data', (chunk) => {
    read += String(chunk);
    if (read.includes('recovered')) stdout.pause();
  });
  await eventually(
    () => read.includes('recovered'),
    () => last,
  );
  assert.match(read, /recovered \{"lines":\d+,"reason":"nobody reads them"\}/);
  await eventually(
    () => last.includes('nobody reads them'),
    () => last,
  );
  child.kill();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a reader that is gone stops nothing', async () => {
  const child = start(['--input-type=module', '-e', writer], ['ignore', 'pipe', 'pipe']);
  child.stdout?.destroy();
  let last = '';
  child.stderr?.on('data', (chunk) => {
    last = String(chunk);
  });
  await eventually(
    () => last.includes('EPIPE'),
    () => last,
  );
  child.kill();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

for (const [name, program, settings] of [
  [
    'control plane',
    [controlPlaneProgram, 'serve'],
    (folder: string, port: number) => ({
      DATABASE_FILE: join(folder, 'control-plane.db'),
      ...{ HOST: '127.0.0.1', PORT: String(port), PUBLIC_URL: 'http://127.0.0.1' },
    }),
  ],
  [
    'agent',
    [agentProgram, 'start'],
    (folder: string, port: number) => ({
      ...{
        AGENT_DATA_DIR: folder,
        AGENT_HEALTH_HOST: '127.0.0.1',
        AGENT_HEALTH_PORT: String(port),
      },
      ...{
        API_KEY: locationKey,
        DRAIN_TIMEOUT_SECONDS: '1',
        CONTROL_PLANE_URL: 'http://127.0.0.1:9',
      },
    }),
  ],
] as const) {
  test(`a full disk of its log stops no ${name}: it answers, counts, and ends when asked`, async () => {
    using folder = temporaryFolder();
    const port = await freePort();
    const full = openSync('/dev/full', 'w');
    const child = start([...program], ['ignore', full, 'pipe'], settings(folder.path, port));
    closeSync(full);
    assert.ok(child.stderr !== null);
    const complaints = text(child.stderr);
    const health = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
      return answer?.text() ?? '';
    };
    const isSaid = async () => /could not be written: ENOSPC/.test(await health());
    await eventually(
      async () => child.exitCode !== null || (await isSaid()),
      () => name,
    );
    assert.equal(child.exitCode, null);
    child.kill();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.equal(await complaints, '');
  });
}
