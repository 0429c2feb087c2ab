import assert from 'node:assert/strict';
import test from 'node:test';
import { insertMembership, insertPerson } from '../../../control-plane/people/store.ts';
import { makeSetupLink } from '../../../control-plane/people/set-up.ts';
import { linkMs } from '../../../control-plane/people/links.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { mailServer } from '../../support/mail-server.ts';
import { Browser, goodPassword, insertMember, tokenOf } from '../../support/people.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const password = 'a sentence that nobody guesses';

const member = (cp: TestControlPlane, name: string, role: 'OWNER' | 'ADMIN' | 'READ_ONLY') =>
  insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name, role },
    email: `${name}@shop.example`,
  });

/** An owner who has signed in. */
async function withOwner(cp: TestControlPlane) {
  const { id } = await member(cp, 'anna', 'OWNER');
  const browser = new Browser(cp);
  assert.equal((await browser.signIn('anna@shop.example')).status, 204);
  return { id, browser };
}

test('the link of the set-up makes one person, who owns the account, and dies', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const link = (await makeSetupLink(services)) ?? '';
  const ofOtherReplica = (await makeSetupLink(services)) ?? '';
  const browser = new Browser(cp);
  const token = tokenOf(link);
  const facts = await browser.send('POST', '/console/session/link', { token });
  assert.deepEqual(
    [facts.body.kind, facts.body.role, facts.body.isKnown],
    ['SETUP', 'OWNER', false],
  );
  const answer = { email: ' Anna@Shop.example', name: 'Anna', password };
  const weak = await browser.accept(link, { ...answer, email: 'x', name: ' ', password: 'short' });
  assert.deepEqual(weak.body.attributes.keys, ['email', 'name', 'password']);
  const same = await browser.accept(link, {
    ...answer,
    email: 'a@b.example',
    password: 'aaaaaaaaaaaaaaaaa',
  });
  assert.deepEqual(same.body.attributes.keys, ['password']);
  assert.equal((await browser.accept(link, { ...answer, email: 'anna@shop.example' })).status, 200);
  const me = await browser.send('GET', '/v1/users/me');
  assert.deepEqual(
    [me.body.name, me.body.email, me.body.role, me.body.accountId, me.body.accounts.length],
    ['Anna', 'anna@shop.example', 'OWNER', cp.accountId, 1],
  );
  for (const used of [link, ofOtherReplica]) {
    assert.equal((await new Browser(cp).accept(used, answer)).status, 404);
  }
  assert.equal(await makeSetupLink(services), null);
  const again = new Browser(cp);
  assert.equal((await again.signIn('ANNA@shop.example', password)).status, 204);
  assert.equal(await again.name(), 'Anna');
});

test('of two who set up at once, one does', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const links = [await makeSetupLink(services), await makeSetupLink(services)];
  const answers = await Promise.all(
    links.map((link, index) =>
      new Browser(cp).accept(link ?? '', {
        ...{ email: `p${index}@shop.example`, name: 'First', password },
      }),
    ),
  );
  assert.deepEqual(
    answers.map(({ status }) => status === 200),
    answers.map(({ status }) => status !== 404 && status !== 409),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
});

test('who is invited by mail joins with a name and a password, once', async () => {
  await using smtp = await mailServer();
  await using cp = await startTestControlPlane({ settings: { SMTP_URL: smtp.url } });
  const { browser } = await withOwner(cp);
  const made = await browser.send('POST', '/v1/invitations', {
    ...{ email: 'Ben@Shop.example', role: 'READ_RUN' },
  });
  assert.equal(made.status, 201);
  assert.deepEqual(
    [made.body.email, made.body.role, made.body.invitedBy, made.body.link],
    ['ben@shop.example', 'READ_RUN', 'anna', null],
  );
  const mail = await smtp.mailTo('ben@shop.example', /invites you/);
  assert.match(mail, /anna invites you to Main account/);
  const ben = new Browser(cp);
  assert.equal((await ben.accept(mail, { name: 'Ben', password })).status, 200);
  const me = await ben.send('GET', '/v1/users/me');
  assert.deepEqual([me.body.name, me.body.role], ['Ben', 'READ_RUN']);
  assert.equal((await new Browser(cp).accept(mail, { name: 'Eve', password })).status, 404);
  assert.deepEqual((await browser.send('GET', '/v1/invitations')).body, []);
  const people = await browser.send('GET', '/v1/people');
  assert.deepEqual(
    people.body.map((one: { email: string; role: string }) => `${one.email} ${one.role}`).sort(),
    ['anna@shop.example OWNER', 'ben@shop.example READ_RUN'],
  );
  const twice = await browser.send('POST', '/v1/invitations', { email: 'ben@shop.example' });
  assert.deepEqual([twice.status, twice.body.attributes.keys], [409, ['email']]);
});

test('no link gives a password to somebody who signs in with a provider', async () => {
  await using smtp = await mailServer();
  await using cp = await startTestControlPlane({ settings: { SMTP_URL: smtp.url } });
  const { browser } = await withOwner(cp);
  await browser.send('POST', '/v1/invitations', { email: 'boss@shop.example' });
  const mail = await smtp.mailTo('boss@shop.example', /invites you/);
  const { db } = cp.controlPlane.services;
  const other = cp.controlPlane.services.newId();
  await db.insertInto('accounts').values({ id: other, name: 'Zoo', created_at: start }).execute();
  await insertPerson(db, {
    ...{ id: 'boss', email: 'boss@shop.example', name: 'Boss', passwordHash: null, now: start },
  });
  await insertMembership(db, {
    ...{ accountId: other, personId: 'boss', role: 'OWNER', now: start },
  });
  const taken = await new Browser(cp).accept(mail, { name: 'Eve', password });
  assert.equal(taken.status, 403);
  const { password_hash: hash } = await db
    .selectFrom('people')
    .select('password_hash')
    .where('id', '=', 'boss')
    .executeTakeFirstOrThrow();
  assert.equal(hash, null);
});

test('without mail the inviter gets the link; it ends when it is revoked, replaced or old', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { browser } = await withOwner(cp);
  const ask = async () =>
    (await browser.send('POST', '/v1/invitations', { email: 'ben@shop.example' })).body as {
      id: string;
      link: string;
    };
  const works = async (link: string) =>
    (await browser.send('POST', '/console/session/link', { token: tokenOf(link) })).status === 200;
  const first = await ask();
  assert.ok(await works(first.link));
  const second = await ask();
  assert.deepEqual([await works(first.link), await works(second.link)], [false, true]);
  assert.equal((await browser.send('DELETE', `/v1/invitations/${second.id}`)).status, 204);
  assert.equal(await works(second.link), false);
  const third = await ask();
  clock.advance(linkMs.INVITATION);
  assert.equal(await works(third.link), false);
});

test('a person of another account proves who they are, keeps their password, and changes accounts', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const { browser } = await withOwner(cp);
  const otherId = services.newId();
  await services.db
    .insertInto('accounts')
    .values({ id: otherId, name: 'Zoo', created_at: services.clock.now() })
    .execute();
  await insertMember(services, {
    ...{ accountId: otherId, name: 'Zoe', role: 'OWNER' as const, email: 'zoe@zoo.example' },
  });
  const { body } = await browser.send('POST', '/v1/invitations', { email: 'zoe@zoo.example' });
  const { link } = body as { link: string };
  const facts = await browser.send('POST', '/console/session/link', { token: tokenOf(link) });
  assert.equal(facts.body.isKnown, true);
  // Whoever made the link must not be able to choose a password for her.
  const thief = await new Browser(cp).accept(link, { name: 'Zoe', password });
  assert.equal(thief.status, 401);
  const zoe = new Browser(cp);
  assert.equal((await zoe.accept(link, { password: goodPassword })).status, 200);
  const me = await zoe.send('GET', '/v1/users/me');
  assert.deepEqual(
    me.body.accounts.map(({ accountName, role }: { accountName: string; role: string }) => [
      accountName,
      role,
    ]),
    [
      ['Main account', 'READ_WRITE'],
      ['Zoo', 'OWNER'],
    ],
  );
  assert.equal(me.body.accountId, cp.accountId);
  const moved = await zoe.send('PUT', '/v1/users/me', { accountId: otherId });
  assert.deepEqual([moved.status, moved.body.accountName, moved.body.role], [200, 'Zoo', 'OWNER']);
  assert.equal((await zoe.send('GET', '/v1/people')).body.length, 1);
  const foreign = await browser.send('PUT', '/v1/users/me', { accountId: otherId });
  assert.deepEqual([foreign.status, foreign.body.attributes.keys], [400, ['accountId']]);
});

test('a role that changes and a person who is removed count at once', async () => {
  await using cp = await startTestControlPlane();
  const { browser } = await withOwner(cp);
  const { id } = await member(cp, 'ben', 'ADMIN');
  const ben = new Browser(cp);
  await ben.signIn('ben@shop.example');
  assert.equal((await ben.send('GET', '/v1/people')).status, 200);
  const lowered = await browser.send('PUT', `/v1/people/${id}`, { role: 'READ_ONLY' });
  assert.deepEqual([lowered.status, lowered.body.role], [200, 'READ_ONLY']);
  assert.equal((await ben.send('GET', '/v1/people')).status, 403);
  assert.equal((await browser.send('DELETE', `/v1/people/${id}`)).status, 204);
  assert.equal(await ben.name(), null);
  assert.equal((await ben.signIn('ben@shop.example')).status, 401);
});

test('nobody grants or changes what is above them, and the last owner stays', async () => {
  await using cp = await startTestControlPlane();
  const { browser, id: annaId } = await withOwner(cp);
  const { id: benId } = await member(cp, 'ben', 'ADMIN');
  const ben = new Browser(cp);
  await ben.signIn('ben@shop.example');
  const status = async (by: Browser, method: string, path: string, body?: unknown) =>
    (await by.send(method, path, body)).status;
  assert.equal(await status(ben, 'PUT', `/v1/people/${annaId}`, { role: 'READ_ONLY' }), 403);
  assert.equal(await status(ben, 'DELETE', `/v1/people/${annaId}`), 403);
  assert.equal(await status(ben, 'PUT', `/v1/people/${benId}`, { role: 'OWNER' }), 403);
  const email = 'cleo@shop.example';
  assert.equal(await status(ben, 'POST', '/v1/invitations', { email, role: 'OWNER' }), 403);
  assert.equal(await status(browser, 'PUT', `/v1/people/${annaId}`, { role: 'ADMIN' }), 409);
  assert.equal(await status(browser, 'DELETE', `/v1/people/${annaId}`), 409);
  assert.equal(await status(browser, 'PUT', `/v1/people/${benId}`, { role: 'OWNER' }), 200);
  assert.equal(await status(browser, 'DELETE', `/v1/people/${annaId}`), 204);
  assert.equal(await browser.name(), null);
});

test('two owners who remove each other at once leave one', async () => {
  await using cp = await startTestControlPlane();
  const { browser, id } = await withOwner(cp);
  const other = await member(cp, 'ben', 'OWNER');
  const ben = new Browser(cp);
  await ben.signIn('ben@shop.example');
  const answers = await Promise.all([
    browser.send('DELETE', `/v1/people/${other.id}`),
    ben.send('DELETE', `/v1/people/${id}`),
  ]);
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
});

test('a changed password ends the other sessions; sessions are listed and ended', async () => {
  await using cp = await startTestControlPlane();
  const { browser } = await withOwner(cp);
  const laptop = new Browser(cp);
  await laptop.send('POST', '/console/session', {
    ...{ email: 'anna@shop.example', password: goodPassword, isKept: true },
  });
  const wrong = await browser.send('PUT', '/v1/users/me/password', {
    ...{ currentPassword: 'wrong', newPassword: password },
  });
  assert.deepEqual([wrong.status, wrong.body.attributes.keys], [400, ['currentPassword']]);
  const listed = await browser.send('GET', '/v1/users/me/sessions');
  assert.deepEqual(
    listed.body
      .map(({ isCurrent, address }: { isCurrent: boolean; address: string }) => [
        isCurrent,
        address.replace('::ffff:', ''),
      ])
      .sort(),
    [
      [false, '127.0.0.1'],
      [true, '127.0.0.1'],
    ],
  );
  const changed = await browser.send('PUT', '/v1/users/me/password', {
    ...{ currentPassword: goodPassword, newPassword: password },
  });
  assert.equal(changed.status, 204);
  assert.deepEqual([await browser.name(), await laptop.name()], ['anna', null]);
  assert.equal((await laptop.signIn('anna@shop.example')).status, 401);
  assert.equal((await laptop.signIn('anna@shop.example', password)).status, 204);
  const sessions = (await browser.send('GET', '/v1/users/me/sessions')).body as {
    id: string;
    isCurrent: boolean;
  }[];
  const other = sessions.find(({ isCurrent }) => !isCurrent);
  assert.equal((await browser.send('DELETE', `/v1/users/me/sessions/${other?.id}`)).status, 204);
  assert.deepEqual([await browser.name(), await laptop.name()], ['anna', null]);
});

test('a forgotten password is replaced by a link in a mail, which ends all sessions', async () => {
  const clock = new TestClock(start);
  await using smtp = await mailServer();
  await using cp = await startTestControlPlane({ clock, settings: { SMTP_URL: smtp.url } });
  const { browser } = await withOwner(cp);
  const guest = new Browser(cp);
  const asked = await guest.send('POST', '/console/session/reset', { email: 'Anna@shop.example' });
  assert.equal(asked.status, 204);
  const mail = await smtp.mailTo('anna@shop.example', /Reset your password/);
  const done = await guest.accept(mail, { password });
  assert.deepEqual([done.status, done.body], [200, { isSignedIn: false }]);
  assert.deepEqual([await browser.name(), guest.cookie], [null, '']);
  assert.equal((await guest.accept(mail, { password: 'yet another long one' })).status, 404);
  assert.equal((await guest.signIn('anna@shop.example', password)).status, 204);
});
