// PostgreSQL in the long tier: held-deletions.test.ts and assembled-checks.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  protocolVersion,
  type AssignedCheck,
  type CheckInAnswer,
} from '@monitor/shared/contract/agent-protocol.ts';
import { checkTypes, findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { signedPartOf } from '@monitor/shared/signed-work/signed-part.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { checkInOf } from '../../support/fake-agent.ts';
import { KeyedAgent } from '../../support/keyed-agent.ts';
import { makeSigningKey, signText } from '../../support/signing.ts';
import { temporaryFolder } from '../../support/system.ts';

const locations = ['eu-west-1'];

async function created(cp: TestControlPlane, path: string, body: object) {
  const answer = await cp.api('POST', path, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body as { id: never };
}

/** An account with all that a check can inherit. */
async function inheriting(cp: TestControlPlane) {
  await created(cp, '/v1/variables', { key: 'ACCOUNT', value: 'a' });
  await created(cp, '/v1/variables', { key: 'TOKEN', value: 'hidden', secret: true });
  const snippet = await created(cp, '/v1/snippets', { name: 'login', script: 'await 1;' });
  return created(cp, '/v2/check-groups', {
    ...{ name: 'group', setupSnippetId: snippet.id, localTearDownScript: 'await 2;' },
    environmentVariables: [{ key: 'GROUP', value: 'b' }],
    apiCheckDefaults: {
      ...{ url: 'https://group.example', headers: [{ key: 'x-group', value: '1' }] },
      ...{ queryParameters: [], assertions: [], basicAuth: { username: 'u', password: 'p' } },
    },
  });
}

test('what is signed by hand over the API is what an agent derives from its work, for each type', async () => {
  using folder = temporaryFolder();
  const key = makeSigningKey(folder.path);
  await using cp = await startTestControlPlane();
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  const group = await inheriting(cp);
  for (const { type, pathPart, sample, variables } of Object.values(checkTypes)) {
    if (findAgentType(type) === undefined) continue;
    const own = type === 'PLAYWRIGHT' ? { codeBundlePath: `bundles/${'0'.repeat(64)}.tgz` } : {};
    const path = `/v1/checks/${pathPart}`;
    const { id } = await created(cp, path, {
      ...{ name: type, locations, groupId: group.id, frequency: 10, ...sample, ...own },
      ...(variables === 'all' && { environmentVariables: [{ key: 'OWN', value: 'c' }] }),
    });
    const { body: part } = await cp.api('GET', `/v1/checks/${id}/signed-part?version=7`);
    assert.deepEqual([part.state, part.version], ['NONE', 7]);
    const value = await signText(part.text as string, key);
    const signature = { version: 7, variables: part.variables as string[], value };
    const { body: saved, status } = await cp.api('PUT', `${path}/${id}`, { signature });
    assert.equal(status, 200, JSON.stringify(saved));
    assert.deepEqual([saved.signature, saved.warnings], [signature, undefined]);
    const assigned = await assignment(agent, id);
    assert.deepEqual(assigned.signature, signature);
    assert.equal(signedPartOf(assigned, signature), part.text);
    assert.doesNotMatch(part.text as string, /hidden/);

    // Without a new signature the old one stays, and is said to be of something else.
    const { body: renamed } = await cp.api('PUT', `${path}/${id}`, { name: 'renamed' });
    assert.deepEqual(renamed.signature, signature);
    assert.match(renamed.warnings.join(), /not of what the check is now/);
    const { body: after } = await cp.api('GET', `/v1/checks/${id}/signed-part`);
    assert.deepEqual([after.state, after.version], ['CHANGED', 7]);
    const { body: back } = await cp.api('PUT', `${path}/${id}`, { name: type, muted: true });
    assert.equal(back.warnings, undefined);
    await cp.api('DELETE', `/v1/checks/${id}`);
  }
});

async function assignment(agent: KeyedAgent, checkId: string): Promise<AssignedCheck> {
  const types = Object.keys(checkTypes).filter((type) => findAgentType(type) !== undefined);
  const of = { agentId: agent.id, protocol: protocolVersion };
  const request = checkInOf(of, types, ['2026.04'], ['chromium']);
  const capabilities = { ...request.capabilities, icmp: 'raw', traceroute: true };
  const { body } = await agent.call('check-in', { ...request, capabilities });
  const { upserts } = body as CheckInAnswer;
  const found = upserts.find(({ id }) => id === checkId);
  assert.ok(found !== undefined);
  return found;
}

test('a project carries signatures, and keeps those that it does not name', async () => {
  await using cp = await startTestControlPlane();
  const signature = { version: 1, variables: [], value: 'nonsense' };
  const payload = {
    checkType: 'URL',
    name: 'shop',
    locations,
    request: { url: 'https://a.example' },
  };
  const deploy = async (fields: object) => {
    const resource = { logicalId: 'shop', type: 'check', member: true, payload: fields };
    const project = { logicalId: 'p', name: 'P' };
    const { body, status } = await cp.api('POST', '/next-v2/projects/deploy', {
      ...{ project, sharedFiles: [], resources: [resource] },
    });
    assert.equal(status, 200, JSON.stringify(body));
    return (body.diff as { action: string }[]).map(({ action }) => action);
  };
  assert.deepEqual(await deploy({ ...payload, signature }), ['CREATE']);
  assert.deepEqual(await deploy(payload), []);
  const { body } = await cp.api('GET', '/v1/projects/export');
  const found = (body.resources as { type: string; payload: { signature: unknown } }[]).find(
    ({ type }) => type === 'check',
  );
  assert.deepEqual(found?.payload.signature, signature);
  const { body: checks } = await cp.api('GET', '/v1/checks');
  assert.deepEqual(checks[0].signature, signature);
  const { body: part } = await cp.api('GET', `/v1/checks/${checks[0].id}/signed-part`);
  assert.equal(part.state, 'UNREADABLE');
});
