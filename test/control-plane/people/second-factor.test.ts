// PostgreSQL in the long tier: people.test.ts of test/security runs its statements on both.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test from 'node:test';
import { codeOf, counterOf, toBase32 } from '../../../control-plane/people/decide/totp.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { Browser, codeAt, goodPassword, insertMember } from '../../support/people.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const email = 'anna@shop.example';
const path = '/v1/users/me/second-factor';

test('codes are those of the examples in RFC 6238, and secrets those of RFC 4648', () => {
  const secret = Buffer.from('12345678901234567890');
  const codes = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000].map((seconds) =>
    codeOf(
      createHmac('sha1', secret)
        .update(counterOf(Math.floor(seconds / 30)))
        .digest(),
    ),
  );
  assert.deepEqual(codes, ['287082', '081804', '050471', '005924', '279037']);
  assert.equal(toBase32(Buffer.from('foobar')), 'MZXW6YTBOI');
});

/** A person whose app is set up; `secret` is that of the app. */
async function setUp(cp: TestControlPlane, clock: TestClock) {
  const { id } = await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'anna', role: 'OWNER' as const, email },
  });
  const browser = new Browser(cp);
  await browser.signIn(email);
  const wrong = await browser.send('POST', path, { password: 'wrong' });
  assert.deepEqual([wrong.status, wrong.body.attributes.keys], [400, ['password']]);
  const made = await browser.send('POST', path, { password: goodPassword });
  const { secret, uri } = made.body as { secret: string; uri: string };
  assert.match(
    uri,
    new RegExp(`^otpauth://totp/127.0.0.1:anna%40shop.example\\?secret=${secret}&`),
  );
  // It does not count before its first code.
  assert.equal((await new Browser(cp).signIn(email)).status, 204);
  const refused = await browser.send('PUT', path, { code: '000000' });
  assert.deepEqual([refused.status, refused.body.attributes.keys], [400, ['code']]);
  const done = await browser.send('PUT', path, { code: codeAt(secret, clock.now()) });
  assert.equal(done.status, 200);
  const { recoveryCodes } = done.body as { recoveryCodes: string[] };
  return { id, browser, secret, recoveryCodes };
}

test('the sign-in asks for a code, takes each once, and one of a neighbouring step', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { secret } = await setUp(cp, clock);
  const signIn = async (code?: string) => {
    const { status, body } = await new Browser(cp).signIn(
      ...([email, goodPassword, code === undefined ? {} : { code }] as const),
    );
    return status === 204 ? status : (body as { attributes: { code: string } }).attributes.code;
  };
  // Asking for the code is no guess.
  for (let number = 0; number < 11; number += 1) {
    assert.equal(await signIn(), 'SECOND_FACTOR_NEEDED');
  }
  assert.equal(await signIn(codeAt(secret, start)), 'BAD_CREDENTIALS', 'it confirmed already');
  clock.advance(30_000);
  const code = codeAt(secret, clock.now());
  assert.equal(await signIn(`${code.slice(0, 3)} ${code.slice(3)}`), 204);
  assert.equal(await signIn(code), 'BAD_CREDENTIALS', 'replayed');
  assert.equal(await signIn(codeAt(secret, clock.now() + 30_000)), 204, 'a phone that is ahead');
  assert.equal(await signIn(codeAt(secret, clock.now())), 'BAD_CREDENTIALS', 'older than the last');
  clock.advance(300_000);
  assert.equal(await signIn(codeAt(secret, clock.now() - 90_000)), 'BAD_CREDENTIALS');
});

test('brute force: a few codes are tried, whoever tries them; without the password none is', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({
    clock,
    settings: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  const { secret } = await setUp(cp, clock);
  clock.advance(900_000);
  const attempt = async (host: number, password: string, code: string) => {
    const headers = { 'x-forwarded-for': `192.0.2.${host}` };
    const body = { email, password, code };
    return (await new Browser(cp).send('POST', '/console/session', body, headers)).status;
  };
  assert.equal(await attempt(1, 'wrong', codeAt(secret, clock.now())), 401);
  const statuses = [];
  for (let host = 2; host < 14; host += 1)
    statuses.push(await attempt(host, goodPassword, '000000'));
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429]);
});

test('a recovery code works once; without password and code nobody removes the second factor', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { browser, secret, recoveryCodes } = await setUp(cp, clock);
  const [first = '', second = ''] = recoveryCodes;
  assert.equal(recoveryCodes.length, 10);
  const signIn = async (code: string) =>
    (await new Browser(cp).signIn(email, goodPassword, { code })).status;
  assert.deepEqual([await signIn(first.toUpperCase()), await signIn(first)], [204, 401]);
  assert.equal((await browser.send('GET', path)).body.recoveryCodesLeft, 9);
  assert.equal((await browser.send('GET', '/v1/people')).body[0].hasSecondFactor, true);
  const remove = async (password: string, code: string) =>
    (await browser.send('POST', `${path}/removal`, { password, code })).status;
  assert.equal(await remove('wrong', second), 400);
  assert.equal(await remove(goodPassword, '000000'), 400);
  assert.equal((await browser.send('POST', path, { password: goodPassword })).status, 409);
  clock.advance(60_000);
  assert.equal(await remove(goodPassword, codeAt(secret, clock.now())), 204);
  assert.equal((await new Browser(cp).signIn(email)).status, 204);
  const stored = JSON.stringify(
    await cp.controlPlane.services.db.selectFrom('recovery_codes').selectAll().execute(),
  );
  assert.equal(stored, '[]');
});

test('neither a reset nor an invitation goes round the second factor, and the secret is encrypted', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { id, secret, recoveryCodes } = await setUp(cp, clock);
  const other = services.newId();
  await services.db
    .insertInto('accounts')
    .values({ id: other, name: 'Zoo', created_at: start })
    .execute();
  const zoe = await insertMember(services, { accountId: other, name: 'Zoe', role: 'OWNER' });
  const owner = new Browser(cp);
  await owner.signIn(zoe.email);
  const { body } = await owner.send('POST', '/v1/invitations', { email });
  const anna = new Browser(cp);
  const joined = await anna.accept((body as { link: string }).link, { password: goodPassword });
  assert.deepEqual([joined.status, joined.body, anna.cookie], [200, { isSignedIn: false }, '']);
  const stored = JSON.stringify([
    await services.db.selectFrom('person_totp').selectAll().where('person_id', '=', id).execute(),
    await services.db.selectFrom('recovery_codes').selectAll().execute(),
    await services.db.selectFrom('audit_log').selectAll().execute(),
  ]);
  assert.match(stored, /"v1\./);
  for (const text of [
    secret,
    ...recoveryCodes,
    ...recoveryCodes.map((code) => code.replaceAll('-', '')),
  ]) {
    assert.ok(!stored.includes(text));
  }
});
