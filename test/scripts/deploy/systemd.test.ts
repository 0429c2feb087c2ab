import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { describeSettings as agentSettings } from '../../../agent/config.ts';
import { describeSettings as controlPlaneSettings } from '../../../control-plane/core/config.ts';
import { exitCodes } from '../../../agent/exit-codes.ts';
import { temporaryFolder } from '../../support/system.ts';

/** The lines of a unit, by name; a name may be given several times. */
function unit(file: string): Map<string, string[]> {
  const entries = new Map<string, string[]>();
  for (const line of readFileSync(`deploy/systemd/${file}`, 'utf8').split('\n')) {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name !== '') entries.set(name, [...(entries.get(name) ?? []), value]);
  }
  return entries;
}

const agent = unit('monitor-agent.service');
const controlPlane = unit('monitor-control-plane.service');
const scripts = unit('monitor-agent-scripts.conf');

const only = (of: Map<string, string[]>, name: string): string | undefined => of.get(name)?.at(-1);

function variables(of: Map<string, string[]>): Map<string, string> {
  const pairs = (of.get('Environment') ?? []).flatMap((line) => line.split(' '));
  return new Map(pairs.map((pair) => pair.split('=') as [string, string]));
}

for (const [name, entries, known] of [
  ['agent', agent, agentSettings().flatMap(({ name: each }) => [each, `${each}_FILE`])],
  ['control-plane', controlPlane, controlPlaneSettings().map(({ name: each }) => each)],
] as const) {
  test(`${name}: the unit starts what is there, with settings that are known`, () => {
    const [node, program = '', command] = only(entries, 'ExecStart')?.split(' ') ?? [];
    assert.equal(node, '/usr/bin/node');
    assert.ok(existsSync(program.replace('/opt/monitor/', '')), program);
    assert.equal(command, name === 'agent' ? 'start' : 'serve');
    for (const variable of variables(entries).keys()) {
      assert.ok(variable === 'HOME' || (known as string[]).includes(variable), variable);
    }
  });

  test(`${name}: it has a user of its own, and one folder to write to`, () => {
    assert.equal(only(entries, 'DynamicUser'), 'yes');
    assert.equal(only(entries, 'ProtectSystem'), 'strict');
    const folder = only(entries, 'StateDirectory');
    const kept = variables(entries).get(name === 'agent' ? 'AGENT_DATA_DIR' : 'DATABASE_FILE');
    assert.ok(kept?.startsWith(`%S/${folder}`));
    assert.equal(only(entries, 'NoNewPrivileges'), 'yes');
    assert.equal(only(entries, 'RestartPreventExitStatus'), String(exitCodes.error));
  });
}

test('an agent has NET_RAW and no other right; a control plane has none', () => {
  assert.equal(only(agent, 'AmbientCapabilities'), 'CAP_NET_RAW');
  assert.equal(only(agent, 'CapabilityBoundingSet'), 'CAP_NET_RAW');
  assert.match(only(agent, 'RestrictAddressFamilies') ?? '', /AF_PACKET/);
  assert.equal(only(controlPlane, 'CapabilityBoundingSet'), '');
});

test('what holds NET_RAW may give it up: nothing is started that could not', () => {
  const filters = agent.get('SystemCallFilter') ?? [];
  assert.ok(filters.at(-1)?.split(' ').includes('capset'));
});

test('the key comes as a credential', () => {
  assert.equal(only(agent, 'LoadCredential'), 'api-key:/etc/monitor-agent/api-key');
  assert.equal(variables(agent).get('API_KEY_FILE'), '%d/api-key');
});

test('an agent gets 30 s more to end than its runs, with browsers too', () => {
  for (const entries of [agent, scripts]) {
    const drain = Number(variables(entries).get('DRAIN_TIMEOUT_SECONDS'));
    assert.equal(Number(only(entries, 'TimeoutStopSec')), drain + 30);
  }
});

test('systemd knows every line of the units, drop-ins included', (t) => {
  const { error } = spawnSync('systemd-analyze', ['--version']);
  if (error !== undefined) {
    t.skip('systemd-analyze is missing');
    return;
  }
  using folder = temporaryFolder();
  for (const name of readdirSync('deploy/systemd')) {
    // Only its path is of another machine.
    const text = readFileSync(`deploy/systemd/${name}`, 'utf8').replace(
      '/usr/bin/node',
      process.execPath,
    );
    const isUnit = name.endsWith('.service');
    const dropIns = join(folder.path, 'monitor-agent.service.d');
    if (!isUnit) mkdirSync(dropIns, { recursive: true });
    writeFileSync(join(isUnit ? folder.path : dropIns, name), text);
  }
  for (const name of ['monitor-agent', 'monitor-control-plane']) {
    const file = join(folder.path, `${name}.service`);
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    assert.deepEqual([status, stderr], [0, ''], name);
  }
});
