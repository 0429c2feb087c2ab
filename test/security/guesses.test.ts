// SQLite only: tries are counted in memory, and headers are judged before any statement.
/** C1: attacks on the sign-in of people that are ended before they reach a row: guesses, floods, other sites. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Passwords } from '../../control-plane/people/passwords.ts';
import { makeResetLink } from '../../control-plane/people/ask-for-reset.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { mailServer } from '../support/mail-server.ts';
import {
  Browser,
  goodPassword,
  insertMember,
  inviteAs,
  refusalAfter,
  tokenOf,
} from '../support/people.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const email = 'anna@shop.example';

const addAnna = (cp: TestControlPlane) =>
  insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'anna', role: 'OWNER' as const, email },
  });

/** A hash takes 30 ms of a processor. Where many tries are counted, passwords are compared without. */
function withoutHashing(): Disposable {
  const { matches } = Passwords.prototype;
  Passwords.prototype.matches = (password, hash) =>
    Promise.resolve(hash !== null && password === goodPassword);
  return { [Symbol.dispose]: () => (Passwords.prototype.matches = matches) };
}

const withoutRequestId = (body: { attributes: object }) => ({
  ...body,
  attributes: { ...body.attributes, requestId: '' },
});

test('enumeration: an unknown person gets the answer, the limits and the work of a known one', async (t) => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  await addAnna(cp);
  // Work is what is hashed: time is the machine's.
  const hashed: boolean[] = [];
  const { matches } = Passwords.prototype;
  t.mock.method(
    Passwords.prototype,
    'matches',
    async function (this: Passwords, given: string, hash: string | null) {
      hashed.push(hash !== null);
      return matches.call(this, given, hash);
    },
  );
  const answersFor = async (address: string) => {
    const answers = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const { status, body, headers } = await new Browser(cp).signIn(address, 'a wrong password');
      answers.push([status, withoutRequestId(body), [...headers.keys()].sort()]);
    }
    return answers;
  };
  const known = await answersFor(email);
  clock.advance(900_000);
  const unknown = await answersFor('nobody@shop.example');
  assert.deepEqual(known, unknown);
  assert.deepEqual(hashed, [...Array(10).fill(true), ...Array(10).fill(false)]);
  assert.deepEqual(
    known.map(([status]) => status),
    [...Array(10).fill(401), 429, 429],
  );
});

test('enumeration: asking for a reset answers the same, and mails only who is there', async () => {
  const clock = new TestClock(start);
  await using smtp = await mailServer();
  await using cp = await startTestControlPlane({
    ...{ clock, settings: { SMTP_URL: smtp.url, TRUSTED_PROXIES: '127.0.0.1' } },
  });
  await addAnna(cp);
  await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'ben', role: 'OWNER' as const, email: 'ben@shop.example' },
  });
  let host = 0;
  const ask = async (address: string) => {
    host += 1;
    const answer = await new Browser(cp).send(
      ...(['POST', '/console/session/reset', { email: address }] as const),
      { 'x-forwarded-for': `192.0.2.${host}` },
    );
    return [answer.status, [...answer.headers.keys()].sort()];
  };
  assert.deepEqual(await ask('nobody@shop.example'), await ask(email));
  await smtp.mailTo(email, /Reset/);
  assert.equal(smtp.received.length, 1);
  const first = await smtp.mailTo(email, /Reset/);
  const ofOperator = (await makeResetLink(cp.controlPlane.services, 'ben@shop.example')) ?? '';
  // A stranger who asks in the name of a person neither floods the person with mails nor shuts them out.
  for (let more = 0; more < 4; more += 1)
    assert.deepEqual(await ask(email), await ask('x@y.example'));
  await ask('ben@shop.example');
  await smtp.mailTo('ben@shop.example', /Reset/);
  assert.ok(smtp.received.length <= 4, `${smtp.received.length} mails`);
  const { db } = cp.controlPlane.services;
  const links = await db.selectFrom('person_links').select('email').execute();
  assert.ok(links.filter((link) => link.email === email).length <= 3);
  const password = 'another long sentence';
  for (const link of [first, ofOperator]) {
    assert.equal((await new Browser(cp).accept(link, { password })).status, 200);
  }
});

test('brute force: guesses about one person end soon, and do not keep the person out at other addresses', async () => {
  using _quick = withoutHashing();
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({
    clock,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  await addAnna(cp);
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = async (address: string) => {
    const body = { email, password: 'wrong wrong wrong' };
    return (await new Browser(cp).send('POST', '/console/session', body, from(address))).status;
  };
  const statuses = [];
  for (let attempt = 0; attempt < 11; attempt += 1) statuses.push(await guess('192.0.2.1'));
  assert.deepEqual(statuses, [...Array(10).fill(401), 429]);
  const own = await new Browser(cp).send(
    ...([
      'POST',
      '/console/session',
      { email, password: goodPassword },
      from('192.0.2.2'),
    ] as const),
  );
  assert.equal(own.status, 204);
  // From many addresses at once: a bounded number in all.
  let tried = 0;
  for (let host = 10; host < 30; host += 1) {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      if ((await guess(`198.51.100.${host}`)) === 401) tried += 1;
    }
  }
  assert.equal(tried, 100 - 10);
});

test('lock-out: strangers who use up all tries do not lock out a browser that has signed in before', async () => {
  using _quick = withoutHashing();
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({
    clock,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  const { services } = cp.controlPlane;
  await addAnna(cp);
  await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'ben', role: 'OWNER' as const, email: 'ben@shop.example' },
  });
  const own = new Browser(cp);
  await own.signIn(email);
  assert.match(own.device, /^console_device\w*=v1\./);
  await own.send('DELETE', '/console/session');
  clock.advance(900_000);
  const attempt = async (browser: Browser, host: number, password: string, address = email) => {
    const headers = { 'x-forwarded-for': `192.0.2.${host}` };
    const body = { email: address, password };
    return (await browser.send('POST', '/console/session', body, headers)).status;
  };
  // The same address as the owner's is among them: an office behind one proxy.
  for (let host = 1; host <= 10; host += 1) {
    for (let guess = 0; guess < 10; guess += 1) await attempt(new Browser(cp), host, 'wrong');
  }
  for (let guess = 0; guess < 30; guess += 1) {
    await attempt(new Browser(cp), 1, 'wrong', `nobody${guess}@x.example`);
  }
  assert.equal(await attempt(new Browser(cp), 99, goodPassword), 429);
  assert.equal(await attempt(own, 1, goodPassword), 204);
  // A device has few tries, too, and those of one person alone.
  const thief = new Browser(cp);
  thief.device = own.device;
  const statuses = [];
  for (let guess = 0; guess < 11; guess += 1) statuses.push(await attempt(thief, 50, 'wrong'));
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
  const forged = new Browser(cp);
  forged.device = `${own.device.slice(0, -4)}AAAA`;
  assert.equal(await attempt(forged, 51, goodPassword), 429);
  assert.equal(await attempt(thief, 52, 'wrong', 'ben@shop.example'), 401);
  for (let guess = 0; guess < 9; guess += 1) await attempt(thief, 52, 'wrong', 'ben@shop.example');
  assert.equal(await attempt(thief, 52, goodPassword, 'ben@shop.example'), 429);
});

test('lock-out: strangers behind the same address shut out no passkeys, providers or links', async () => {
  await using cp = await startTestControlPlane({
    ...{ clock: new TestClock(start) },
    settings: { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'monitor' },
  });
  await addAnna(cp);
  const own = new Browser(cp);
  await own.signIn(email);
  const invitation = await inviteAs(own, 'ben@shop.example', 'READ_ONLY');
  const ask = async (browser: Browser, path: string, body: object = {}) =>
    (await browser.send('POST', `/console/session${path}`, body)).status;
  const begin = async (browser: Browser) => {
    const answer = await fetch(`${cp.url}/console/session/oidc`, {
      ...{ redirect: 'manual', headers: { cookie: browser.device } },
    });
    return refusalAfter(cp.url, answer);
  };
  const passkey = {
    passkey: {
      ...{ id: 'AAAA', rawId: 'AAAA', type: 'public-key', clientExtensionResults: {} },
      response: { clientDataJSON: 'AA', authenticatorData: 'AA', signature: 'AA' },
    },
  };
  const wrongLink = { token: 'A'.repeat(43) };
  const stranger = new Browser(cp);
  for (let number = 0; number < 35; number += 1) {
    await ask(stranger, '/passkey/options');
    await ask(stranger, '/passkey', passkey);
    await ask(stranger, '/link', wrongLink);
    await ask(stranger, '/link/accept', wrongLink);
    await begin(stranger);
  }
  const many = /too many attempts/;
  assert.deepEqual(
    [
      await ask(stranger, '/passkey/options'),
      await ask(stranger, '/passkey', passkey),
      await ask(stranger, '/link', wrongLink),
      await ask(stranger, '/link/accept', wrongLink),
    ],
    [429, 429, 429, 429],
  );
  assert.match(await begin(stranger), many);
  // Passkeys need a host name, which this one has not: it was asked at least.
  assert.deepEqual(
    [await ask(own, '/passkey/options'), await ask(own, '/passkey', passkey)],
    [409, 409],
  );
  assert.match(await begin(own), /could not be asked/);
  const ben = new Browser(cp);
  assert.equal(await ask(ben, '/link', { token: tokenOf(invitation) }), 200);
  const joined = await ben.accept(invitation, { name: 'Ben', password: goodPassword });
  assert.equal(joined.status, 200);
  assert.equal((await new Browser(cp).signIn(email)).status, 204);
  // A known device has its own limit, no pass.
  const statuses = new Set<number>();
  for (let number = 0; number < 30; number += 1) statuses.add(await ask(own, '/passkey/options'));
  assert.deepEqual([...statuses], [409, 429]);
});

test('right sign-ins are no guesses: they use up no tries', async () => {
  using _quick = withoutHashing();
  await using cp = await startTestControlPlane({
    ...{ clock: new TestClock(start), settings: { TRUSTED_PROXIES: '127.0.0.1' } },
  });
  await addAnna(cp);
  let host = 0;
  const attempt = async (password: string, device = '') => {
    host += 1;
    const browser = new Browser(cp);
    browser.device = device;
    const headers = { 'x-forwarded-for': `192.0.2.${device === '' ? 1 : host}` };
    const body = { email, password };
    const { status } = await browser.send('POST', '/console/session', body, headers);
    return { status, device: browser.device };
  };
  const { device } = await attempt(goodPassword);
  for (const known of ['', device]) {
    const statuses = [];
    for (let number = 0; number < 12; number += 1) {
      statuses.push((await attempt(goodPassword, known)).status);
    }
    assert.deepEqual(statuses, Array(12).fill(204));
    for (let number = 0; number < 10; number += 1) {
      assert.equal((await attempt('wrong', known)).status, 401);
    }
    assert.equal((await attempt(goodPassword, known)).status, 429);
  }
});

test('guesses in an open session, and at an invitation, are few in all and stand in the audit log', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { services } = cp.controlPlane;
  const { id } = await addAnna(cp);
  const thief = new Browser(cp);
  await thief.signIn(email);
  const me = '/v1/users/me';
  const guess = (password: string) =>
    [
      [
        'PUT',
        `${me}/password`,
        { currentPassword: password, newPassword: 'mallory knows this one' },
      ],
      ['POST', `${me}/second-factor`, { password }],
      ['POST', `${me}/second-factor/removal`, { password, code: '000000' }],
      ['POST', `${me}/passkeys/options`, { password }],
      ['POST', `${me}/passkeys/x/removal`, { password }],
    ] as const;
  const statuses = [];
  for (let round = 0; round < 2; round += 1) {
    for (const [method, path, body] of guess('wrong')) {
      statuses.push((await thief.send(method, path, body)).status);
    }
  }
  assert.deepEqual(statuses, Array(10).fill(400));
  for (const [method, path, body] of guess(goodPassword)) {
    assert.equal((await thief.send(method, path, body)).status, 429, path);
  }
  const refusals = async (accountId: string) =>
    services.db
      .selectFrom('audit_log')
      .select(['operation', 'actor_name as name', 'address'])
      .where('account_id', '=', accountId)
      .where('outcome', '=', 'REFUSED')
      .orderBy('seq')
      .execute();
  const noted = await refusals(cp.accountId);
  const operations = ['changeMyPassword', 'beginMySecondFactor', 'removeMySecondFactor'];
  const all = [...operations, 'beginMyPasskey', 'removeMyPasskey'];
  assert.deepEqual(
    noted.map(({ operation }) => operation),
    [...all, ...all],
  );
  assert.equal(noted[0]?.name, `anna <${email}>`);
  assert.match(noted[0].address ?? '', /127\.0\.0\.1/);
  // In the account of the person whose password is guessed.
  const other = services.newId();
  await services.db
    .insertInto('accounts')
    .values({ id: other, name: 'Zoo', created_at: start })
    .execute();
  const zoe = await insertMember(services, { accountId: other, name: 'zoe', role: 'OWNER' });
  const ofZoo = new Browser(cp);
  await ofZoo.signIn(zoe.email);
  const link = await inviteAs(ofZoo, email, 'READ_ONLY');
  assert.equal((await new Browser(cp).accept(link, { password: 'wrong' })).status, 401);
  const [last] = (await refusals(cp.accountId)).slice(-1);
  assert.deepEqual([last?.operation, last?.name], ['acceptInvitation', email]);
  assert.equal((await new Browser(cp).accept(link, { password: goodPassword })).status, 200);
  const sessions = services.db.selectFrom('console_sessions').where('person_id', '=', id);
  assert.equal((await sessions.select('id').execute()).length, 2);
});

test('noise: guesses about one person, or about nobody, hide no refusal of another from the audit log', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({
    clock,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  await addAnna(cp);
  let host = 0;
  const guess = async (address: string) => {
    host += 1;
    const headers = { 'x-forwarded-for': `10.1.${host >> 8}.${host & 255}` };
    const body = { email: address, password: 'wrong' };
    await new Browser(cp).send('POST', '/console/session', body, headers);
  };
  using _quick = withoutHashing();
  for (let one = 0; one < 610; one += 1) await guess(`nobody${one}@x.example`);
  await guess(email);
  const log = await cp.api('GET', '/v1/audit-log?operation=signIn&outcome=REFUSED&limit=100');
  assert.equal(log.body.entries[0].actor.name, email);
  const rows = await cp.controlPlane.services.db.selectFrom('audit_log').select('id').execute();
  assert.equal(rows.length, 601);
});

test('signing out is limited', async () => {
  await using cp = await startTestControlPlane();
  const statuses = new Set<number>();
  for (let attempt = 0; attempt < 301; attempt += 1) {
    statuses.add((await new Browser(cp).send('DELETE', '/console/session')).status);
  }
  assert.deepEqual([...statuses], [204, 429]);
});

test('fixation: a sign-in makes a new session and ends the one the browser came with', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  await addAnna(cp);
  await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'eve', role: 'READ_ONLY' as const, email: 'eve@x.example' },
  });
  const eve = new Browser(cp);
  await eve.signIn('eve@x.example');
  const planted = eve.cookie;
  const victim = new Browser(cp);
  victim.cookie = planted;
  await victim.signIn(email);
  assert.notEqual(victim.cookie, planted);
  assert.equal(await victim.name(), 'anna');
  assert.equal(await eve.name(), null);
  // A made-up token is never taken over.
  const forged = new Browser(cp);
  forged.cookie = `${planted.split('=')[0]}=${'A'.repeat(43)}`;
  await forged.signIn(email);
  assert.ok(!forged.cookie.endsWith('A'.repeat(43)));
});

test('CSRF: no other site signs in, out, accepts a link or changes a profile', async () => {
  await using cp = await startTestControlPlane();
  await addAnna(cp);
  const browser = new Browser(cp);
  await browser.signIn(email);
  for (const foreign of [
    { origin: 'https://attacker.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const send = async (method: string, path: string, body?: unknown) =>
      (await browser.send(method, path, body, foreign)).status;
    assert.equal(await send('POST', '/console/session', { email, password: goodPassword }), 403);
    assert.equal(await send('DELETE', '/console/session'), 403);
    assert.equal(await send('POST', '/console/session/reset', { email }), 403);
    assert.equal(await send('POST', '/console/session/link', { token: 'x' }), 403);
    assert.equal(await send('POST', '/console/session/link/accept', { token: 'x' }), 403);
    assert.equal(await send('PUT', '/v1/users/me', { name: 'hacked' }), 401);
    assert.equal(await send('POST', '/v1/invitations', { email: 'eve@x.example' }), 401);
  }
  const form = await fetch(`${cp.url}/v1/users/me`, {
    ...{ method: 'PUT', body: 'name=hacked' },
    headers: { cookie: browser.cookie, 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(form.status, 401);
  assert.equal(await browser.name(), 'anna');
  assert.match(browser.setCookie, /HttpOnly; SameSite=Strict/);
});
