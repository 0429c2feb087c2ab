// Own process: it starts agents, and waits for what they ask.
/** A control plane that lies to an agent which runs only signed work: the agent is a process of its own. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { AssignedCheck, Job } from '@monitor/shared/contract/agent-protocol.ts';
import { freePort, Program } from '../../proof/program.ts';
import { FakeControlPlane } from '../support/fake-control-plane.ts';
import { assignedCheck } from '../support/plain.ts';
import { agentProgram } from '../support/programs.ts';
import { definitionOf } from '../support/runner-context.ts';
import { httpServer } from '../support/servers.ts';
import { makeSigningKey, signedCheck } from '../support/signing.ts';
import { temporaryFolder } from '../support/system.ts';

const location = 'test-place';

function jobOf(check: AssignedCheck, fields: Partial<Job> = {}): Job {
  const now = Date.now();
  return {
    ...{ id: randomUUID(), runId: randomUUID(), check, source: 'SCHEDULE_NOW' },
    ...{ scheduledFor: null, slotLocation: location, attempt: 1, sequenceStartedAt: null },
    ...{ notBefore: now, leaseUntil: now + 60_000, environmentUrl: null },
    ...fields,
  };
}

async function setUp() {
  const folder = temporaryFolder();
  const visits: string[] = [];
  const target = await httpServer((request, response) => {
    visits.push(request.url ?? '');
    response.end('ok');
  });
  const fake = await FakeControlPlane.start({ location });
  const anna = makeSigningKey(folder.path);
  const policy = join(folder.path, 'policy.yaml');
  const write = (): void => {
    writeFileSync(policy, `keys:\n  - name: anna\n    key: ${anna.publicKey}\n`);
  };
  write();
  const port = await freePort();
  const start = (): Program =>
    new Program([agentProgram, 'start'], {
      ...{ API_KEY: fake.key, CONTROL_PLANE_URL: fake.url, AGENT_HEALTH_PORT: String(port) },
      ...{ AGENT_DATA_DIR: join(folder.path, 'data'), AGENT_WORK_DIR: join(folder.path, 'work') },
      ...{ SIGNED_WORK_POLICY_FILE: policy, RUNTIME_POLICY: 'substitute' },
    });
  const at = (path: string, further: Partial<AssignedCheck> = {}): AssignedCheck =>
    assignedCheck({
      ...{ type: 'API', locations: [location], certificateTarget: null },
      definition: definitionOf('API', { method: 'GET', url: `${target.url}${path}` }),
      ...further,
    });
  const scripted = (path: string): AssignedCheck =>
    assignedCheck({
      ...{ type: 'MULTI_STEP', locations: [location] },
      definition: {
        ...{ script: `await fetch('${target.url}${path}')`, scriptPath: null, dependencies: [] },
        ...{ degradedResponseTime: null, maxResponseTime: null, shouldFail: false },
        playwrightConfig: null,
      },
    });
  /** Results by check, once there are so many. */
  const results = async (checks: readonly AssignedCheck[]) => {
    const found = () =>
      [...fake.results.values()].filter(
        (one) => one.kind === 'result' && checks.some(({ id }) => id === one.checkId),
      );
    const ofChecks = () => new Set(found().map(({ checkId }) => checkId));
    await fake.until('each check has a result', () => ofChecks().size === checks.length);
    return found().map((one) => {
      assert.ok(one.kind === 'result');
      return one;
    });
  };
  const ask = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  return {
    ...{ folder, visits, target, fake, anna, policy, write, start, at, scripted, results, ask },
    async [Symbol.asyncDispose]() {
      await fake[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

type Stage = Awaited<ReturnType<typeof setUp>>;

/** Checks that an attacker makes of what was signed once, each with another lie. */
async function lies({ anna, folder, target, at, scripted }: Stage): Promise<Record<string, Job>> {
  const stranger = makeSigningKey(folder.path);
  const api = await signedCheck(at('/attack'), anna);
  const code = await signedCheck(scripted('/attack'), anna);
  const variables = [{ key: 'BASE', value: target.url, secret: false }];
  const definition = definitionOf('API', { method: 'GET', url: '{{BASE}}/attack' });
  const withVariable = await signedCheck(at('', { definition, environment: variables }), anna);
  const { signature: _stripped, ...bare } = api;
  const changed = (of: AssignedCheck, fields: Partial<AssignedCheck>, job: Partial<Job> = {}) =>
    jobOf({ ...of, id: of.id, ...fields }, job);
  const other = await signedCheck(at('/attack'), anna);
  const evil = definitionOf('API', { method: 'GET', url: `${target.url}/attack?evil` });
  const script = [{ name: 'setup script', source: 'request.url += "?evil"' }];
  const dependency = { path: 'x.js', content: 'await 0;' };
  const fresh = async () => signedCheck(at('/attack'), anna);
  return {
    'another script': changed(code, {
      definition: { ...code.definition, script: `await fetch('${target.url}/attack?evil')` },
    }),
    'one more dependency': changed(await signedCheck(scripted('/attack'), anna), {
      definition: { ...code.definition, dependencies: [dependency] },
    }),
    'another target': changed(await fresh(), { definition: evil }),
    'a setup script': changed(await fresh(), { setupScripts: script }),
    'another variable': changed(withVariable, {
      environment: [{ key: 'BASE', value: `${target.url}/evil`, secret: false }],
    }),
    'the signature of another check': changed(at('/attack'), {
      ...(other.signature && { signature: other.signature }),
    }),
    'an unknown key': jobOf(await signedCheck(at('/attack'), stranger)),
    'no signature': jobOf(bare),
    'another namespace': jobOf(await signedCheck(at('/attack'), anna, { namespace: 'git' })),
    'another type': changed(await fresh(), { type: 'URL' }),
    'no type': changed(await fresh(), { type: '__proto__' }),
    'another location': jobOf(await signedCheck(at('/attack', { locations: ['there'] }), anna)),
    'an ENVIRONMENT_URL': changed(await fresh(), {}, { environmentUrl: target.url }),
    'a source': changed(await fresh(), {}, { source: '$(id)' }),
    'a proxy': changed(await fresh(), { proxyUrl: target.url }),
    'a certificate to watch': changed(await fresh(), {
      certificateTarget: {
        host: '127.0.0.1',
        port: Number(new URL(target.url).port),
        servername: null,
      },
    }),
  };
}

test('an agent that runs only signed work runs none of the lies of its control plane, and says so', async () => {
  await using stage = await setUp();
  const { fake, anna, at, scripted, results, visits, ask } = stage;
  fake.watch = {
    ...{ digest: 'x', awayAfterMs: 1_000, key: Buffer.alloc(32).toString('base64'), peers: [] },
    messages: [],
  } as never;
  await using agent = stage.start();
  const genuine = [await signedCheck(at('/api'), anna), await signedCheck(scripted('/code'), anna)];
  fake.hand(...genuine.map((check) => jobOf(check)));
  for (const { hasErrors, hasFailures, checkType, ...result } of await results(genuine)) {
    const shown = JSON.stringify(result);
    assert.deepEqual([hasErrors, hasFailures], [false, false], `${checkType}: ${shown}`);
  }
  assert.deepEqual(visits.toSorted(), ['/api', '/code']);

  const attacks = await lies(stage);
  fake.hand(...Object.values(attacks));
  // Those that came as a schedule as well.
  fake.assign(
    ...Object.values(attacks)
      .filter(({ environmentUrl, source }) => environmentUrl === null && source !== '$(id)')
      .map(({ check }) => ({ ...check, frequency: 0, frequencyOffset: 30 })),
  );
  const refused = await results(Object.values(attacks).map(({ check }) => check));
  for (const { checkId, hasErrors, hasFailures, faultCode, ...details } of refused) {
    const lie = Object.entries(attacks).find(([, { check }]) => check.id === checkId)?.[0];
    assert.deepEqual([hasErrors, hasFailures, faultCode], [true, false, 'WORK_REFUSED'], lie);
    assert.match(JSON.stringify(details), /this agent runs only signed work: /, lie);
    assert.doesNotMatch(JSON.stringify(details), /attack/, lie);
  }
  assert.deepEqual(visits.toSorted(), ['/api', '/code']);

  const health = await ask('/health');
  assert.match(health, /only signed work runs; \d+ runs were refused, the last at /);
  assert.doesNotMatch(health, /controlPlaneWatch/);
  assert.match(await ask('/metrics'), /internal_errors_total\{code="WORK_REFUSED"\} [1-9]/);
  assert.match(await agent.line('"code":"WORK_REFUSED"'), /this agent runs only signed work: /);
});

test('an old version is refused by an agent that was killed since, and nothing runs without the policy', async () => {
  await using stage = await setUp();
  const { fake, anna, at, visits, policy, write } = stage;
  const old = at('/old');
  const signedOld = await signedCheck(old, anna, { version: 1 });
  const now = { ...old, definition: at('/now').definition };
  const signedNow = await signedCheck(now, anna, { version: 2 });
  const outcome = async (check: AssignedCheck): Promise<string> => {
    const job = jobOf(check);
    fake.hand(job);
    const found = () =>
      [...fake.results.values()].find((one) => one.kind === 'result' && one.runId === job.runId);
    await fake.until('the run has a result', () => found() !== undefined);
    const result = found();
    assert.ok(result?.kind === 'result');
    return result.faultCode ?? 'ran';
  };
  {
    await using agent = stage.start();
    assert.equal(await outcome(signedOld), 'ran');
    assert.equal(await outcome(signedNow), 'ran');
    assert.equal(await outcome(signedOld), 'WORK_REFUSED');
    await agent.kill9();
  }
  await using agent = stage.start();
  assert.equal(await outcome(signedOld), 'WORK_REFUSED');
  assert.equal(await outcome(signedNow), 'ran');
  rmSync(policy);
  assert.equal(await outcome(signedNow), 'WORK_REFUSED');
  await agent.line('the policy for signed work cannot be read');
  write();
  assert.equal(await outcome(signedNow), 'ran');
  assert.deepEqual(visits, ['/old', '/now', '/now', '/now']);
});

test('an agent does not start with a policy that says something unknown', async () => {
  await using stage = await setUp();
  writeFileSync(
    stage.policy,
    `keys:\n  - name: anna\n    key: ${stage.anna.publicKey}\nallow: all\n`,
  );
  await using agent = stage.start();
  const { code } = await agent.exited;
  assert.equal(code, 2);
  assert.match(agent.lines.join('\n'), /SIGNED_WORK_POLICY_FILE .* cannot be used: .*"allow"/);
});
