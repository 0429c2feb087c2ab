import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { suite } from 'node:test';
import { parse } from 'yaml';
import { describeSettings as agentSettings } from '../../../agent/config.ts';
import {
  describeSettings as controlPlaneSettings,
  readConfig,
} from '../../../control-plane/core/config.ts';

interface Service {
  image: string;
  environment: Record<string, string>;
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
  volumes: string[];
  tmpfs: string[];
  stop_grace_period: string;
  healthcheck: { test: string[] };
  sysctls?: Record<string, string>;
  ports?: string[];
  secrets?: { source: string; target: string }[];
  depends_on?: Record<string, { condition: string }>;
}

interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  secrets: Record<string, { file: string }>;
}

const file = parse(readFileSync('deploy/compose.yaml', 'utf8'), { merge: true }) as Compose;

function service(name: string): Service {
  const found = file.services[name];
  assert.ok(found !== undefined);
  return found;
}

const settings: Readonly<Record<string, readonly string[]>> = {
  agent: agentSettings().flatMap(({ name, isSecret }) =>
    isSecret ? [name, `${name}_FILE`] : [name],
  ),
  'control-plane': controlPlaneSettings().map(({ name }) => name),
};

for (const [name, { environment, ...rest }] of Object.entries(file.services)) {
  test(`${name}: variables are settings of the process`, () => {
    for (const variable of Object.keys(environment)) {
      assert.ok(settings[name]?.includes(variable), variable);
    }
  });

  test(`${name}: it has no rights and nothing to write to but its volume and /tmp`, () => {
    assert.equal(rest.read_only, true);
    assert.deepEqual(rest.cap_drop, ['ALL']);
    assert.deepEqual(rest.security_opt, ['no-new-privileges:true']);
    const [volume, folder] = rest.volumes[0]?.split(':') ?? [];
    assert.ok(volume !== undefined && volume in file.volumes);
    const kept = environment['DATABASE_FILE'] ?? environment['AGENT_DATA_DIR'];
    assert.ok(kept?.startsWith(`${folder}/`));
    assert.equal(rest.tmpfs[0]?.split(':')[0], '/tmp');
  });

  test(`${name}: the image is that of this version`, () => {
    const { version } = JSON.parse(readFileSync(`${name}/package.json`, 'utf8')) as {
      version: string;
    };
    assert.match(rest.image, new RegExp(`:-monitor-${name}:${version}(-uptime)?\\}$`));
  });
}

test('an agent gets 30 s more to end than its runs, and may send pings', () => {
  const { stop_grace_period: grace, environment, sysctls } = service('agent');
  assert.equal(grace, `${Number(environment['DRAIN_TIMEOUT_SECONDS']) + 30}s`);
  assert.deepEqual(sysctls, { 'net.ipv4.ping_group_range': '0 2147483647' });
});

test('an agent reads its key from the secret, and waits for a control plane that is ready', () => {
  const { secrets, environment, depends_on: waits } = service('agent');
  assert.equal(environment['API_KEY_FILE'], `/run/secrets/${secrets?.[0]?.target}`);
  assert.ok(secrets?.[0] !== undefined && secrets[0].source in file.secrets);
  assert.deepEqual(waits, { 'control-plane': { condition: 'service_healthy' } });
  assert.equal(environment['CONTROL_PLANE_URL'], 'http://control-plane:3000');
});

test('the API is offered to this machine alone', () => {
  assert.deepEqual(service('control-plane').ports, ['127.0.0.1:3000:3000']);
});

test('health checks succeed while a process answers 200, and fail otherwise', async () => {
  const { createServer } = await import('node:http');
  const { spawn } = await import('node:child_process');
  let status = 200;
  const asked: string[] = [];
  await using server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const exitCode = (name: string): Promise<number | null> => {
    const [, , flag = '', script = ''] = service(name).healthcheck.test;
    const here = script.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`);
    return new Promise((resolve) => spawn(process.execPath, [flag, here]).once('exit', resolve));
  };
  for (const name of ['agent', 'control-plane']) {
    status = 200;
    assert.equal(await exitCode(name), 0);
    status = 503;
    assert.equal(await exitCode(name), 1);
  }
  assert.deepEqual([...new Set(asked)], ['/-/liveness', '/-/readiness']);
});

suite('compose file of replicas', () => {
  const text = readFileSync('deploy/compose-replicas.yaml', 'utf8');
  const { services, configs } = parse(text, { merge: true }) as Compose & {
    configs: { balancer: { content: string } };
  };
  const replicas = Object.entries(services).filter(([name]) => name.startsWith('control-plane-'));
  /** As compose replaces variables, all of which have this value when they have no default. */
  const replaced = (value: string): string =>
    value.replaceAll(/\$\{\w+(?::-([^}]*)|:\?[^}]*)\}/g, (_all, byDefault?: string) =>
      byDefault === undefined ? 'a'.repeat(48) : byDefault,
    );

  test('three replicas are alike, and the control plane takes their settings', () => {
    assert.equal(replicas.length, 3);
    for (const [, { environment, ...rest }] of replicas) {
      for (const variable of Object.keys(environment)) {
        assert.ok(settings['control-plane']?.includes(variable), variable);
      }
      const config = readConfig(
        Object.fromEntries(
          Object.entries(environment).map(([name, value]) => [name, replaced(value)]),
        ),
      );
      assert.ok(config.DATABASE_URL?.includes('@postgres:5432/'));
      assert.equal(rest.read_only, true);
      assert.deepEqual(rest.cap_drop, ['ALL']);
      assert.equal(rest.volumes, undefined);
      assert.equal(rest.image, service('control-plane').image);
      assert.deepEqual(rest.healthcheck, service('control-plane').healthcheck);
    }
  });

  test('the balancer knows every replica and keeps nobody with one of them', () => {
    const { content } = configs.balancer;
    const known = [...content.matchAll(/^ *server ([\w-]+):3000/gm)].map(([, name = '']) => name);
    assert.deepEqual(known.sort(), replicas.map(([name]) => name).sort());
    assert.doesNotMatch(content, /^ *(hash|ip_hash|sticky)\b/m);
    assert.deepEqual(services['balancer']?.ports, ['127.0.0.1:3000:3000']);
  });

  test('no password has a default', () => {
    assert.doesNotMatch(text, /(PASSWORD|KEY):-/);
  });
});
