import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  createScriptHost,
  type ScriptHostOptions,
} from '../../../agent/script-host/create-script-host.ts';
import { processesIn } from '../../../agent/script-host/processes.ts';
import type { Program, Workspace } from '../../../agent/script-host/script-host.ts';
import { longestWaitMs } from '../../../proof/system.ts';

const base = mkdtempSync(join(tmpdir(), 'hosts-'));
after(() => {
  rmSync(base, { recursive: true });
});

const limits = {
  ...{ memoryBytes: 1e9, diskBytes: 1e8, files: 10_000, processes: 64, outputBytes: 100_000 },
};

let count = 0;
const folderOf = (): string => join(base, String((count += 1)));
const openHost = (options: Partial<ScriptHostOptions> = {}) =>
  createScriptHost({ workFolder: folderOf(), limits, graceMs: 200, ...options });

const never = new AbortController().signal;

function run(workspace: Workspace, code: string, more: Partial<Program> = {}) {
  return workspace.start({
    ...{ command: process.execPath, args: ['-e', code], environment: {}, timeoutMs: 20_000 },
    signal: never,
    ...more,
  });
}

/** What the kernel says a process does: `T` is stopped. */
const stateOf = (pid: number): string =>
  /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

async function until(what: string, isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + longestWaitMs;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, `waited in vain: ${what}`);
    await pause(20);
  }
}

for (const [title, options] of [
  ['kept apart as well as it goes', {}],
  ['in namespaces of util-linux', { programs: { bwrap: null } }],
  ['by process groups alone', { ways: [{ isolation: 'process-group', namespacesBy: null }] }],
] as const) {
  describe(`a program ${title}`, () => {
    test('has nothing in its environment but what it was given and needs', async () => {
      await using host = await openHost(options);
      await using workspace = await host.open();
      const { stdout } = await run(workspace, 'console.log(JSON.stringify(process.env))', {
        environment: { GIVEN: 'a=b\nc', EMPTY: '' },
      }).done;
      const { PATH, ...rest } = JSON.parse(stdout) as Record<string, string>;
      assert.match(PATH ?? '', /\/usr\/bin/);
      assert.deepEqual(rest, {
        ...{ HOME: workspace.folder, TMPDIR: join(workspace.folder, 'tmp'), LANG: 'C.UTF-8' },
        ...{ TZ: 'UTC', GIVEN: 'a=b\nc', EMPTY: '' },
      });
    });

    test('talks with its starter, and what it prints comes line by line', async () => {
      await using host = await openHost(options);
      await using workspace = await host.open();
      await workspace.write('sub/answer.txt', 'forty-two');
      const lines: string[] = [];
      const messages: unknown[] = [];
      const program = run(
        workspace,
        `const fs = require('node:fs');
         console.log('one'); process.stderr.write('two');
         fs.writeSync(3, '{"asks":true}\\n');
         fs.createReadStream(null, { fd: 4 }).once('data', (line) => {
           fs.writeSync(3, JSON.stringify({ got: JSON.parse(line), read: fs.readFileSync('answer.txt', 'utf8') }) + '\\n');
           process.exit(3);
         });`,
        {
          cwd: 'sub',
          onLine: (line, stream) => lines.push(`${stream} ${line}`),
          onMessage: (message) => {
            messages.push(message);
            if (messages.length === 1) program.send({ answer: 'é' });
          },
        },
      );
      const end = await program.done;
      assert.deepEqual([end.reason, end.exitCode, end.explanation], ['exit', 3, null]);
      assert.deepEqual(lines.sort(), ['stderr two', 'stdout one']);
      assert.deepEqual(messages, [{ asks: true }, { got: { answer: 'é' }, read: 'forty-two' }]);
      assert.deepEqual([end.stdout, end.stderr], ['one\n', 'two']);
    });

    test('ends at its deadline, and when it is cancelled, also before it began', async () => {
      await using host = await openHost(options);
      await using workspace = await host.open();
      const late = await run(workspace, 'setInterval(() => 0, 1000)', { timeoutMs: 300 }).done;
      assert.equal(late.reason, 'timeout');
      assert.equal(late.explanation, 'did not end within 0.3 seconds');
      const stopping = new AbortController();
      const cancelled = run(workspace, 'console.log(1); setInterval(() => 0, 1000)', {
        signal: stopping.signal,
        onLine: () => {
          stopping.abort();
        },
      });
      assert.equal((await cancelled.done).reason, 'cancelled');
      const never = await run(workspace, '', { signal: AbortSignal.abort() }).done;
      assert.equal(never.reason, 'cancelled');
    });

    test('is held with all that it started, loses its files meanwhile, and goes on', async () => {
      await using host = await openHost(options);
      await using workspace = await host.open();
      const started = Promise.withResolvers<unknown>();
      const program = run(
        workspace,
        `const fs = require('node:fs');
         const child = require('node:child_process').spawn('sleep', ['600'], { detached: true });
         fs.mkdirSync('left/deep', { recursive: true });
         fs.writeFileSync('left/deep/file', 'of the run');
         fs.createReadStream(null, { fd: 4 }).once('data', () => {
           child.kill();
           process.exit(fs.existsSync('left') ? 1 : 7);
         });
         child.once('spawn', () => fs.writeSync(3, '{"started":true}\\n'));`,
        { onMessage: started.resolve },
      );
      await started.promise;
      assert.equal(await program.hold(), 2);
      const states = processesIn(workspace.folder).map(stateOf);
      assert.ok(states.filter((state) => state === 'T').length >= 2, states.join());
      await workspace.clear();
      assert.ok(!existsSync(join(workspace.folder, 'left')));
      assert.ok(existsSync(join(workspace.folder, 'tmp')));
      program.send({ goOn: true });
      program.resume();
      assert.equal((await program.done).exitCode, 7);
    });

    test('that does not exist says so', async () => {
      await using host = await openHost(options);
      await using workspace = await host.open();
      const end = await run(workspace, '', { command: '/does/not/exist' }).done;
      assert.equal(end.reason, 'not-started');
      assert.match(end.explanation ?? '', /\/does\/not\/exist could not be started/);
    });

    test('can print more than is taken: the lines end, the tail goes on', async () => {
      await using host = await openHost(options);
      await using workspace = await host.open();
      let bytes = 0;
      const end = await run(
        workspace,
        "console.log('x'.repeat(99).concat('\\n').repeat(5_000)); console.log('the end')",
        { onLine: (line) => (bytes += line.length + 1) },
      ).done;
      assert.equal(end.isOutputTruncated, true);
      assert.equal(bytes, limits.outputBytes);
      assert.match(end.stdout, /the end\n$/);
    });
  });
}

test('closing a workspace ends its programs and deletes its folder', async () => {
  await using host = await openHost();
  const workspace = await host.open();
  const program = run(workspace, 'setInterval(() => 0, 1000)');
  await workspace[Symbol.asyncDispose]();
  assert.equal((await program.done).reason, 'cancelled');
  assert.ok(!existsSync(workspace.folder));
  assert.throws(() => run(workspace, ''), /closed/);
});

test('a run that takes too much memory is ended with a reason in words', async () => {
  await using host = await openHost();
  await using workspace = await host.open({ memoryBytes: 1.5e8 });
  const end = await run(
    workspace,
    'const all = []; setInterval(() => all.push(Buffer.alloc(2e7, 1)), 20)',
  ).done;
  assert.equal(end.reason, 'memory');
  assert.equal(end.explanation, 'used more than 143 MiB of memory');
  assert.ok(end.peakMemoryBytes > 1.5e8);
});

test('files are neither written nor read through links, nor outside the folder', async () => {
  await using host = await openHost();
  await using workspace = await host.open();
  const outside = folderOf();
  mkdirSync(outside);
  await run(
    workspace,
    `const fs = require('node:fs'); fs.symlinkSync('${outside}', 'link');
     fs.symlinkSync('/etc/passwd', 'passwd'); fs.writeFileSync('plain', 'mine');
     require('node:child_process').execFileSync('mkfifo', ['pipe']);`,
  ).done;
  await assert.rejects(workspace.write('link/x', 'x'), { code: 'ENOTDIR' });
  await assert.rejects(workspace.write('../x', 'x'), { code: 'RUNNER_BROKEN' });
  await assert.rejects(workspace.write('/etc/x', 'x'), { code: 'RUNNER_BROKEN' });
  assert.deepEqual(readdirSync(outside), []);
  for (const path of ['passwd', 'link/x', 'pipe', 'missing', '.']) {
    assert.equal(await workspace.read(path), null, path);
  }
  await workspace.write('passwd', 'replaced');
  for (const [path, content] of [
    ['plain', 'mine'],
    ['passwd', 'replaced'],
  ] as const) {
    const file = await workspace.read(path);
    assert.equal(await file?.readFile('utf8'), content);
    await file?.close();
  }
});

test('a folder for runs that others could have prepared is not used, and each run says so', async () => {
  const target = folderOf();
  const link = folderOf();
  mkdirSync(target);
  symlinkSync(target, link);
  await using host = await openHost({ workFolder: link });
  await assert.rejects(host.open(), { code: 'SCRIPTING_UNAVAILABLE', message: /AGENT_WORK_DIR/ });
});

test('what an agent leaves that is killed dies at once, and its folders go with the next agent', async () => {
  const workFolder = folderOf();
  const orphan = `require('node:child_process').spawn('sh', ['-c', 'trap \\"\\" TERM; sleep 300 & setsid sleep 300'], { detached: true, stdio: 'ignore' }); console.log('ready'); setInterval(() => 0, 1000)`;
  const agent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `const { createScriptHost } = await import('./agent/script-host/create-script-host.ts');
       const host = await createScriptHost(${JSON.stringify({ workFolder, limits })});
       const workspace = await host.open();
       workspace.start({ command: process.execPath, args: ['-e', ${JSON.stringify(orphan)}], environment: {},
         timeoutMs: 60_000, signal: new AbortController().signal, onLine: () => console.log(workspace.folder) });`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  after(() => agent.kill('SIGKILL'));
  const folder = await new Promise<string>((resolve) => {
    agent.stdout.setEncoding('utf8').once('data', (text: string) => {
      resolve(text.trim());
    });
  });
  await until('its processes are there', () => processesIn(folder).length >= 3);
  await using alive = await createScriptHost({ workFolder, limits });
  await using workspace = await alive.open();
  assert.ok(existsSync(folder), 'the folder of an agent that is alive was deleted');
  const died = once(agent, 'exit');
  agent.kill('SIGKILL');
  await died;
  await until('its processes are gone', () => processesIn(folder).length === 0);
  await using next = await createScriptHost({ workFolder, limits });
  await using another = await next.open();
  assert.ok(!existsSync(folder));
  assert.ok(existsSync(workspace.folder) && existsSync(another.folder));
});
