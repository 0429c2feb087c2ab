/** C1: attacks on the sign-in of people and on their sessions and links. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  previousTokenMs,
  rotateAfterMs,
} from '../../control-plane/accounts/keys/console-sessions.ts';
import { rememberKeysMs } from '../../control-plane/accounts/keys/store.ts';
import { addressOfLink, makeLink } from '../../control-plane/people/links.ts';
import { type Identity, joinByIdentity } from '../../control-plane/people/join-by-identity.ts';
import { Passwords } from '../../control-plane/people/passwords.ts';
import { mailResetLink, makeResetLink } from '../../control-plane/people/ask-for-reset.ts';
import { RateLimiter } from '../../control-plane/http/rate-limit.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import {
  Browser,
  codeAt,
  goodPassword,
  insertMember,
  inviteAs,
  startPersonSession,
  tokenOf,
} from '../support/people.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const email = 'anna@shop.example';

const addAnna = (cp: TestControlPlane) =>
  insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'anna', role: 'OWNER' as const, email },
  });

test('strangers void no reset: three links of a person live at once, and all of them work', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  await addAnna(cp);
  const { id: benId } = await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'ben', role: 'OWNER' as const, email: 'ben@shop.example' },
  });
  const deps = {
    ...{ ...services, passwords: new Passwords(), canMail: true, forget: () => undefined },
    attempts: new RateLimiter(() => 0),
  };
  const ofOperator = (await makeResetLink(services, email)) ?? '';
  await Promise.all(Array.from({ length: 5 }, () => mailResetLink(deps, email)));
  const links = await services.db.selectFrom('person_links').select('email').execute();
  assert.deepEqual(links, Array(3).fill({ email }));
  await services.db
    .updateTable('people')
    .set({ password_hash: null })
    .where('id', '=', benId)
    .execute();
  await mailResetLink(deps, 'ben@shop.example');
  const done = await new Browser(cp).accept(ofOperator, { password: 'another long sentence' });
  assert.equal(done.status, 200);
  assert.deepEqual(await services.db.selectFrom('person_links').select('email').execute(), []);
});

test('race: a sign-in with the old password has no session after a reset that overtook it', async (t) => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  await addAnna(cp);
  const link = (await makeResetLink(services, email)) ?? '';
  const password = 'another long sentence';
  const { matches } = Passwords.prototype;
  let isFirst = true;
  t.mock.method(
    Passwords.prototype,
    'matches',
    async function (this: Passwords, given: string, hash: string | null) {
      const isRight = await matches.call(this, given, hash);
      // The old password was right, and the answer is on its way.
      if (isFirst) {
        isFirst = false;
        assert.equal((await new Browser(cp).accept(link, { password })).status, 200);
      }
      return isRight;
    },
  );
  const late = new Browser(cp);
  assert.equal((await late.signIn(email)).status, 401);
  assert.equal(await late.name(), null);
  const rows = await services.db.selectFrom('console_sessions').select('id').execute();
  assert.deepEqual(rows, []);
  assert.equal((await new Browser(cp).signIn(email, password)).status, 204);
});

test('race: what asks for the password has no effect after a reset that overtook it', async (t) => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { id } = await addAnna(cp);
  const factor = '/v1/users/me/second-factor';
  const { matches } = Passwords.prototype;
  let overtake: (() => Promise<void>) | null = null;
  t.mock.method(
    Passwords.prototype,
    'matches',
    async function (this: Passwords, given: string, hash: string | null) {
      const isRight = await matches.call(this, given, hash);
      const next = overtake;
      overtake = null;
      await next?.();
      return isRight;
    },
  );
  let present = goodPassword;
  for (const [name, prepare, send] of [
    [
      'the password',
      async () => {},
      (thief: Browser) =>
        thief.send('PUT', '/v1/users/me/password', {
          ...{ currentPassword: present, newPassword: 'the thief knows this one' },
        }),
    ],
    [
      'an app',
      async () => {},
      (thief: Browser) => thief.send('POST', factor, { password: present }),
    ],
    [
      'a removal',
      async () => {
        await services.db
          .insertInto('passkeys')
          .values({
            ...{ id: 'p', person_id: id, credential_id: 'c', public_key: 'AA', counter: 0 },
            ...{ name: 'Laptop', created_at: start },
          })
          .execute();
      },
      (thief: Browser) =>
        thief.send('POST', '/v1/users/me/passkeys/p/removal', { password: present }),
    ],
  ] as const) {
    const thief = new Browser(cp);
    assert.equal((await thief.signIn(email, present)).status, 204);
    await prepare();
    const link = (await makeResetLink(services, email)) ?? '';
    const next = `after the reset of ${name}`;
    overtake = async () => {
      assert.equal((await new Browser(cp).accept(link, { password: next })).status, 200);
    };
    assert.equal((await send(thief)).status, 401, name);
    present = next;
    const { password_hash: hash } = await services.db
      .selectFrom('people')
      .select('password_hash')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    assert.ok(await new Passwords().matches(present, hash), name);
  }
  assert.deepEqual(await services.db.selectFrom('person_totp').selectAll().execute(), []);
  assert.equal((await services.db.selectFrom('passkeys').select('id').execute()).length, 1);
});

test('an app that was begun with an older password, or in a session that has ended, is not confirmed', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { id } = await addAnna(cp);
  const browser = new Browser(cp);
  await browser.signIn(email);
  const factor = '/v1/users/me/second-factor';
  const begin = async (password: string) => {
    const { body } = await browser.send('POST', factor, { password });
    return codeAt((body as { secret: string }).secret, clock.now());
  };
  const old = await begin(goodPassword);
  const newPassword = 'another long sentence';
  const change = { currentPassword: goodPassword, newPassword };
  assert.equal((await browser.send('PUT', '/v1/users/me/password', change)).status, 204);
  assert.equal((await browser.send('PUT', factor, { code: old })).status, 409);
  const code = await begin(newPassword);
  // This process remembers the session for a moment.
  assert.equal(await browser.name(), 'anna');
  await services.db.deleteFrom('console_sessions').where('person_id', '=', id).execute();
  assert.equal((await browser.send('PUT', factor, { code })).status, 401);
});

test('invitations end with the rights of who made them', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  await addAnna(cp);
  const anna = new Browser(cp);
  await anna.signIn(email);
  const add = async (name: string, role: 'OWNER' | 'ADMIN') => {
    const { id } = await insertMember(services, {
      ...{ accountId: cp.accountId, name, role, email: `${name}@shop.example` },
    });
    const browser = new Browser(cp);
    await browser.signIn(`${name}@shop.example`);
    return { id, browser };
  };
  const invite = async (browser: Browser, name: string, role: string) => {
    const body = { email: `${name}@x.example`, role };
    const answer = await browser.send('POST', '/v1/invitations', body);
    assert.equal(answer.status, 201);
    return answer.body as { id: string; link: string };
  };
  const statusOf = async ({ link }: { link: string }) =>
    (await new Browser(cp).send('POST', '/console/session/link', { token: tokenOf(link) })).status;
  const ben = await add('ben', 'OWNER');
  const asOwner = await invite(ben.browser, 'o', 'OWNER');
  const asAdmin = await invite(ben.browser, 'a', 'ADMIN');
  const ofAnna = await invite(anna, 'other', 'OWNER');
  const open = async () =>
    (await anna.send('GET', '/v1/invitations')).body.map(({ id }: { id: string }) => id).sort();
  await anna.send('PUT', `/v1/people/${ben.id}`, { role: 'ADMIN' });
  assert.deepEqual([await statusOf(asOwner), await statusOf(asAdmin)], [404, 200]);
  assert.deepEqual(await open(), [asAdmin.id, ofAnna.id].sort());
  await anna.send('PUT', `/v1/people/${ben.id}`, { role: 'READ_WRITE' });
  assert.deepEqual([await statusOf(asAdmin), await statusOf(ofAnna)], [404, 200]);
  const cleo = await add('cleo', 'ADMIN');
  const ofCleo = await invite(cleo.browser, 'c', 'READ_ONLY');
  await anna.send('DELETE', `/v1/people/${cleo.id}`);
  assert.equal(await statusOf(ofCleo), 404);
  const key = await cp.api('POST', '/v1/api-keys', { name: 'robot', role: 'ADMIN' });
  const { body: ofKey } = await cp.api(
    ...(['POST', '/v1/invitations', { email: 'k@x.example' }] as const),
    { authorization: `Bearer ${key.body.rawKey}` },
  );
  assert.equal(await statusOf(ofKey as { link: string }), 200);
  await cp.api('DELETE', `/v1/api-keys/${key.body.id}`);
  assert.equal(await statusOf(ofKey as { link: string }), 404);
  assert.deepEqual(await open(), [ofAnna.id]);
});

test('nobody revokes or replaces an invitation to a role above their own', async () => {
  await using cp = await startTestControlPlane();
  await addAnna(cp);
  const anna = new Browser(cp);
  await anna.signIn(email);
  await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'ben', role: 'ADMIN' as const, email: 'ben@shop.example' },
  });
  const ben = new Browser(cp);
  await ben.signIn('ben@shop.example');
  const invite = (browser: Browser, role: string) =>
    browser.send('POST', '/v1/invitations', { email: 'boss@x.example', role });
  const { id } = (await invite(anna, 'OWNER')).body as { id: string };
  assert.equal((await ben.send('DELETE', `/v1/invitations/${id}`)).status, 403);
  assert.equal((await invite(ben, 'READ_ONLY')).status, 403);
  const open = (await anna.send('GET', '/v1/invitations')).body as { id: string }[];
  assert.deepEqual(
    open.map((one) => one.id),
    [id],
  );
  assert.equal((await anna.send('DELETE', `/v1/invitations/${id}`)).status, 204);
});

/** Signs in with a provider that has verified the address. */
const joinAs = (
  cp: TestControlPlane,
  address: string,
  { roles = [], ...of }: Partial<Identity> & { roles?: Parameters<typeof joinByIdentity>[2] } = {},
) =>
  joinByIdentity(
    { ...cp.controlPlane.services, forget: () => undefined },
    {
      ...{ issuer: 'https://id.example', subject: address, name: 'Somebody', email: address },
      ...{ isEmailVerified: true, groups: [], ...of },
    },
    roles,
  );

test('taken before: who sets up the address of somebody else loses it to the owner of the address', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  await addAnna(cp);
  const anna = new Browser(cp);
  await anna.signIn(email);
  const boss = 'boss@shop.example';
  // Without a mail server the link is in the answer: who invites can answer it.
  const mallory = new Browser(cp);
  const password = 'mallory knows this one';
  const answer = { name: 'Boss', password };
  assert.equal((await mallory.accept(await inviteAs(anna, boss, 'READ_ONLY'), answer)).status, 200);
  const path = '/v1/users/me/second-factor';
  const { secret } = (await mallory.send('POST', path, { password })).body as { secret: string };
  const code = codeAt(secret, clock.now());
  assert.equal((await mallory.send('PUT', path, { code })).status, 200);
  const reset = (await makeResetLink(services, boss)) ?? '';
  const roles = [{ group: 'bosses', role: 'OWNER' as const }];
  const joined = await joinAs(cp, boss, { groups: ['bosses'], roles });
  assert.equal(joined.hasLostPassword, true);
  clock.advance(rememberKeysMs);
  assert.equal(await mallory.name(), null);
  assert.equal((await new Browser(cp).signIn(boss, password)).status, 401);
  assert.equal((await new Browser(cp).accept(reset, { password })).status, 404);
  for (const table of ['person_totp', 'recovery_codes', 'passkeys'] as const) {
    const rows = await services.db.selectFrom(table).select('person_id').execute();
    assert.deepEqual(rows, [], table);
  }
  // What an operator gives afterwards stays.
  const later = (await makeResetLink(services, boss)) ?? '';
  await new Browser(cp).accept(later, { password: goodPassword });
  const again = await joinAs(cp, boss, { groups: ['bosses'], roles });
  assert.deepEqual([again.personId, again.hasLostPassword], [joined.personId, false]);
  assert.equal((await new Browser(cp).signIn(boss)).status, 204);
});

test('an old invitation is no way back for somebody who was removed', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  await addAnna(cp);
  const anna = new Browser(cp);
  await anna.signIn(email);
  const carl = 'carl@shop.example';
  const answer = { name: 'Carl', password: 'carl comes back again' };
  const comesBackBy = async (link: string) =>
    (await new Browser(cp).accept(link, answer)).status !== 404;
  const link = await inviteAs(anna, carl, 'ADMIN');
  const roles = [{ group: 'ops', role: 'READ_RUN' as const }];
  const { personId } = await joinAs(cp, carl, { groups: ['ops'], roles });
  // As a replica of an older build leaves it.
  const { token } = await makeLink(services, {
    ...{ kind: 'INVITATION', accountId: cp.accountId, personId: null },
    ...{ email: carl, role: 'ADMIN', madeBy: 'anna' },
  });
  assert.equal((await anna.send('DELETE', `/v1/people/${personId}`)).status, 204);
  assert.equal(await comesBackBy(link), false);
  assert.equal(await comesBackBy(addressOfLink(cp.url, 'INVITATION', token)), false);
});

test('who signs in with a provider alone accepts invitations by that, of a verified address', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  await addAnna(cp);
  const anna = new Browser(cp);
  await anna.signIn(email);
  const other = services.newId();
  await services.db
    .insertInto('accounts')
    .values({ id: other, name: 'Zoo', created_at: services.clock.now() })
    .execute();
  const zoe = await insertMember(services, { accountId: other, name: 'zoe', role: 'OWNER' });
  const ofZoo = new Browser(cp);
  await ofZoo.signIn(zoe.email);
  const boss = 'boss@shop.example';
  const accountsOf = async (personId: string) =>
    (
      await services.db
        .selectFrom('memberships')
        .innerJoin('accounts', 'accounts.id', 'memberships.account_id')
        .select(['accounts.name', 'memberships.role'])
        .where('person_id', '=', personId)
        .orderBy('accounts.name')
        .execute()
    ).map(({ name, role }) => `${name} ${role}`);
  await assert.rejects(joinAs(cp, boss), /you have no account here/);
  await inviteAs(anna, boss, 'READ_RUN');
  await assert.rejects(joinAs(cp, boss, { isEmailVerified: false }), /not verified/);
  const { personId } = await joinAs(cp, boss);
  assert.deepEqual(await accountsOf(personId), ['Main account READ_RUN']);
  // Of another account, once the person is known; the page of the link says what to do.
  const link = await inviteAs(ofZoo, boss, 'ADMIN');
  const byLink = await new Browser(cp).accept(link, { name: 'B', password: goodPassword });
  assert.match(String(byLink.body.message), /sign in there, and the invitation is accepted/);
  await joinAs(cp, boss, { isEmailVerified: false });
  assert.deepEqual(await accountsOf(personId), ['Main account READ_RUN']);
  // Nor is it that of another address which the provider gives them.
  await joinAs(cp, 'other@shop.example', { subject: boss });
  await joinAs(cp, boss);
  assert.deepEqual(await accountsOf(personId), ['Main account READ_RUN', 'Zoo ADMIN']);
  const links = await services.db.selectFrom('person_links').select('id').execute();
  assert.deepEqual(links, []);
  // Where groups decide, an invitation does not.
  await inviteAs(anna, 'eve@x.example', 'ADMIN');
  const roles = [{ group: 'ops', role: 'READ_RUN' as const }];
  await assert.rejects(joinAs(cp, 'eve@x.example', { roles }), /you have no account here/);
});

test('the keys of somebody who was removed are revoked, and the list says who made each', async () => {
  await using cp = await startTestControlPlane();
  await addAnna(cp);
  const anna = new Browser(cp);
  await anna.signIn(email);
  const roles = [{ group: 'ops', role: 'ADMIN' as const }];
  const add = async (name: string) => {
    const address = `${name}@shop.example`;
    const { personId } = await joinAs(cp, address, { name, groups: ['ops'], roles });
    const { cookie } = await startPersonSession(
      ...([cp.controlPlane.services, cp.accountId, personId] as const),
    );
    const browser = new Browser(cp);
    browser.cookie = cookie;
    const made = await browser.send('POST', '/v1/api-keys', { name: `of ${name}`, role: 'ADMIN' });
    assert.deepEqual([made.status, made.body.madeBy], [201, name]);
    return { address, personId, authorization: `Bearer ${made.body.rawKey}` };
  };
  const works = async ({ authorization }: { authorization: string }) =>
    (await cp.api('GET', '/v1/checks', undefined, { authorization })).status === 200;
  const [ben, cleo, dora] = [await add('ben'), await add('cleo'), await add('dora')];
  const { authorization } = ben;
  const { body } = await cp.api('POST', '/v1/api-keys', { name: 'by key' }, { authorization });
  const byKey = { authorization: `Bearer ${body.rawKey}` };
  const makers = async () =>
    (await anna.send('GET', '/v1/api-keys')).body.map(
      ({ name, madeBy }: { name: string; madeBy: string | null }) => `${name}: ${madeBy}`,
    );
  assert.deepEqual((await makers()).sort(), [
    ...['by key: null', 'of ben: ben', 'of cleo: cleo', 'of dora: dora', 'test: null'],
  ]);
  assert.equal((await anna.send('DELETE', `/v1/people/${ben.personId}`)).status, 204);
  assert.deepEqual([await works(ben), await works(byKey), await works(dora)], [false, true, true]);
  await assert.rejects(joinAs(cp, cleo.address, { groups: [], roles }), /no account here/);
  assert.deepEqual((await makers()).sort(), ['by key: null', 'of dora: dora', 'test: null']);
});

test('race: who was demoted or revoked a moment ago grants nothing in a call that was let in before', async () => {
  await using cp = await startTestControlPlane({ clock: new TestClock(start) });
  const { services } = cp.controlPlane;
  const { db } = services;
  await addAnna(cp);
  const { id: readerId } = await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'reader', role: 'READ_ONLY' as const },
  });
  const { id: benId } = await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'ben', role: 'ADMIN' as const, email: 'ben@shop.example' },
  });
  const ben = new Browser(cp);
  await ben.signIn('ben@shop.example');
  const made = await ben.send('POST', '/v1/api-keys', { name: 'first', role: 'ADMIN' });
  const key = made.body as { id: string; rawKey: string };
  const byKey = { authorization: `Bearer ${key.rawKey}` };
  assert.equal((await cp.api('GET', '/v1/api-keys', undefined, byKey)).status, 200);
  // Replicas remember roles and keys for a moment.
  const memberships = db.updateTable('memberships').where('person_id', '=', benId);
  await memberships.set({ role: 'READ_ONLY' }).execute();
  await db.updateTable('api_keys').set({ revoked_at: 1 }).where('id', '=', key.id).execute();
  const calls = [
    ['POST', '/v1/api-keys', { name: 'second', role: 'ADMIN' }],
    ['PUT', `/v1/people/${readerId}`, { role: 'ADMIN' }],
    ['DELETE', `/v1/people/${readerId}`, undefined],
    ['POST', '/v1/invitations', { email: 'eve@x.example', role: 'ADMIN' }],
  ] as const;
  for (const [method, path, body] of calls) {
    assert.equal((await ben.send(method, path, body)).status, 403, `${method} ${path}`);
    assert.equal((await cp.api(method, path, body, byKey)).status, 403, `${method} ${path}`);
  }
  await db.updateTable('api_keys').set({ revoked_at: null }).where('id', '=', key.id).execute();
  for (const [method, body] of [['PUT', { name: 'x' }] as const, ['DELETE'] as const]) {
    const { status } = await ben.send(method, `/v1/api-keys/${key.id}`, body);
    assert.equal(status, 403, method);
  }
  assert.equal((await ben.send('GET', '/v1/people')).status, 200, 'it was let in');
});

test('a stolen cookie dies when the owner uses the console, changes the password or ends it', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  await addAnna(cp);
  const browser = new Browser(cp);
  const thief = new Browser(cp);
  const steal = async () => {
    await browser.signIn(email, goodPassword, { isKept: true });
    thief.cookie = browser.cookie;
    assert.equal(await thief.name(), 'anna');
  };
  await steal();
  clock.advance(rotateAfterMs);
  await browser.send('GET', '/console/session');
  clock.advance(previousTokenMs + rememberKeysMs);
  assert.deepEqual([await browser.name(), await thief.name()], ['anna', null]);
  await steal();
  const mine = new Browser(cp);
  await mine.signIn(email);
  const newPassword = 'another long sentence';
  const body = { currentPassword: goodPassword, newPassword };
  assert.equal((await mine.send('PUT', '/v1/users/me/password', body)).status, 204);
  assert.equal(await thief.name(), null);
});

test('replay: a link works once, also when it is used twice at the same time', async () => {
  await using cp = await startTestControlPlane();
  await addAnna(cp);
  const browser = new Browser(cp);
  await browser.signIn(email);
  const { body } = await browser.send('POST', '/v1/invitations', { email: 'ben@shop.example' });
  const { link } = body as { link: string };
  const answers = await Promise.all(
    ['Ben', 'Eve'].map((name) =>
      new Browser(cp).accept(link, { name, password: `${name} has a long password` }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  const rows = await cp.controlPlane.services.db.selectFrom('person_links').selectAll().execute();
  assert.deepEqual(rows, []);
});

test('the database has neither passwords nor tokens of sessions and links', async () => {
  await using cp = await startTestControlPlane();
  const { db } = cp.controlPlane.services;
  await addAnna(cp);
  const browser = new Browser(cp);
  await browser.signIn(email);
  const { body } = await browser.send('POST', '/v1/invitations', { email: 'ben@shop.example' });
  const stored = JSON.stringify([
    await db.selectFrom('people').selectAll().execute(),
    await db.selectFrom('person_links').selectAll().execute(),
    await db.selectFrom('console_sessions').selectAll().execute(),
  ]);
  assert.match(stored, /\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  for (const secret of [
    goodPassword,
    tokenOf((body as { link: string }).link),
    browser.cookie.split('=')[1] ?? '',
  ]) {
    assert.ok(!stored.includes(secret));
  }
});
