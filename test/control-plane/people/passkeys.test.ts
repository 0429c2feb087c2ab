// Few share a process: it opens a browser.
/** Passkeys in a real browser with a virtual authenticator, and attacks on them. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Browser as RealBrowser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { addPasskey, type Registration } from '../../../control-plane/people/passkeys.ts';
import { relyingParty } from '../../../control-plane/people/decide/relying-party.ts';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
} from '../../support/control-plane.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { goodPassword, insertMember, Browser, startPersonSession } from '../../support/people.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { freePort } from '../../../proof/program.ts';

const anna = 'anna@shop.example';
const ben = 'ben@shop.example';

let browser: RealBrowser;
before(async () => {
  browser = await openBrowser();
});

interface Site extends AsyncDisposable {
  cp: TestControlPlane;
  /** With the host name that passkeys need. */
  url: string;
  annaId: string;
}

async function openSite(): Promise<Site> {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const cp = await startTestControlPlane({
    settings: { PORT: String(port), PUBLIC_URL: url },
    requestsPerMinute: 0,
  });
  const add = (name: string, email: string) =>
    insertMember(cp.controlPlane.services, {
      ...{ accountId: cp.accountId, name, role: 'OWNER' as const, email },
    });
  const { id: annaId } = await add('Anna', anna);
  await add('Ben', ben);
  return { cp, url, annaId, [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose]() };
}

/** A device with a browser and an authenticator that verifies whoever uses it. */
class Device implements AsyncDisposable {
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly authenticatorId: string;
  readonly #context: BrowserContext;

  private constructor(page: Page, cdp: CDPSession, authenticatorId: string, of: BrowserContext) {
    this.page = page;
    this.cdp = cdp;
    this.authenticatorId = authenticatorId;
    this.#context = of;
  }

  static async open(url: string, options: object = {}): Promise<Device> {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    await page.goto(`${url}/console/#/profile`);
    return new Device(page, cdp, authenticatorId, context);
  }

  async signIn(email: string): Promise<void> {
    await this.page.getByLabel('E-mail').fill(email);
    await this.page.getByLabel('Password').fill(goodPassword);
    await this.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  async addPasskey(name: string, password = goodPassword): Promise<void> {
    const region = this.page.getByRole('region', { name: 'Passkeys' });
    await region.getByLabel('Name of the passkey').fill(name);
    await region.getByLabel('Password').fill(password);
    await region.getByRole('button', { name: 'Add a passkey' }).click();
  }

  async signOut(): Promise<void> {
    await this.page.getByRole('button', { name: 'Sign out' }).click();
  }

  /** Sends a request as the console does. */
  send(method: string, path: string, body?: unknown): Promise<Pick<Answer, 'status' | 'body'>> {
    return this.page.evaluate(
      async ([method, path, body]) => {
        const answer = await fetch(path, {
          method,
          headers: { 'x-console': '1', 'content-type': 'application/json' },
          ...(body === null ? {} : { body }),
        });
        const text = await answer.text();
        return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
      },
      [method, path, body === undefined ? null : JSON.stringify(body)] as const,
    );
  }

  /** What the authenticator answers to a new question of the server, on a page of this address. */
  async answer(change: object = {}, at?: string): Promise<object> {
    const { body } = await this.send('POST', '/console/session/passkey/options');
    const own = this.page.url();
    if (at !== undefined) await this.page.goto(`${at}/console/`);
    const answer = await this.#use({ ...body.options, ...change });
    if (at !== undefined) await this.page.goto(own);
    return answer;
  }

  #use(options: object): Promise<object> {
    return this.page.evaluate(`(async () => {
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)});
      return (await navigator.credentials.get({ publicKey })).toJSON();
    })()`);
  }

  async tries(passkey: object): Promise<number> {
    return (await this.send('POST', '/console/session/passkey', { passkey })).status;
  }

  async name(): Promise<string | null> {
    const { status, body } = await this.send('GET', '/v1/users/me');
    return status === 200 ? body.name : null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}

test('passkeys belong to a host name with https, or to localhost', () => {
  assert.deepEqual(relyingParty('https://monitor.example.com/x'), {
    ...{ id: 'monitor.example.com', origin: 'https://monitor.example.com' },
  });
  assert.ok('id' in relyingParty('http://localhost:8080'));
  for (const url of ['http://127.0.0.1:80', 'https://192.0.2.1', 'https://[2001:db8::1]:444']) {
    const party = relyingParty(url);
    assert.match('problem' in party ? party.problem : '', /host name: set PUBLIC_URL/);
  }
  const plain = relyingParty('http://monitor.example.com');
  assert.match('problem' in plain ? plain.problem : '', /https/);
});

test('where PUBLIC_URL is an address, the profile says why, and the API refuses', async () => {
  await using cp = await startTestControlPlane();
  await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'Anna', role: 'OWNER' as const, email: anna },
  });
  await using device = await Device.open(cp.url);
  const { page } = device;
  await page.getByLabel('E-mail').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
  await device.signIn(anna);
  await page.getByText('passkeys need a host name: set PUBLIC_URL').waitFor();
  const asked = await device.send('POST', '/v1/users/me/passkeys/options', {
    password: goodPassword,
  });
  assert.equal(asked.status, 409);
  assert.equal((await device.send('POST', '/console/session/passkey/options')).status, 409);
});

test('a person adds a passkey, signs in with it alone and after the password, renames and removes it', async () => {
  await using site = await openSite();
  await using device = await Device.open(site.url);
  const { page } = device;
  await device.signIn(anna);
  await device.addPasskey('Laptop', 'wrong');
  await page.getByText('is not your current password').waitFor();
  await device.addPasskey('Laptop');
  await page.getByRole('rowheader', { name: 'Laptop' }).waitFor();
  const codes = (await page.locator('pre').innerText()).split('\n');
  assert.equal(codes.length, 10);
  // The same device again is refused by the device.
  await device.addPasskey('Again');
  await page.getByText('This device has a passkey of yours already.').waitFor();

  await device.signOut();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Profile', level: 1 }).waitFor();
  assert.equal(await device.name(), 'Anna');
  assert.equal(await page.evaluate('document.cookie'), '');

  // The password alone is not enough any more.
  await device.signOut();
  await device.signIn(anna);
  await page.getByLabel('Code').waitFor();
  assert.equal(await device.name(), null);
  await page.getByRole('button', { name: 'Use a passkey instead of the code' }).click();
  await page.getByRole('rowheader', { name: 'Laptop' }).waitFor();
  const people = await site.cp.api('GET', '/v1/people');
  assert.deepEqual(
    people.body.map((one: { hasSecondFactor: boolean }) => one.hasSecondFactor),
    [true, false],
  );

  // A recovery code stands in for a device that is lost, once.
  const elsewhere = new Browser(site.cp);
  const withCode = (code = '') => elsewhere.signIn(anna, goodPassword, { code });
  assert.deepEqual(
    [(await withCode(codes[0])).status, (await withCode(codes[0])).status],
    [204, 401],
  );

  await page.getByRole('button', { name: 'Rename Laptop' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Work laptop');
  await page.keyboard.press('Enter');
  await page.getByRole('rowheader', { name: 'Work laptop' }).waitFor();
  await page.getByRole('button', { name: 'Remove Work laptop' }).click();
  await page.getByRole('dialog').getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('is not your current password').waitFor();
  await page.getByRole('dialog').getByLabel('Password').fill(goodPassword);
  await page.keyboard.press('Enter');
  await page.getByRole('rowheader', { name: 'Work laptop' }).waitFor({ state: 'detached' });
  const { db } = site.cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('recovery_codes').selectAll().execute(), []);
  assert.equal((await new Browser(site.cp).signIn(anna)).status, 204);

  const log = await site.cp.api('GET', '/v1/audit-log?limit=100');
  const operations = log.body.entries.map(
    (one: { operation: string; outcome: string }) => `${one.operation} ${one.outcome}`,
  );
  for (const noted of [
    ...['addMyPasskey DONE', 'signInWithPasskey DONE', 'renameMyPasskey DONE'],
    'removeMyPasskey DONE',
  ]) {
    assert.ok(operations.includes(noted), `${noted} in ${operations.join()}`);
  }
  const removal = log.body.entries.find(
    (one: { operation: string }) => one.operation === 'removeMyPasskey',
  );
  assert.deepEqual([removal.resource.name, removal.after], ['Work laptop', null]);
  const stored = JSON.stringify(log.body);
  for (const code of codes) assert.ok(!stored.includes(code));
});

test('attacks: an answer works once, in the browser that was asked, at its origin, and for its person', async () => {
  await using site = await openSite();
  await using device = await Device.open(site.url);
  const { page } = device;
  await device.signIn(anna);
  await device.addPasskey('Laptop');
  await page.getByRole('rowheader', { name: 'Laptop' }).waitFor();
  const { db } = site.cp.controlPlane.services;
  const passkey = () => db.selectFrom('passkeys').selectAll().executeTakeFirstOrThrow();
  const { counter } = await passkey();
  await device.send('DELETE', '/console/session');
  await page.reload();

  // Another browser has a question of its own, and its answer to the first one is refused.
  const stolen = await device.answer();
  await using thief = await Device.open(site.url);
  assert.equal(await thief.tries(stolen), 401, 'without a question');
  await thief.send('POST', '/console/session/passkey/options');
  assert.equal(await thief.tries(stolen), 401, 'of another session');
  // Once, also when it comes twice at the same time.
  const answer = await device.answer();
  const both = await Promise.all([device.tries(answer), device.tries(answer)]);
  assert.deepEqual(both.sort(), [204, 401]);
  assert.equal(await device.tries(answer), 401, 'replayed');
  assert.ok((await passkey()).counter > counter);
  await device.send('DELETE', '/console/session');

  // A copy of the device that has counted less.
  const ahead = await passkey();
  await db.updateTable('passkeys').set({ counter: 1_000 }).execute();
  assert.equal(await device.tries(await device.answer()), 401, 'counter');
  await db.updateTable('passkeys').set({ counter: ahead.counter }).execute();
  // Without a look at who uses the device.
  const { cdp, authenticatorId } = device;
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  const silent = await device.answer({ userVerification: 'discouraged' });
  assert.equal(await device.tries(silent), 401, 'not verified');
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });

  // On a page of another origin, for which devices have the same passkeys: another port.
  await using phishing = await startTestControlPlane();
  const port = new URL(phishing.url).port;
  const phished = await device.answer({}, `http://localhost:${port}`);
  assert.equal(await device.tries(phished), 401, 'other origin');

  // Altered by somebody in between.
  const whole = (await device.answer()) as {
    response: { clientDataJSON: string; userHandle: string };
  };
  const clientData = JSON.parse(
    Buffer.from(whole.response.clientDataJSON, 'base64url').toString(),
  ) as object;
  const clientDataJSON = Buffer.from(
    JSON.stringify({ ...clientData, origin: 'https://attacker.example' }),
  ).toString('base64url');
  const altered = (change: object) => ({ ...whole, response: { ...whole.response, ...change } });
  assert.equal(await device.tries(altered({ clientDataJSON })), 401);
  assert.equal(await device.tries(altered({ userHandle: 'AAAA' })), 401);
  assert.equal(await device.tries(altered({ signature: 'AAAA' })), 401);
  assert.equal(await device.tries(altered({ authenticatorData: 'AAAA' })), 401);
  assert.equal(await device.tries(whole), 204);
  await device.send('DELETE', '/console/session');

  // Anna's passkey is no second factor of Ben.
  await db
    .insertInto('passkeys')
    .values({
      ...{ id: 'of-ben', name: 'x', credential_id: 'x', public_key: 'AA', counter: 0 },
      created_at: 1,
      person_id: (
        await db
          .selectFrom('people')
          .select('id')
          .where('email', '=', ben)
          .executeTakeFirstOrThrow()
      ).id,
    })
    .execute();
  const asBen = { email: ben, password: goodPassword, passkey: await device.answer() };
  assert.equal((await device.send('POST', '/console/session', asBen)).status, 401);
  const asAnna = { email: anna, password: goodPassword, passkey: await device.answer() };
  assert.equal((await device.send('POST', '/console/session', asAnna)).status, 204);
  await device.send('DELETE', '/console/session');

  // Removed here, and still on the device.
  const late = await device.answer();
  await db.deleteFrom('passkeys').where('id', '=', ahead.id).execute();
  assert.equal(await device.tries(late), 401, 'removed');
  assert.equal(await device.name(), null);
  const log = await site.cp.api(
    'GET',
    '/v1/audit-log?operation=signInWithPasskey&outcome=REFUSED&limit=100',
  );
  assert.ok(log.body.entries.some((one: { actor: { name: string } }) => one.actor.name === anna));
});

test('attacks: what makes a passkey belongs to one session and origin, and works once', async () => {
  await using site = await openSite();
  await using device = await Device.open(site.url);
  await device.signIn(anna);
  await device.page.getByRole('heading', { name: 'Passkeys' }).waitFor();
  const path = '/v1/users/me/passkeys';
  const begin = async () =>
    (await device.send('POST', `${path}/options`, { password: goodPassword })).body as {
      options: object;
      state: string;
    };
  const make = (options: object): Promise<{ response: { clientDataJSON: string } }> =>
    device.page.evaluate(`(async () => {
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(options)});
      return (await navigator.credentials.create({ publicKey })).toJSON();
    })()`);
  const begun = await begin();
  const credential = await make(begun.options);
  const add = (body: object) => device.send('POST', path, { name: 'Laptop', ...body });
  const keysOf = ({ status, body }: Pick<Answer, 'status' | 'body'>) => [
    status,
    body?.attributes?.keys?.[0],
  ];
  // Another session of the same person.
  const { cookie } = await startPersonSession(
    ...([site.cp.controlPlane.services, site.cp.accountId, site.annaId] as const),
  );
  const other = new Browser(site.cp);
  other.cookie = cookie;
  const foreign = await other.send('POST', path, { name: 'x', state: begun.state, credential });
  assert.deepEqual(keysOf(foreign), [400, 'state']);
  assert.deepEqual(keysOf(await add({ state: 'v1.AAAA', credential })), [400, 'state']);
  // The answer to another question.
  const another = await begin();
  assert.deepEqual(keysOf(await add({ state: another.state, credential })), [400, 'credential']);
  const clientData = JSON.parse(
    Buffer.from(credential.response.clientDataJSON, 'base64url').toString(),
  ) as object;
  const clientDataJSON = Buffer.from(
    JSON.stringify({ ...clientData, origin: 'https://attacker.example' }),
  ).toString('base64url');
  const altered = { ...credential, response: { ...credential.response, clientDataJSON } };
  assert.deepEqual(keysOf(await add({ state: begun.state, credential: altered })), [
    ...[400, 'credential'],
  ]);
  assert.equal((await add({ state: begun.state, credential })).status, 201);
  assert.deepEqual(keysOf(await add({ state: begun.state, credential })), [400, 'state']);
  // Nobody reaches the passkeys of others.
  const [own] = (await device.send('GET', path)).body as { id: string }[];
  const stranger = new Browser(site.cp);
  await stranger.signIn(ben);
  const rename = { name: 'mine' };
  assert.equal((await stranger.send('GET', `${path}/${own?.id}`)).status, 404);
  assert.equal((await stranger.send('PUT', `${path}/${own?.id}`, rename)).status, 404);
  const removal = { password: goodPassword };
  assert.equal((await stranger.send('POST', `${path}/${own?.id}/removal`, removal)).status, 404);
  assert.deepEqual((await stranger.send('GET', path)).body, []);
  // It would go round the provider of who has no password here.
  const { db } = site.cp.controlPlane.services;
  await db.updateTable('people').set({ password_hash: null }).where('email', '=', ben).execute();
  const ofProvider = await stranger.send('POST', `${path}/options`, { password: goodPassword });
  assert.equal(ofProvider.status, 403);
});

test('race: no passkey is added in a session that has ended, or that was begun with an older password', async () => {
  await using site = await openSite();
  await using device = await Device.open(site.url);
  await device.signIn(anna);
  await device.page.getByRole('heading', { name: 'Passkeys' }).waitFor();
  const { services } = site.cp.controlPlane;
  const { db } = services;
  const begun = await device.send('POST', '/v1/users/me/passkeys/options', {
    password: goodPassword,
  });
  const { options, state } = begun.body as { options: object; state: string };
  const credential: Registration = await device.page.evaluate(`(async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(options)});
    return (await navigator.credentials.create({ publicKey })).toJSON();
  })()`);
  const session = await db
    .selectFrom('console_sessions')
    .selectAll()
    .where('person_id', '=', site.annaId)
    .executeTakeFirstOrThrow();
  // As a request that was let in just before.
  const add = () =>
    addPasskey(
      services,
      { personId: site.annaId, sessionId: session.id },
      { name: 'Laptop', state, credential },
    );
  await db.deleteFrom('console_sessions').where('id', '=', session.id).execute();
  await assert.rejects(add(), { code: 'BAD_TOKEN' });
  await db.insertInto('console_sessions').values(session).execute();
  const person = db.updateTable('people').where('id', '=', site.annaId);
  const { password_hash: hash } = await db
    .selectFrom('people')
    .select('password_hash')
    .where('id', '=', site.annaId)
    .executeTakeFirstOrThrow();
  await person.set({ password_hash: `${hash}x` }).execute();
  await assert.rejects(add(), { code: 'VALIDATION' });
  assert.deepEqual(await db.selectFrom('passkeys').selectAll().execute(), []);
  await person.set({ password_hash: hash }).execute();
  assert.equal((await add()).row.name, 'Laptop');
});

test('the profile with passkeys, its questions and the QR code are accessible and fit', async () => {
  await using site = await openSite();
  for (const [width, colorScheme] of [
    [1440, 'light'],
    [390, 'dark'],
  ] as const) {
    await using device = await Device.open(site.url, {
      ...{ colorScheme, viewport: { width, height: 800 } },
    });
    const { page } = device;
    const at = `at ${width}`;
    await assertPleasant(page, 'Sign in with a passkey', width, `the sign-in ${at}`);
    await device.signIn(colorScheme === 'light' ? anna : ben);
    await page
      .getByRole('region', { name: 'Two-factor authentication' })
      .getByLabel('Password')
      .fill(goodPassword);
    await page.getByRole('button', { name: 'Set up an app' }).click();
    await page.getByRole('img', { name: 'QR code with the key for your app' }).waitFor();
    await assertPleasant(page, 'Scan this code', width, `the QR code ${at}`);
    await device.addPasskey('Laptop');
    await page.getByRole('rowheader', { name: 'Laptop' }).waitFor();
    await assertPleasant(page, 'Store these recovery codes', width, `the passkeys ${at}`);
    await page.getByRole('button', { name: 'Rename Laptop' }).click();
    await assertPleasant(page, 'Rename Laptop', width, `the question for a name ${at}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Remove Laptop' }).click();
    await assertPleasant(page, 'Remove Laptop?', width, `the question for a removal ${at}`);
  }
});
