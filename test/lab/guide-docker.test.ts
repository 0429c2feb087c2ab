/**
 * The commands with which the guide starts an agent in Docker, on the image itself. Their `docker` is one of
 * this test, which does with namespaces what an engine does, and refuses options that it does not know. Needs root
 * and buildah.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { json } from 'node:stream/consumers';
import test from 'node:test';
import { parseArgs } from 'node:util';
import { Container, configOf } from '../../scripts/images/container.ts';
import { pingRanges } from '../../scripts/images/smoke/scenarios.ts';
import { guideBlocks } from '../../scripts/guide/blocks.ts';
import { eventually, System, temporaryFolder } from '../support/system.ts';

interface Said {
  code: number;
  output: string;
}

/** `docker run` and `docker exec`, for one container. */
class Engine implements AsyncDisposable {
  readonly #containers = new Map<string, Container>();

  async call([command, ...words]: readonly string[]): Promise<Said> {
    if (command === 'run') return this.#run(words);
    const [name = '', ...inside] = words;
    const container = this.#containers.get(name);
    assert.ok(command === 'exec' && container, `docker ${command} ${name} is unknown here`);
    const { code, output } = await container.exec(inside);
    return { code: code ?? 1, output };
  }

  async #run(words: readonly string[]): Promise<Said> {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        detach: { type: 'boolean' },
        name: { type: 'string', default: '' },
        restart: { type: 'string' },
        'read-only': { type: 'boolean' },
        tmpfs: { type: 'string' },
        volume: { type: 'string', short: 'v', default: '' },
        'stop-timeout': { type: 'string' },
        env: { type: 'string', short: 'e', multiple: true, default: [] },
      },
    });
    // What the container below has in any case, so the page must say it.
    assert.deepEqual([values['read-only'], values.tmpfs, values.detach], [true, '/tmp', true]);
    const [, dataFolder = ''] = values.volume.split(':');
    const [image = ''] = positionals;
    const container = await Container.start({
      image: image.replace(/^monitor-agent:[\d.]+-/, 'localhost/monitor-agent:'),
      environment: Object.fromEntries(
        values.env.map((pair) => [pair.split('=')[0] ?? '', pair.replace(/^[^=]+=/, '')]),
      ),
      dataFolder,
    });
    assert.ok(dataFolder in container.config.Volumes, `${dataFolder} is no volume of the image`);
    this.#containers.set(values.name, container);
    return { code: 0, output: 'started\n' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const container of this.#containers.values()) await container[Symbol.asyncDispose]();
  }
}

/** A program `docker` in a folder, which hands its words to the engine. */
const clientOf = (socket: string): string => `#!${process.execPath}
const { request } = require('node:http');
const call = request({ socketPath: ${JSON.stringify(socket)}, method: 'POST' }, (answer) => {
  let text = '';
  answer.on('data', (part) => (text += part)).on('end', () => {
    const { code, output } = JSON.parse(text);
    process.stdout.write(output);
    process.exitCode = code;
  });
});
call.end(JSON.stringify(process.argv.slice(2)));
`;

function shell(script: string, environment: Record<string, string>): Promise<Said> {
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { env: environment }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ code, output: stdout + stderr });
    });
  });
}

test('an agent that is started as the guide says is sound, ready, and stays within what it is given', async () => {
  assert.equal(process.getuid?.(), 0, 'namespaces of a container need root');
  const isBuilt = await configOf('localhost/monitor-agent:uptime').then(
    () => true,
    () => false,
  );
  if (!isBuilt) {
    const built = spawnSync('npm', ['run', '--silent', 'images', '--', 'build', 'uptime']);
    assert.equal(built.status, 0, String(built.stderr).slice(-4000));
  }
  using folder = temporaryFolder();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('office');
  await using stack = new AsyncDisposableStack();
  // Docker opens it in its containers; this one has the network of the machine.
  const pingRange = '/proc/sys/net/ipv4/ping_group_range';
  const before = readFileSync(pingRange, 'utf8');
  writeFileSync(pingRange, pingRanges.everybody);
  stack.defer(() => {
    writeFileSync(pingRange, before);
  });
  const engine = stack.use(new Engine());
  const server = createServer((request, response) => {
    void json(request)
      .then((words) => engine.call(words as string[]))
      .catch((error: unknown) => ({ code: 125, output: String(error) }))
      .then((said) => response.end(JSON.stringify(said)));
  });
  const socket = join(folder.path, 'engine.sock');
  server.listen(socket);
  await once(server, 'listening');
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = join(folder.path, 'docker');
  writeFileSync(client, clientOf(socket));
  chmodSync(client, 0o755);
  const block = guideBlocks().find(
    ({ page, text }) => page === 'agent-docker.md' && text.startsWith('docker run'),
  );
  assert.ok(block, 'the guide starts no agent in Docker');
  const [start = '', ...questions] = block.text
    .replace('https://monitor.example.com', system.baseUrl)
    .replaceAll('\\\n', ' ')
    .trim()
    .split('\n');
  const environment = { PATH: `${folder.path}${delimiter}${process.env['PATH'] ?? ''}`, KEY: key };
  const started = await shell(start, environment);
  assert.equal(started.code, 0, started.output);
  assert.deepEqual(
    questions.map((line) => line.split(' ').at(-1)),
    ['doctor', 'status'],
  );
  for (const [question, answer] of [
    [questions[0] ?? '', /\b0 failed\b/],
    [questions[1] ?? '', /\bready\b/],
  ] as const) {
    let said: Said = { code: -1, output: '' };
    await eventually(
      async () => {
        said = await shell(question, environment);
        return said.code === 0;
      },
      () => `${question}: ${said.output}`,
    );
    assert.match(said.output, answer);
  }
  assert.match(readFileSync('docs/agent-docker.md', 'utf8'), /`0 failed`, `status` says `ready`/);
});
