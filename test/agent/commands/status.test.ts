// Few share a process: it starts programs.
/** `status`, `doctor` and `support-bundle` beside a running agent: a real process each. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';
import { list } from 'tar';
import { systemClock } from '@monitor/shared/clock.ts';
import { collectFindings } from '../../../agent/doctor/collect-findings.ts';
import { unanswered } from '../../../agent/commands/status.ts';
import { degradations } from '../../../agent/doctor/judge-status.ts';
import { askStatus } from '../../../agent/doctor/running-agent.ts';
import { agent as command } from '../../support/agent-command.ts';
import { canarySecrets, findCanaries } from '../../support/canaries.ts';
import { FakeControlPlane } from '../../support/fake-control-plane.ts';
import { Program, surroundings } from '../../../proof/program.ts';
import { seededRandom } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';
import { agentProgram } from '../../support/programs.ts';

/** Files of an archive by name. */
async function unpack(file: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  await list({
    file,
    onReadEntry: (entry) => {
      const chunks: Buffer[] = [];
      entry.on('data', (chunk: Buffer) => chunks.push(chunk));
      entry.on('end', () => files.set(entry.path, Buffer.concat(chunks)));
    },
  });
  return files;
}

test('what to do where no agent answers follows from why', () => {
  for (const [code, next] of [
    ['ENOENT', /no agent runs there\. Give this command the settings of the agent$/],
    ['EACCES', /another user: run this as the user of the agent$/],
    ['TIMEOUT', /suspended or stuck: continue it, or restart it$/],
  ] as const)
    assert.match(unanswered('/data', code), next);
});

test('status says what the agent says; without one, where it looked', async () => {
  using folder = temporaryFolder();
  // Longer than the path of a socket may be.
  const data = join(folder.path, 'x'.repeat(100), 'data');
  mkdirSync(data, { recursive: true });
  await using fake = await FakeControlPlane.start();
  const environment = {
    ...{ API_KEY: fake.key, CONTROL_PLANE_URL: fake.url, AGENT_DATA_DIR: data },
    ...{ AGENT_WORK_DIR: join(folder.path, 'work'), AGENT_HEALTH_PORT: '0' },
    PACKET_CAPTURE: 'off',
  };
  const none = await askStatus(data);
  assert.deepEqual(none, { answer: null, code: 'ENOENT' });

  await using agent = new Program([agentProgram, 'start'], environment);
  await agent.line('"msg":"checked in"');
  const { answer } = await askStatus(data);
  assert.ok(answer !== null && answer.isHere);
  const { status } = answer;
  assert.deepEqual(
    [status.state, status.location, status.link.state, degradations(status)],
    ['ready', 'test-place', 'up', []],
  );
  assert.equal(status.controlPlane, fake.url);
  assert.equal(status.pid, agent.child.pid);
  assert.equal(statSync(join(data, 'agent.sock')).mode & 0o777, 0o600);

  const { report } = await collectFindings({
    environment: { ...environment, AGENT_HEALTH_PORT: String(status.healthPort) },
    clock: systemClock,
    choice: { only: ['data-directory', 'health-port'] },
  });
  const [folderFinding, portFinding] = report.findings;
  assert.match(folderFinding?.evidence ?? '', new RegExp(`agent \\(process ${status.pid}\\)`));
  assert.match(portFinding?.evidence ?? '', /held by the agent that runs here/);

  await fake.goOffline();
  await agent.line('"msg":"check-in failed, the schedule goes on"');
  const cut = await command(['status'], environment);
  assert.equal(cut.code, 1);
  assert.match(cut.out, /ready, degraded\n {2}! the control plane is not reached for/);

  await agent.kill9();
  const left = await command(['status', '--json'], environment);
  assert.equal(left.code, 2);
  assert.match(left.out, /left from an agent that has ended/);
});

test('an agent starts where its disk has become full, and does not where its folder can be none', async () => {
  using folder = temporaryFolder();
  const data = join(folder.path, 'data');
  await using fake = await FakeControlPlane.start();
  const environment = {
    ...{ API_KEY: fake.key, CONTROL_PLANE_URL: fake.url, AGENT_DATA_DIR: data },
    ...{ AGENT_HEALTH_PORT: '0', PACKET_CAPTURE: 'off' },
  };
  {
    await using agent = new Program([agentProgram, 'start'], environment);
    await agent.line('"msg":"checked in"');
    await agent.kill9();
  }
  // No file may grow beyond what an outbox has from the start.
  const limited = ['-c', 'ulimit -f 32; exec "$0" "$@"', process.execPath, agentProgram, 'start'];
  const full = spawn('bash', limited, { env: { ...surroundings(), ...environment } });
  let said = '';
  for await (const chunk of full.stdout) {
    said += String(chunk);
    if (said.includes('"msg":"checked in"')) break;
  }
  full.kill('SIGKILL');
  assert.match(said, /"msg":"checked in"/);
  const file = join(folder.path, 'file');
  writeFileSync(file, '');
  const none = await command(['start'], { ...environment, AGENT_DATA_DIR: file });
  assert.equal(none.code, 2);
  assert.match(none.error, /the data directory .* cannot be used \(EEXIST|ENOTDIR/);
});

test('a support bundle holds no secret of the settings, the environment or the log, in no form', async () => {
  using folder = temporaryFolder();
  const secrets = canarySecrets(seededRandom(7)).filter(
    (text) => !/[\r\n\0]/.test(text) && text.length < 200,
  );
  const [llm = '', otlp = '', password = '', foreign = '', log = ''] = secrets;
  const apiKey = `pl_${randomBytes(32).toString('hex')}`;
  await using fake = await FakeControlPlane.start({ key: apiKey });
  const keyFile = join(folder.path, 'key');
  writeFileSync(keyFile, `${apiKey}\n`);
  const environment = {
    ...{ API_KEY_FILE: keyFile, CONTROL_PLANE_URL: fake.url },
    ...{ AGENT_DATA_DIR: join(folder.path, 'data'), AGENT_WORK_DIR: join(folder.path, 'work') },
    ...{ AGENT_HEALTH_PORT: '0', PACKET_CAPTURE: 'off' },
    HTTPS_PROXY: `http://user:${encodeURIComponent(password)}@127.0.0.1:9`,
    ...{ LLM_MODEL: 'model', LLM_API_KEY: llm, OTEL_EXPORTER_OTLP_HEADERS: `x-token=${otlp}` },
    DATABASE_PASSWORD: foreign,
    // The log tells settings that are no secrets; whoever writes one into such a setting is helped too.
    OTEL_SERVICE_NAME: `agent ${llm}`,
    AGENT_MISSPELT: log,
  };
  await using agent = new Program([agentProgram, 'start'], environment);
  await agent.line('"msg":"checked in"');
  const output = join(folder.path, 'bundle.tar.gz');
  let made = await command(['support-bundle', '--output', output], environment);
  // On a busy machine the agent may be too slow to answer once.
  for (let tries = 1; tries < 5 && !(await unpack(output)).has('status.json'); tries += 1) {
    rmSync(output);
    made = await command(['support-bundle', '--output', output], environment);
  }
  assert.equal(made.code, 0, made.error);
  assert.match(made.out, /Nothing was sent anywhere/);
  assert.equal(statSync(output).mode & 0o777, 0o600);
  const files = await unpack(output);
  const names = [
    'manifest.json',
    'doctor.json',
    'settings.json',
    'status.json',
    'metrics.txt',
    'log.txt',
  ];
  for (const name of [...names, 'machine/limits.txt', 'machine/processes.txt', 'runtimes.json']) {
    assert.ok((files.get(name)?.length ?? 0) > 0, name);
  }
  assert.match(files.get('log.txt')?.toString() ?? '', /"msg":"checked in"/);
  assert.match(
    files.get('machine/processes.txt')?.toString() ?? '',
    new RegExp(`^${agent.child.pid}\t`, 'm'),
  );
  for (const [name, content] of [
    ...files,
    ['the archive', gunzipSync(readFileSync(output))] as const,
  ]) {
    assert.deepEqual(findCanaries(content, [apiKey, llm, otlp, password, foreign]), [], name);
  }
  const again = await command(['support-bundle', '--output', output], environment);
  assert.equal(again.code, 2);
  assert.match(
    again.error,
    /^the bundle cannot be written to .*name another file with --output\n$/,
  );
});
