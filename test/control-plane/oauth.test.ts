// Few share a process: it opens a browser.
/** OAuth clients that get a key by the consent of a person, and those that try to get one otherwise. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { isRegistered, redirectProblem } from '../../control-plane/accounts/decide/redirects.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { openBrowser } from '../support/shared-browser.ts';
import { Browser as Person, insertMember, startPersonSession } from '../support/people.ts';
import { assertPleasant } from '../support/pleasant-page.ts';
import { httpServer } from '../support/servers.ts';
import { TestClock } from '../support/test-clock.ts';
import { TestConsole } from '../support/test-console.ts';

const browser = await openBrowser();

const back = 'https://program.example/back';
const verifier = 'a-verifier-that-only-the-program-knows-0123456789';
const challenge = createHash('sha256').update(verifier).digest('base64url');

async function register(cp: TestControlPlane, body: object = {}) {
  const answer = await fetch(`${cp.url}/oauth/register`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ client_name: 'Editor', redirect_uris: [back], ...body }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

/** A program that was registered, and a code that an owner let it have. */
async function granted(cp: TestControlPlane, role = 'READ_WRITE', person?: Person) {
  const { client_id: clientId = '' } = (await register(cp)).body;
  const asked = { clientId, name: 'Editor', redirectUri: back, codeChallenge: challenge };
  const body = { ...asked, state: 's 1', role };
  const path = '/v1/api-keys/authorizations';
  const answer = await (person?.send('POST', path, body) ?? cp.api('POST', path, body));
  if (answer.status !== 201) return { clientId, answer, code: '' };
  const { redirectTo } = answer.body as { redirectTo: string };
  const { origin, pathname, searchParams } = new URL(redirectTo);
  assert.equal(origin + pathname, back);
  assert.deepEqual([searchParams.get('state'), searchParams.get('iss')], ['s 1', cp.url]);
  return { clientId, answer, code: searchParams.get('code') ?? '' };
}

/** Without `redirect_uri`, as OAuth 2.1 asks. */
async function exchange(cp: TestControlPlane, fields: Record<string, string>) {
  const given = { grant_type: 'authorization_code', code_verifier: verifier };
  const answer = await fetch(`${cp.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...given, ...fields }),
  });
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return { status: answer.status, body: (await answer.json()) as Record<string, string | number> };
}

test('a client of the official SDK gets a key when a person agrees, and no more than that', async () => {
  await using cp = await startTestControlPlane();
  const received = Promise.withResolvers<URLSearchParams>();
  await using program = await httpServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    if (pathname === '/back') received.resolve(searchParams);
    response.end('you can close this page');
  });
  const kept: Record<string, unknown> = {};
  const asked = Promise.withResolvers<URL>();
  const authProvider: OAuthClientProvider = {
    redirectUrl: `${program.url}/back`,
    clientMetadata: { client_name: 'Editor', redirect_uris: [`${program.url}/back`] },
    state: () => 'state of the editor',
    clientInformation: () => kept['client'] as never,
    saveClientInformation: (client) => void (kept['client'] = client),
    tokens: () => kept['tokens'] as never,
    saveTokens: (tokens) => void (kept['tokens'] = tokens),
    redirectToAuthorization: (url) => {
      asked.resolve(url);
    },
    saveCodeVerifier: (given) => void (kept['verifier'] = given),
    codeVerifier: () => kept['verifier'] as string,
  };
  const transport = () =>
    new StreamableHTTPClientTransport(new URL(`${cp.url}/mcp`), { authProvider });
  const first = transport();
  await assert.rejects(new Client({ name: 'a', version: '1' }).connect(first), UnauthorizedError);

  const screens = new TestConsole(cp, browser);
  await using visit = await screens.visit('#/checks');
  const { page } = visit;
  await page.goto((await asked.promise).href);
  await page.getByRole('heading', { name: 'Connect Editor' }).waitFor();
  await assertPleasant(page, 'a program on this computer', 1280, 'connect');
  assert.equal(await page.getByLabel('What it may do').inputValue(), 'READ_ONLY');
  await page.getByRole('button', { name: 'Allow' }).click();
  const answer = await received.promise;
  assert.equal(answer.get('state'), 'state of the editor');
  await first.finishAuth(answer);

  const client = new Client({ name: 'a', version: '1' });
  await client.connect(transport());
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })).isError;
  assert.equal(await call('listChecks', {}), false);
  const body = { name: 'home', request: { url: 'https://a.example/' } };
  assert.equal(await call('createURLMonitor', { body, dryRun: false }), true);
  const { body: keys } = await cp.api('GET', '/v1/api-keys');
  const [made] = (keys as { name: string; role: string; expiresAt: string | null }[]).filter(
    ({ name }) => name === 'Editor',
  );
  assert.equal(made?.role, 'READ_ONLY');
  const livesMs = Date.parse(made.expiresAt ?? '') - Date.now();
  assert.ok(livesMs > 89 * 86_400_000 && livesMs <= 90 * 86_400_000);
});

test('a code is good for its program, once, and for two minutes', async () => {
  const clock = new TestClock(Date.now());
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const { client_id: other = '' } = (await register(cp, { client_name: 'Other' })).body;
  const { code, clientId } = await granted(cp);
  const wrong: Record<string, string>[] = [
    { client_id: other, code },
    { client_id: clientId, code, redirect_uri: `${back}/2` },
    { client_id: clientId, code, code_verifier: verifier.replace('a', 'b') },
    { client_id: clientId, code: `${code}a` },
    { client_id: clientId, code: `v2.${code.slice(3)}` },
    // What is encrypted for something else is no code.
    { client_id: clientId, code: clientId },
  ];
  for (const fields of wrong) {
    const { status, body } = await exchange(cp, fields);
    assert.deepEqual([status, body['error']], [400, 'invalid_grant'], JSON.stringify(fields));
  }
  const all = await Promise.all(
    Array.from({ length: 8 }, () => exchange(cp, { client_id: clientId, code })),
  );
  const made = all.filter(({ status }) => status === 200);
  assert.equal(made.length, 1);
  const [{ body: token } = { body: {} as Record<string, string | number> }] = made;
  assert.deepEqual([token['token_type'], token['expires_in']], ['Bearer', 90 * 86_400]);
  const headers = { authorization: `Bearer ${token['access_token']}` };
  assert.equal((await fetch(`${cp.url}/v1/checks`, { headers })).status, 200);

  const late = await granted(cp);
  clock.advance(120_000);
  const tooLate = await exchange(cp, { client_id: late.clientId, code: late.code });
  assert.equal(tooLate.body['error'], 'invalid_grant');
  for (const [fields, error] of [
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ client_id: 'v1.none' }, 'invalid_client'],
    [{ client_id: `${clientId}a` }, 'invalid_client'],
    [{ client_id: `${clientId}!!!.` }, 'invalid_client'],
    [{ resource: 'https://other.example/mcp' }, 'invalid_target'],
    [{ code_verifier: 'short' }, 'invalid_request'],
    [{ code: '' }, 'invalid_request'],
  ] as const) {
    const { body } = await exchange(cp, { client_id: clientId, code, ...fields });
    assert.equal(body['error'], error);
  }
});

test('nobody gives a program more than they have, also when they lose it meanwhile', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  const { accountId } = cp;
  const member = async (role: 'OWNER' | 'ADMIN' | 'READ_WRITE') => {
    const { id } = await insertMember(services, { accountId, name: role, role });
    const { cookie } = await startPersonSession(services, accountId, id);
    const person = new Person(cp);
    person.cookie = cookie;
    return { id, person };
  };
  // Somebody has to stay.
  await member('OWNER');
  const [admin, editor] = [await member('ADMIN'), await member('READ_WRITE')];
  assert.equal((await granted(cp, 'OWNER', admin.person)).answer.status, 403);
  assert.equal((await granted(cp, 'READ_ONLY', editor.person)).answer.status, 403);
  const { clientId, code } = await granted(cp, 'ADMIN', admin.person);
  await services.db
    .updateTable('memberships')
    .set({ role: 'READ_WRITE' })
    .where('person_id', '=', admin.id)
    .execute();
  const refused = await exchange(cp, { client_id: clientId, code });
  assert.equal(refused.body['error'], 'invalid_grant');
  await services.db
    .updateTable('memberships')
    .set({ role: 'ADMIN' })
    .where('person_id', '=', admin.id)
    .execute();
  const key = (await exchange(cp, { client_id: clientId, code })).body['access_token'];
  const ask = () => cp.api('GET', '/v1/checks', undefined, { authorization: `Bearer ${key}` });
  assert.equal((await ask()).status, 200);
  const open = await granted(cp, 'READ_ONLY', admin.person);
  assert.equal((await cp.api('DELETE', `/v1/people/${admin.id}`)).status, 204);
  assert.equal((await ask()).status, 401);
  const { body: late } = await exchange(cp, { client_id: open.clientId, code: open.code });
  assert.equal(late['error'], 'invalid_grant');
});

test('a person sees the name that was registered, and can refuse', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const redirectUri = `${back}?flag&x=%7Ea%20b`;
  const given = { client_name: 'Edi\u202Etor”', redirect_uris: [redirectUri] };
  const { client_id: clientId = '', client_name: name } = (await register(cp, given)).body;
  assert.equal(name, 'Editor');
  const asked = { clientId, name, redirectUri, codeChallenge: challenge, state: 's 1' };
  const answer = (fields: object) =>
    cp.api('POST', '/v1/api-keys/authorizations', { ...asked, ...fields });
  assert.equal((await answer({ name: 'A better known one' })).status, 400);
  const { body } = await answer({ role: null });
  const iss = encodeURIComponent(cp.url);
  assert.deepEqual(body, {
    redirectTo: `${redirectUri}&error=access_denied&iss=${iss}&state=s+1`,
  });
});

test('what cannot be read is refused, and counts', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = `code=SECRET&${'a&'.repeat(1_200)}`;
  const many = await fetch(`${cp.url}/oauth/token`, { method: 'POST', headers: form, body });
  assert.equal(many.status, 413);
  const headers = { 'content-type': 'application/json' };
  const statuses = new Set<number>();
  for (let index = 0; index < 610; index += 1) {
    const asked = { method: 'POST', headers, body: '{' };
    statuses.add((await fetch(`${cp.url}/oauth/register`, asked)).status);
  }
  assert.deepEqual([...statuses], [400, 429]);
});

test('nobody is sent to an address without a person’s word', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { client_id: clientId = '' } = (await register(cp)).body;
  const ask = async (fields: Record<string, string>) => {
    const query = new URLSearchParams({
      ...{ response_type: 'code', client_id: clientId, redirect_uri: back, state: 's' },
      ...{ code_challenge: challenge, code_challenge_method: 'S256', ...fields },
    });
    const { status, headers } = await fetch(`${cp.url}/oauth/authorize?${query.toString()}`, {
      redirect: 'manual',
    });
    return { status, location: headers.get('location') };
  };
  const { status, location } = await ask({});
  assert.equal(status, 302);
  assert.ok(location?.startsWith(`${cp.url}/console/#/connect?`), String(location));
  for (const fields of [
    { redirect_uri: 'https://evil.example/' },
    { client_id: `${clientId}a` },
    { response_type: 'token' },
    { code_challenge_method: 'plain' },
    { code_challenge: 'short' },
    { state: 's'.repeat(3_000) },
    { resource: 'https://other.example/mcp' },
  ] as Record<string, string>[]) {
    assert.deepEqual(await ask(fields), { status: 400, location: null }, JSON.stringify(fields));
  }
  const refusal = await register(cp, { redirect_uris: ['http://evil.example/'] });
  assert.deepEqual([refusal.status, refusal.body['error']], [400, 'invalid_redirect_uri']);
  // Both ends of the exchange are read by clients that know nothing of this product.
  const unauthorized = await fetch(`${cp.url}/mcp?tags=Checks`, { method: 'POST' });
  const [, metadata = ''] =
    /resource_metadata="(.*)"/.exec(unauthorized.headers.get('www-authenticate') ?? '') ?? [];
  const resource = (await (await fetch(metadata)).json()) as Record<string, unknown>;
  assert.deepEqual(
    [resource['resource'], resource['authorization_servers']],
    [`${cp.url}/mcp?tags=Checks`, [cp.url]],
  );
});

test('addresses of programs: those that only the program receives', () => {
  const rows: [address: string, isGood: boolean][] = [
    ['https://program.example/back?a=1', true],
    ['http://127.0.0.1:3000/back', true],
    ['http://[::1]/back', true],
    ['http://localhost/back', true],
    ['com.example.editor:/back', true],
    ['http://program.example/back', false],
    ['https://program.example/back#a', false],
    ['https://user:word@program.example/', false],
    ['cursor://editor/back', true],
    ['javascript:alert(1)', false],
    ['javascript://127.0.0.1/%0aalert(1)', false],
    ['data:text/html,a.b', false],
    ['file:///etc/passwd', false],
    ['/back', false],
    ['', false],
  ];
  for (const [address, isGood] of rows) {
    assert.equal(redirectProblem(address) === null, isGood, address);
  }
  const pairs: [given: string, registered: string, isSame: boolean][] = [
    ['http://127.0.0.1:4001/back', 'http://127.0.0.1:3000/back', true],
    ['http://127.0.0.1:4001/back', 'http://127.0.0.1/back', true],
    ['http://127.0.0.1:4001/other', 'http://127.0.0.1/back', false],
    ['http://localhost/back', 'http://127.0.0.1/back', false],
    ['https://program.example:444/back', 'https://program.example/back', false],
    ['https://program.example/back/', 'https://program.example/back', false],
  ];
  for (const [given, registered, isSame] of pairs) {
    assert.equal(isRegistered(given, [registered]), isSame, `${given} ${registered}`);
  }
});
