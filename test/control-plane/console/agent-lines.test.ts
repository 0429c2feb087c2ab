// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { parse } from 'yaml';
import {
  isOfThisMachine,
  keyLine,
  ways,
  type AgentFacts,
} from '../../../control-plane/console/forms/agent-lines.ts';
import { describeSettings } from '../../../agent/config.ts';
import { version } from '../../../control-plane/core/version.ts';
import { surroundings } from '../../../proof/program.ts';
import { publishedAs } from '../../../scripts/images/targets.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { agentProgram } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/system.ts';

const facts: AgentFacts = {
  ...{ url: 'https://monitor.example', slug: 'office', version, image: null, chart: null },
};
const drainSeconds = describeSettings().find(
  ({ name }) => name === 'DRAIN_TIMEOUT_SECONDS',
)?.default;
const linesOf = (name: string, given: AgentFacts): string => {
  const way = ways.find(([each]) => each === name);
  assert.ok(way !== undefined);
  return way[2](given);
};

/** What programs that cannot be here were started with, one list of words each; `sudo` runs the rest. */
class Shell implements Disposable {
  readonly folder = temporaryFolder();
  readonly #bin = join(this.folder.path, 'bin');
  readonly #calls = join(this.folder.path, 'calls');

  constructor(stubs: readonly string[]) {
    mkdirSync(this.#bin);
    for (const name of stubs)
      this.#program(name, `printf '%s\\0' ${name} "$@" '' >> '${this.#calls}'`);
    this.#program('sudo', 'exec "$@"');
    this.#program('monitor-agent', `exec '${process.execPath}' '${resolve(agentProgram)}' "$@"`);
  }

  #program(name: string, line: string): void {
    writeFileSync(join(this.#bin, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(this.#bin, name), 0o755);
  }

  get calls(): string[][] {
    if (!existsSync(this.#calls)) return [];
    return readFileSync(this.#calls, 'utf8')
      .split('\0\0')
      .filter((call) => call !== '')
      .map((call) => call.split('\0'));
  }

  start(lines: string) {
    const { PATH = '' } = surroundings();
    return spawn('bash', ['-c', `set -eu\n${lines}`], {
      cwd: this.folder.path,
      env: { PATH: `${this.#bin}:${PATH}`, HOME: this.folder.path },
      stdio: ['pipe', 'pipe', 'inherit'],
      // What it starts ends with its group.
      detached: true,
    });
  }

  async run(lines: string, input = ''): Promise<void> {
    const child = this.start(lines);
    // A stub that reads nothing may have ended.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 0, lines);
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
  }
}

test('the key goes from the terminal into a file that nobody else can read, and stands in no line and no command', async () => {
  using shell = new Shell(['docker', 'kubectl', 'helm', 'npm', 'systemctl', 'install', 'tee']);
  await shell.run(
    `umask 022\n${keyLine(facts)}\n: > installed-later`,
    'pl_secret\nanything after it',
  );
  // What the person does in this shell next is not private.
  assert.equal(statSync(join(shell.folder.path, 'installed-later')).mode & 0o777, 0o644);
  const file = join(shell.folder.path, 'office.key');
  assert.equal(readFileSync(file, 'utf8'), 'pl_secret\n');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const name of ['docker', 'helm', 'systemd']) await shell.run(linesOf(name, facts));
  assert.ok(shell.calls.length >= 7);
  assert.doesNotMatch(JSON.stringify(shell.calls), /pl_secret|API_KEY=|npx/);
});

test('Docker gets the image as the release has it, or as it is called in a registry, and a volume where the image keeps its data', async () => {
  using shell = new Shell(['docker']);
  await shell.run(linesOf('docker', facts));
  const [load, run = []] = shell.calls;
  const { archive, reference } = publishedAs(
    { name: 'uptime', repository: 'monitor-agent' },
    version,
  );
  assert.deepEqual(load, ['docker', 'load', '--input', `images/${archive}`]);
  assert.equal(run.at(-1), reference);
  const [, folder = ''] = /^VOLUME (\S+)$/m.exec(readFileSync('Dockerfile.agent', 'utf8')) ?? [];
  assert.ok(run.includes(`monitor-agent-office:${folder}`));
  assert.ok(run.includes('API_KEY_FILE=/run/location-key'));
  assert.ok(run.includes(`${shell.folder.path}/office.key:/run/location-key:ro`));
  assert.ok(!run.includes('host'));
  // Docker kills after 10 s otherwise, in the midst of what an agent does when it ends.
  assert.ok(Number(run[run.indexOf('--stop-timeout') + 1]) >= Number(drainSeconds) + 5);

  using own = new Shell(['docker']);
  const image = 'registry.example:5000/monitor-agent:1';
  await own.run(linesOf('docker', { ...facts, image, url: 'http://127.0.0.1:3000' }));
  assert.deepEqual([own.calls.length, own.calls[0]?.at(-1)], [1, image]);
  // In a container of its own, this address is the container.
  assert.equal(own.calls[0]?.[own.calls[0].indexOf('--network') + 1], 'host');
});

test('the values that Helm gets are values of the chart', async () => {
  using shell = new Shell(['helm', 'kubectl']);
  const image = 'registry.example:5000/monitor-agent:1';
  await shell.run(linesOf('helm', { ...facts, image, slug: 'Office' }));
  const { values, positional } = helmCall(shell);
  assert.deepEqual(positional, ['office', `charts/monitor-agent-${version}.tgz`]);
  const chart: unknown = parse(readFileSync('deploy/charts/monitor-agent/values.yaml', 'utf8'));
  for (const [name] of values) {
    const found = name.split('.').reduce<unknown>((at, part) => (at as never)?.[part], chart);
    assert.notEqual(found, undefined, `the chart has no value ${name}`);
  }
  assert.equal(values.get('image.repository'), 'registry.example:5000/monitor-agent');
  assert.equal(values.get('image.tag'), '1');
  assert.equal(values.get('location'), 'Office');
  const secret = shell.calls[1] ?? [];
  assert.ok(secret.includes(`${values.get('apiKeySecret.name')}`));
  assert.ok(secret.includes('--from-file=apiKey=Office.key'));

  using named = new Shell(['helm', 'kubectl']);
  await named.run(linesOf('helm', { ...facts, chart: 'oci://registry.example/monitor-agent' }));
  const bare = helmCall(named);
  assert.equal(bare.positional[1], 'oci://registry.example/monitor-agent');
  assert.equal(bare.values.has('image.repository'), false);
});

function helmCall(shell: Shell): { values: Map<string, string>; positional: string[] } {
  const call = shell.calls.find(([name]) => name === 'helm') ?? [];
  const values = call.flatMap((word, index) =>
    call[index - 1] === '--set' ? [word.split('=') as [string, string]] : [],
  );
  return { values: new Map(values), positional: call.slice(2, 4) };
}

test('Node and systemd start the agent that was installed from the files of the release, and it serves the location', async () => {
  await using cp = await startTestControlPlane();
  const { body: made } = await cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Office', slugName: 'office' },
  });
  using shell = new Shell(['npm', 'systemctl', 'install']);
  await shell.run(keyLine(facts), `${made.keys[0].rawKey}\n`);
  const child = shell.start(
    `export AGENT_HEALTH_PORT=0\n${linesOf('node', { ...facts, url: cp.url })}`,
  );
  try {
    let said = '';
    for await (const chunk of child.stdout) {
      said += String(chunk);
      if (said.includes('checked in')) break;
    }
    assert.match(said, /checked in/);
  } finally {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  }
  assert.deepEqual(shell.calls, [
    ['npm', 'install', '-g', './monitor-agent-*.tgz', './monitor-node-*.tgz'],
  ]);

  using unit = new Shell(['npm', 'systemctl', 'install']);
  const to = join(unit.folder.path, 'monitor-agent.service');
  await unit.run(
    linesOf('systemd', facts).replace('/etc/systemd/system/monitor-agent.service', to),
  );
  const text = readFileSync(to, 'utf8');
  const [, program = ''] = /^ExecStart=(\S+) start$/m.exec(text) ?? [];
  assert.ok(existsSync(program), text);
  const verified = spawnSync('systemd-analyze', ['verify', to], { encoding: 'utf8' });
  if (verified.error === undefined) assert.doesNotMatch(verified.stderr, /monitor-agent.service/);
});

test('an address is of this machine only where no other machine can reach it', () => {
  for (const [url, expected] of [
    ['http://127.0.0.1:3000', true],
    ['http://127.8.0.1', true],
    ['http://localhost:3000/monitor', true],
    ['http://monitor.localhost', true],
    ['http://[::1]:3000', true],
    ['http://localhost.example', false],
    ['http://192.168.1.7:3000', false],
    ['https://monitor.example', false],
    ['http://127.example', false],
  ] as const) {
    assert.equal(isOfThisMachine(url), expected, url);
  }
});
