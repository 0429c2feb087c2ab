// PostgreSQL in the long tier: projects.test.ts, assembled-checks.test.ts and accounts.test.ts run its
// statements on both.
/** `apply --sign-with`: what is signed from files is what agents get, and they take it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import test from 'node:test';
import {
  protocolVersion,
  type AssignedCheck,
  type CheckInAnswer,
} from '@monitor/shared/contract/agent-protocol.ts';
import { checkTypes, findAgentType } from '@monitor/shared/contract/checks/index.ts';
import type { ProjectResource } from '@monitor/shared/contract/compatibility/projects.ts';
import { SignedWork } from '../../../agent/signed-work/signed-work.ts';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { filesOf } from '../../../control-plane/as-code/index.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { checkInOf } from '../../support/fake-agent.ts';
import { silent } from '../../support/in-process.ts';
import { KeyedAgent } from '../../support/keyed-agent.ts';
import { projectOf, ref, resource } from '../../support/projects.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing.ts';
import { temporaryFolder } from '../../support/system.ts';

const agentTypes = Object.values(checkTypes).filter(
  ({ type }) => findAgentType(type) !== undefined,
);

/** A check of each type that agents run, with all that it can inherit. */
function project() {
  const bundle = { codeBundlePath: `bundles/${'0'.repeat(64)}.tgz` };
  return projectOf([
    ...agentTypes.map(({ type, sample, variables }) =>
      resource('check', type.toLowerCase(), {
        ...{ checkType: type, name: type, groupId: ref('backend'), ...sample, frequency: 10 },
        ...(type === 'PLAYWRIGHT' ? bundle : {}),
        ...(type === 'API' && { setupSnippetId: ref('own') }),
        ...(type === 'BROWSER' && { script: 'await import("./snippets/shared.js")' }),
        ...(variables === 'all' && { environmentVariables: [{ key: 'OWN', value: '{{BASE}}' }] }),
      }),
    ),
    resource('check', 'ping', {
      checkType: 'HEARTBEAT',
      name: 'ping',
      ...checkTypes.HEARTBEAT.sample,
    }),
    resource('check-group', 'backend', {
      ...{ v: 2, name: 'Backend', locations: ['eu-west-1'], localSetupScript: 'await 1;' },
      environmentVariables: [{ key: 'PASSWORD', value: 'hunter2', secret: true }],
      apiCheckDefaults: {
        ...{ url: 'https://group.example', headers: [{ key: 'x-group', value: '1' }] },
        ...{ queryParameters: [], assertions: [], basicAuth: { username: 'u', password: 'p' } },
      },
    }),
    resource('snippet', 'own', { name: 'own', script: 'await 2;' }),
    resource('snippet', 'shared', { name: 'shared', script: 'await 3;' }),
    resource('variable', 'BASE', { key: 'BASE', value: 'https://a.example' }),
  ]);
}

function write(folder: string, { project: of, resources }: ReturnType<typeof project>): void {
  for (const { path, text } of filesOf({ project: of, resources })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

interface Report {
  changes: { action: string; logicalId: string }[];
  signed: number;
}

async function setUp() {
  const folder = temporaryFolder();
  const cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  const files = join(folder.path, 'files');
  write(files, project());
  const assigned = async (): Promise<AssignedCheck[]> => {
    const types = agentTypes.map(({ type }) => type);
    const of = { agentId: agent.id, protocol: protocolVersion };
    const request = checkInOf(of, types, ['2026.04'], ['chromium']);
    const capabilities = { ...request.capabilities, icmp: 'raw', traceroute: true };
    const { body } = await agent.call('check-in', { ...request, capabilities });
    return (body as CheckInAnswer).upserts;
  };
  const trusting = (key: SigningKey): Promise<SignedWork> => {
    const file = join(folder.path, 'policy.yaml');
    writeFileSync(file, `keys: [{ name: anna, key: ${key.publicKey} }]`);
    const options = { file, directory: folder.path, clock: { now: () => 1 }, logger: silent };
    return SignedWork.open(options);
  };
  return {
    ...{ folder, cp, files, assigned, trusting },
    operator: (more: Record<string, string> = {}) =>
      new Operator(folder.path, { CONTROL_PLANE_API_KEY: cp.apiKey, PUBLIC_URL: cp.url, ...more }),
    async [Symbol.asyncDispose]() {
      await cp[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

const asWork = (check: AssignedCheck) => ({
  ...{ check, location: 'eu-west-1', environmentUrl: null, source: null },
});

test('what apply signs is let through by agents, for checks of each type, and signed again only when it changes', async () => {
  await using stage = await setUp();
  const { cp, files, folder, assigned, trusting } = stage;
  const anna = makeSigningKey(folder.path);
  const operator = stage.operator();
  const apply = (...args: string[]) =>
    operator.json<Report>('apply', files, '--yes', '--sign-with', anna.file, ...args);
  const first = await apply();
  assert.equal(first.signed, agentTypes.length);
  const signedWork = await trusting(anna);
  const checks = await assigned();
  assert.equal(checks.length, agentTypes.length);
  for (const check of checks) {
    assert.deepEqual((await signedWork.admit(asWork(check))).environment, check.environment);
  }
  // What the account has beside the project is not signed, and no run sees it.
  await cp.api('POST', '/v1/variables', { key: 'NODE_OPTIONS', value: '--import evil' });
  for (const check of await assigned()) {
    const { environment } = await signedWork.admit(asWork(check));
    assert.ok(!environment.some(({ key }) => key === 'NODE_OPTIONS'));
  }
  // Nor are tests in quarantine, which people name in the console.
  const suite = checks.find(({ type }) => type === 'PLAYWRIGHT');
  const quarantinedTests = [{ test: 'a › b', until: '2099-01-31T00:00:00Z' }];
  const path = `/v1/checks/playwright/${suite?.id}`;
  assert.equal((await cp.api('PUT', path, { quarantinedTests })).status, 200);
  const quarantined = (await assigned()).find(({ id }) => id === suite?.id);
  assert.ok(quarantined !== undefined);
  const { definition } = await signedWork.admit(asWork(quarantined));
  assert.deepEqual(definition['quarantinedTests'], quarantinedTests);
  assert.deepEqual(await apply(), { ...first, changes: [] });

  const api = join(files, 'checks', 'api.yaml');
  writeFileSync(api, readFileSync(api, 'utf8').replace('name: API', 'name: shop'));
  const changed = await apply();
  assert.deepEqual(
    changed.changes.map(({ action, logicalId }) => [action, logicalId]),
    [['UPDATE', 'api']],
  );
  for (const check of await assigned()) await signedWork.admit(asWork(check));

  // A deployment without a key leaves the signature, which is then of something else.
  writeFileSync(api, readFileSync(api, 'utf8').replace('name: shop', 'name: other'));
  await operator.json('apply', files, '--yes');
  const other = (await assigned()).find(({ name }) => name === 'other');
  assert.ok(other?.signature !== undefined);
  await assert.rejects(signedWork.admit(asWork(other)), /is not what "anna" signed/);

  // The runtime of the account is one of what is signed.
  await cp.api('PUT', `/v1/accounts/${cp.accountId}`, { runtimeId: '2025.04' });
  const again = await operator.run('apply', files, '--yes', '--sign-with', anna.file);
  assert.equal(again.code, 0, again.error);
  assert.match(again.out, /~ change\s+check\s+browser/);
  assert.doesNotMatch(again.error, /warning/);
  await cp.api('POST', '/v1/snippets', { name: 'await', script: 'evil' });
  const crossed = await operator.run('apply', files, '--yes', '--sign-with', anna.file);
  assert.match(crossed.error, /warning: check "browser": the control plane has something else/);
});

test('a key in an agent signs, and what depends on more than the files is refused before anything changes', async () => {
  await using stage = await setUp();
  const { files, folder, assigned, trusting, cp } = stage;
  const anna = makeSigningKey(folder.path);
  const socket = join(folder.path, 'agent.sock');
  const started = execFileSync('ssh-agent', ['-a', socket], { encoding: 'utf8' });
  const pid = Number(/SSH_AGENT_PID=(\d+)/.exec(started)?.[1]);
  try {
    const env = { ...process.env, SSH_AUTH_SOCK: socket };
    execFileSync('ssh-add', ['-q', anna.file], { env, stdio: 'ignore' });
    const publicKey = join(folder.path, 'anna.pub');
    writeFileSync(publicKey, anna.publicKey);
    const operator = stage.operator({ SSH_AUTH_SOCK: socket });
    const sign = ['apply', files, '--yes', '--sign-with', publicKey];
    assert.equal((await operator.json<Report>(...sign)).signed, agentTypes.length);
    const signedWork = await trusting(anna);
    for (const check of await assigned()) await signedWork.admit(asWork(check));

    const { body: snippet } = await cp.api('POST', '/v1/snippets', { name: 'x', script: 'x' });
    const api = join(files, 'checks', 'api.yaml');
    const text = readFileSync(api, 'utf8');
    const foreign = text.replace(/setupSnippetId:\n +ref: own/, `setupSnippetId: ${snippet.id}`);
    assert.notEqual(foreign, text);
    writeFileSync(api, foreign);
    assert.match(await operator.refused(1, ...sign), /a snippet that is not in these files/);
    writeFileSync(api, text);
    const nobody = ['apply', files, '--yes', '--sign-with', join(folder.path, 'nobody')];
    assert.match(await operator.refused(1, ...nobody), /could not sign with .*nothing was changed/);
  } finally {
    process.kill(pid);
  }
});

/** A control plane that says nothing of one check. */
async function hiding(url: string, hidden: string) {
  const server = createServer((request, response) => {
    void (async () => {
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const { method = 'GET' } = request;
      const answer = await fetch(`${url}${request.url}`, {
        ...{ method, headers: { authorization, ...(type !== '' && { 'content-type': type }) } },
        ...(method !== 'GET' && { body: await buffer(request) }),
      });
      const said: unknown = JSON.parse(await answer.text(), (name, value: unknown) =>
        name === 'diff' && Array.isArray(value)
          ? value.filter(({ logicalId }) => logicalId !== hidden)
          : value,
      );
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(said));
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('what is not signed in the end is said after what was changed', async () => {
  await using stage = await setUp();
  const { files, folder, cp } = stage;
  const anna = makeSigningKey(folder.path);
  const operator = stage.operator();
  const publicKey = join(folder.path, 'alone.pub');
  writeFileSync(publicKey, anna.publicKey);
  const unable = ['apply', files, '--yes', '--sign-with', publicKey];
  const { code, out, error } = await operator.run(...unable);
  assert.equal(code, 1);
  assert.match(out, /\+ create\s+check\s+api/);
  assert.match(error, /could not sign with .*; the change was made; not signed: .*\bapi\b/);
  assert.doesNotMatch(error, /nothing was changed/);
  assert.match(await operator.refused(1, ...unable), /could not sign with .*; nothing was changed/);

  await using liar = await hiding(cp.url, 'api');
  const sign = ['apply', files, '--yes', '--sign-with', anna.file];
  const lied = await operator.run(...sign, '--url', liar.url);
  assert.equal(lied.code, 0, lied.error);
  assert.match(lied.error, /warning: check "api" is not signed: the control plane says neither/);
  assert.equal(lied.error.match(/is not signed/g)?.length, 1);
  const honest = await operator.run(...sign);
  assert.doesNotMatch(honest.error, /warning/);

  const { body: checks } = await cp.api('GET', '/v1/checks?limit=100');
  const { id } = (checks as { id: string; checkType: string }[]).find(
    ({ checkType }) => checkType === 'API',
  ) ?? { id: '' };
  for (const [days, expected] of [
    [0.9, /checks are signed/],
    [1.1, /check "api" has a signature with the version \d+, which is more than a day from now/],
  ] as const) {
    const version = Math.round(Date.now() + days * 86_400_000);
    const signature = { version, variables: [], value: 'none' };
    const { status } = await cp.api('PUT', `/v1/checks/api/${id}`, { signature });
    assert.equal(status, 200);
    assert.match((await operator.run(...sign)).error, expected);
  }
  const signature = { version: 253_402_300_800_000, variables: [], value: 'none' };
  assert.equal((await cp.api('PUT', `/v1/checks/api/${id}`, { signature })).status, 400);
});

/** Deploys the project in a file as existing clients do: its code bundle first, and with a body that is compressed. */
const client = `
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
const [file, query, upload, path = '/v1/projects/deploy'] = process.argv.slice(2);
const { CHECKLY_API_URL: url, CHECKLY_API_KEY: key, CHECKLY_ACCOUNT_ID: account, ...env } = process.env;
const authorization = 'Bearer ' + key;
const post = async (path, body, headers) => {
  const given = { method: 'POST', headers: { authorization, 'x-checkly-account': account, ...headers }, body };
  const answer = await fetch(url + path, given);
  return { status: answer.status, body: await answer.json() };
};
const project = JSON.parse(readFileSync(file, 'utf8'));
const suites = project.resources.filter(({ payload }) => payload?.codeBundlePath !== undefined);
if (upload === 'upload') {
  const bundle = gzipSync(Buffer.alloc(10_240));
  const { body } = await post('/next/checkly-storage/upload-code-bundle', bundle, { 'content-type': 'application/octet-stream' });
  for (const { payload } of suites) payload.codeBundlePath = body.key;
}
for (const { payload } of suites) {
  const { status } = await post('/next/checkly-storage/peek-code-bundle', JSON.stringify({ key: payload.codeBundlePath }), { 'content-type': 'application/json' });
  console.log('peek', status);
}
const stranger = await fetch(url + '/v1/checks', { headers: { authorization: 'Bearer cu_other' } });
console.log('stranger', stranger.status);
console.log('key', env.CONTROL_PLANE_API_KEY ?? 'not known');
const packed = (path, body) => post(path, gzipSync(JSON.stringify(body)), { 'content-type': 'application/json', 'content-encoding': 'gzip' });
const other = await packed('/v1/snippets', { name: 'z' + Date.now(), script: 'z' });
console.log('other', other.status, 'without a proxy', env.NO_PROXY, env.no_proxy);
if (upload === 'leave') {
  const { request } = await import('node:http');
  const asking = request(url + path, { method: 'POST', headers: { authorization, 'content-type': 'application/json' } });
  await new Promise((resolve) => asking.end(JSON.stringify(project), resolve));
  process.exit(5);
}
if (upload === 'twice') {
  const other = { ...project, project: { ...project.project, logicalId: 'other' } };
  const both = await Promise.all([project, project, other].map((each) => packed(path + '?' + query, each)));
  console.log('deploy', ...both.map(({ status }) => status));
  process.exit();
}
const deploy = await packed(path + '?' + query, project);
console.log('deploy', deploy.status, deploy.body.message ?? '');
if (deploy.status >= 400) process.exit(3);
`;

test('what an existing client deploys is signed on the way, from what it sends alone', async () => {
  await using stage = await setUp();
  const { folder, cp, assigned, trusting } = stage;
  const anna = makeSigningKey(folder.path);
  const operator = stage.operator();
  const script = join(folder.path, 'client.mjs');
  writeFileSync(script, client);
  const shop = join(folder.path, 'shop.json');
  const assigning = (location: ProjectResource): ReturnType<typeof project> => {
    const of = project();
    const office = { privateLocationId: ref('office') };
    const toGroup = { ...office, groupId: ref('backend') };
    const toCheck = { ...office, checkId: ref('url') };
    return {
      ...of,
      resources: [
        ...[location, ...of.resources],
        resource('private-location-group-assignment', 'backend#office', toGroup),
        resource('private-location-check-assignment', 'url#office', toCheck),
      ],
    };
  };
  const office = resource('private-location', 'office', { name: 'Office', slugName: 'office' });
  const deploy = (query: string, upload: string, of = assigning(office), ...path: string[]) => {
    writeFileSync(shop, JSON.stringify({ ...of, repoInfo: { commitId: 'f00d' } }));
    const run = [process.execPath, script, shop, query, upload, ...path];
    return operator.run('sign', '--sign-with', anna.file, '--', ...run);
  };

  // A client that was stopped deploys nothing.
  const unpacked = projectOf(
    project().resources.filter(({ logicalId }) => logicalId !== 'playwright'),
  );
  const left = await deploy('', 'leave', unpacked);
  assert.equal(left.code, 5);
  assert.match(left.error, /deployed nothing, so nothing is signed/);
  assert.deepEqual(await assigned(), []);

  const planned = await deploy('dryRun=true', 'upload');
  assert.equal(planned.code, 0, planned.error);
  assert.match(planned.error, /deployed nothing, so nothing is signed/);
  assert.deepEqual(await assigned(), []);

  const first = await deploy('dryRun=false', 'upload');
  assert.equal(first.code, 0, first.error);
  assert.match(
    first.out,
    /peek 200\nstranger 401\nkey not known\nother 201 .* 127.0.0.1 127.0.0.1\ndeploy 202/,
  );
  assert.match(first.error, new RegExp(`^${agentTypes.length} checks are signed$`, 'm'));
  const signedWork = await trusting(anna);
  const checks = await assigned();
  assert.equal(checks.length, agentTypes.length);
  for (const check of checks) await signedWork.admit(asWork(check));

  // The same again keeps the signatures; the control plane could give another bundle a name that was never uploaded.
  const again = await deploy('dryRun=false', 'upload');
  assert.equal(again.code, 0, again.error);
  assert.deepEqual(
    (await assigned()).map(({ signature }) => signature),
    checks.map(({ signature }) => signature),
  );
  // Clients from before deployments could be followed.
  const renamed = assigning(office);
  for (const { type, payload } of renamed.resources) {
    if (type === 'check' && payload !== null) payload['name'] = `new ${String(payload['name'])}`;
  }
  const old = await deploy('', 'upload', renamed, '/next-v2/projects/deploy');
  assert.match(old.out, /deploy 200/);
  for (const check of await assigned()) await signedWork.admit(asWork(check));
  const swapped = await deploy('dryRun=false', 'none');
  assert.equal(swapped.code, 3);
  assert.match(swapped.out, /peek 404/);
  assert.match(swapped.out, /deploy 400 "codeBundlePath" of "playwright" is of a bundle that this/);

  const { body: snippet } = await cp.api('POST', '/v1/snippets', { name: 'x', script: 'x' });
  const foreign = project();
  for (const { logicalId, payload } of foreign.resources) {
    if (logicalId === 'api' && payload !== null) payload['setupSnippetId'] = snippet.id;
  }
  const unknownLocation = { ...office, member: false, payload: null, physicalId: randomUUID() };
  for (const [of, reason] of [
    [foreign, /deploy 400 could not deploy .*snippet that is not in these files/],
    [
      assigning(unknownLocation),
      /deploy 400 could not deploy .*location that is not in these files/,
    ],
  ] as const) {
    const refused = await deploy('dryRun=false', 'upload', of);
    assert.equal(refused.code, 3);
    assert.match(refused.out, reason);
  }
  for (const check of await assigned()) await signedWork.admit(asWork(check));

  const nobody = ['sign', '--sign-with', anna.file, '--', join(folder.path, 'nobody')];
  assert.match(await operator.refused(1, ...nobody), /could not start .*nobody: .*after --/);
});

test('a deployment on the way is one at a time, with its options, and refused as the control plane refuses it', async () => {
  await using stage = await setUp();
  const { folder, cp, assigned, trusting } = stage;
  const anna = makeSigningKey(folder.path);
  const script = join(folder.path, 'client.mjs');
  writeFileSync(script, client);
  const file = join(folder.path, 'one.json');
  const url = { checkType: 'URL', name: 'Shop', request: { url: 'https://a.example/' } };
  const locations = ['eu-west-1'];
  writeFileSync(
    file,
    JSON.stringify(projectOf([resource('check', 'shop', { ...url, locations })])),
  );
  const run = (more: Record<string, string>, query: string, how = 'none') =>
    stage
      .operator(more)
      .run('sign', '--sign-with', anna.file, '--', process.execPath, script, file, query, how);

  const { rawKey } = await createApiKey(cp.controlPlane.services, cp.accountId, {
    ...{ name: 'reader', role: 'READ_ONLY' },
  });
  const denied = await run({ CONTROL_PLANE_API_KEY: rawKey }, 'dryRun=false');
  assert.match(denied.out, /deploy 403 .*READ_ONLY/);

  // What the account has is there already for `adopt`, so that its signature goes with the deployment.
  const made = await cp.api('POST', '/v1/checks/url', { ...url, checkType: undefined, locations });
  const adopted = await run({}, 'adopt=true&dryRun=false');
  assert.match(adopted.out, /deploy 202/, adopted.error);
  assert.match(adopted.error, /^1 checks are signed$/m);
  const signedWork = await trusting(anna);
  const [check, ...others] = await assigned();
  assert.deepEqual(others, []);
  assert.ok(check !== undefined);
  assert.equal(check.id, made.body.id);
  await signedWork.admit(asWork(check));

  writeFileSync(file, readFileSync(file, 'utf8').replace('"Shop"', '"New shop"'));
  const twice = await run({}, 'dryRun=false', 'twice');
  assert.match(twice.out, /deploy 202 202 202/, twice.error);
  const checks = await assigned();
  assert.equal(checks.length, 2);
  for (const each of checks) await signedWork.admit(asWork(each));
});
