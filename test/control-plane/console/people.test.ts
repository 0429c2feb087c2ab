// Few share a process: it opens a browser.
/** The console of a team: the first person, an invitation, roles, a profile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { makeSetupLink } from '../../../control-plane/people/set-up.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import {
  codeAt,
  goodPassword,
  insertMember,
  startPersonSession,
  tokenOf,
} from '../../support/people.ts';

const password = 'a sentence that nobody guesses';

const browser = await openBrowser();

class Visit implements AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly #threw: string[] = [];

  constructor(page: Page, context: BrowserContext) {
    this.page = page;
    this.context = context;
    page.on('pageerror', (error) => this.#threw.push(error.message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    assert.deepEqual(this.#threw, []);
  }
}

async function visit(cp: TestControlPlane, hash: string, options: object = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const visited = new Visit(page, context);
  await page.goto(`${cp.url}/console/${hash}`);
  return visited;
}

/** A browser in which a person is signed in. */
async function visitAs(cp: TestControlPlane, personId: string, hash: string, options: object = {}) {
  const { services } = cp.controlPlane;
  const { cookie } = await startPersonSession(services, cp.accountId, personId);
  const [name = '', value = ''] = cookie.split('=');
  const visited = await visit(cp, '', options);
  await visited.context.addCookies([{ name, value, url: cp.url, httpOnly: true }]);
  await visited.page.goto(`${cp.url}/console/${hash}`);
  await visited.page.reload();
  return visited;
}

const hashOf = (link: string | null): string => link?.split('/console/')[1] ?? '';
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });

test('the first person sets up, invites a colleague, changes the role, and removes them', async () => {
  await using cp = await startTestControlPlane();
  const link = await makeSetupLink(cp.controlPlane.services);
  await using first = await visit(cp, '');
  const { page } = first;
  // The link may be pasted, too.
  await page.getByRole('link', { name: 'I have that link' }).click();
  await page.getByLabel('Link').fill('nothing');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('must be the whole link').waitFor();
  await page.getByLabel('Link').fill(link ?? '');
  await page.keyboard.press('Enter');
  await heading(page, 'Set up the console').waitFor();
  await page.getByLabel('E-mail').fill('anna');
  await page.getByLabel('Name').fill('Anna');
  await page.getByLabel('New password').fill('short');
  await page.keyboard.press('Enter');
  await page.getByText('E-mail must be an e-mail address').waitFor();
  await page.getByText('must be at least 12 characters long').waitFor();
  assert.equal(await page.getByLabel('Name').inputValue(), 'Anna');
  assert.equal(await page.getByLabel('New password').inputValue(), 'short');
  await page.getByLabel('E-mail').fill('anna@shop.example');
  await page.getByLabel('New password').fill(password);
  await page.keyboard.press('Enter');
  await heading(page, 'Monitors').waitFor();
  assert.doesNotMatch(page.url(), /token/);
  assert.equal(await page.evaluate('document.cookie'), '');

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('link', { name: 'People' }).click();
  await page.getByLabel('E-mail').fill('not an address');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  await page.getByText('must be an e-mail address').waitFor();
  await page.getByLabel('E-mail').fill('ben@shop.example');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  const invitation = await page.getByLabel('Invitation link').inputValue();
  await page.getByRole('rowheader', { name: 'ben@shop.example' }).waitFor();

  await using second = await visit(cp, hashOf(invitation));
  const ben = second.page;
  await heading(ben, 'Join Main account').waitFor();
  await ben.getByLabel('Name').fill('Ben');
  await ben.getByLabel('New password').fill(password);
  await ben.keyboard.press('Enter');
  await heading(ben, 'Monitors').waitFor();
  await ben.getByRole('link', { name: 'Settings' }).click();
  await ben.getByRole('link', { name: 'Profile' }).waitFor();
  assert.equal(await ben.getByRole('link', { name: 'People' }).count(), 0);

  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'ben@shop.example' });
  const changed = page.waitForResponse((answer) => answer.request().method() === 'PUT');
  await row.getByLabel('Role of Ben').selectOption('ADMIN');
  assert.equal((await changed).status(), 200);
  await ben.reload();
  await ben.getByRole('link', { name: 'People' }).waitFor();
  await row.getByRole('button', { name: 'Remove Ben' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await row.waitFor({ state: 'detached' });
  await ben.reload();
  await heading(ben, 'Sign in to the console').waitFor();
  // Whoever is alone stays.
  await page.getByRole('button', { name: 'Remove Anna' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('is the last OWNER of the account').waitFor();
});

test('a wrong password keeps the address, and a person signs in, changes the password and leaves', async () => {
  await using cp = await startTestControlPlane();
  await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'Anna', role: 'READ_ONLY' as const },
    email: 'anna@shop.example',
  });
  await using opened = await visit(cp, '');
  const { page } = opened;
  await page.getByLabel('E-mail').fill('anna@shop.example');
  await page.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByText('The e-mail address or the password is wrong.').waitFor();
  assert.equal(await page.getByLabel('E-mail').inputValue(), 'anna@shop.example');
  await page.getByLabel('Password').fill(goodPassword);
  await page.keyboard.press('Enter');
  await heading(page, 'Monitors').waitFor();
  await page.getByRole('link', { name: /^Anna/ }).click();
  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill(password);
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('is not your current password').waitFor();
  assert.equal(await page.getByLabel('New password').inputValue(), password);
  await page.getByLabel('Current password').fill(goodPassword);
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('your other sessions have ended').waitFor();
  await page.getByText('this one').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('E-mail').fill('anna@shop.example');
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  // The address of the view is still there.
  await heading(page, 'Profile').waitFor();
});

test('what somebody typed is there when they sign in again, and not for anybody else', async () => {
  await using cp = await startTestControlPlane();
  const people: { id: string; email: string }[] = [];
  for (const name of ['Anna', 'Ben']) {
    const role = 'READ_WRITE' as const;
    people.push(await insertMember(cp.controlPlane.services, { ...cp, name, role }));
  }
  const [anna, ben] = people;
  assert.ok(anna && ben);
  await using opened = await visitAs(cp, anna.id, '#/new/check');
  const { page, context } = opened;
  const again = async ({ email }: { email: string }): Promise<string> => {
    await context.clearCookies();
    const create = page.getByRole('button', { name: 'Create', exact: true });
    const address = page.getByLabel('E-mail');
    // A request that the page makes by itself may be the first that is refused.
    await Promise.race([create.click().catch(() => undefined), address.waitFor()]);
    await address.fill(email);
    await page.getByLabel('Password', { exact: true }).fill(goodPassword);
    await page.keyboard.press('Enter');
    return page.getByLabel('Name', { exact: true }).inputValue();
  };
  await page.getByLabel('Name', { exact: true }).fill('of Anna');
  await page.getByRole('link', { name: /^Anna/ }).waitFor();
  assert.equal(await again(anna), 'of Anna');
  assert.equal(await again(ben), '');
});

test('a person sets up an app, and the sign-in asks for its code', async () => {
  await using cp = await startTestControlPlane();
  const email = 'anna@shop.example';
  await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'Anna', role: 'READ_ONLY' as const, email },
  });
  await using opened = await visit(cp, '#/profile');
  const { page } = opened;
  const signIn = async () => {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(goodPassword);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  await signIn();
  await page
    .getByRole('region', { name: 'Two-factor authentication' })
    .getByLabel('Password')
    .fill(goodPassword);
  await page.getByRole('button', { name: 'Set up an app' }).click();
  const secret = (await page.locator('code.key').innerText()).replaceAll(' ', '');
  await page.getByLabel('Code', { exact: true }).fill('1');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('is not the present code of the app').waitFor();
  await page.getByLabel('Code', { exact: true }).fill(codeAt(secret, Date.now()));
  await page.getByRole('button', { name: 'Turn on' }).click();
  const codes = (await page.locator('pre').innerText()).split('\n');
  assert.equal(codes.length, 10);
  await page.getByText('10 recovery codes are left').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn();
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.keyboard.press('Enter');
  await page.getByText('The code is wrong or was used already.').waitFor();
  assert.equal(await page.getByLabel('E-mail').inputValue(), email);
  await page.getByLabel('Code', { exact: true }).fill(codes[0] ?? '');
  await page.keyboard.press('Enter');
  await page.getByText('9 recovery codes are left').waitFor();
});

test('the audit log shows who changed what, before and after, and finds it', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const anna = await insertMember(services, {
    ...{ accountId: cp.accountId, name: 'Anna', role: 'OWNER' as const },
  });
  await using opened = await visitAs(cp, anna.id, '#/audit');
  const { page } = opened;
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'Shop', request: { url: 'https://shop.example/' } },
  });
  await cp.api('PUT', `/v1/checks/${(body as { id: string }).id}`, { name: 'Front page' });
  await cp.api('POST', '/v1/variables', { key: 'A', value: 'b' });
  await page.reload();
  const rows = page.locator('tbody tr');
  await rows.nth(2).waitFor();
  await page.getByLabel('Search').fill('front');
  await rows.nth(1).waitFor({ state: 'detached' });
  await rows.getByText('name', { exact: true }).first().click();
  assert.equal(await rows.locator('del').innerText(), 'Shop');
  assert.equal(await rows.locator('ins').innerText(), 'Front page');
  assert.match(page.url(), /search=front/);
  await page.getByRole('button', { name: 'Refused' }).click();
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export CSV' }).click();
  assert.equal((await download).suggestedFilename(), 'audit-log.csv');
});

test('every page about people is accessible and fits, in light and in dark', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const setup = hashOf(await makeSetupLink(services));
  const { accountId } = cp;
  const invite = async (email: string) => {
    const { body } = await cp.api('POST', '/v1/invitations', { email });
    return `#/invitation?token=${tokenOf((body as { link: string }).link)}`;
  };
  const pages = (invitation: string) => ({
    '#/checks': 'Sign in to the console',
    '#/forgotten': 'Forgot password?',
    '#/setup': 'Open a link',
    [setup]: 'Set up the console',
    [invitation]: 'Join Main account',
    [`#/reset?token=${'A'.repeat(43)}`]: 'This link does not work',
  });
  const views = {
    '#/people': 'Pending invitations',
    '#/profile': 'this one',
    '#/audit': 'create invitation',
  };
  const invitation = await invite(`${'long'.repeat(12)}@shop.example`);
  for (const [width, colorScheme] of [
    [1440, 'light'],
    [360, 'dark'],
  ] as const) {
    await using outside = await visit(cp, '', { colorScheme, viewport: { width, height: 800 } });
    for (const [hash, waitsFor] of Object.entries(pages(invitation))) {
      await outside.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await assertPleasant(outside.page, waitsFor, width, `${hash} at ${width}`);
    }
  }
  const person = await insertMember(services, { accountId, name: 'Anna', role: 'OWNER' });
  for (const [width, colorScheme] of [
    [1440, 'dark'],
    [360, 'light'],
  ] as const) {
    const options = { colorScheme, viewport: { width, height: 800 } };
    await using inside = await visitAs(cp, person.id, '#/people', options);
    for (const [hash, waitsFor] of Object.entries(views)) {
      await inside.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await assertPleasant(inside.page, waitsFor, width, `${hash} at ${width}`);
    }
    await inside.page.evaluate(`location.hash = '#/people'`);
    await inside.page.getByRole('button', { name: 'Remove Anna' }).click();
    await assertPleasant(inside.page, 'Remove Anna?', width, `the question at ${width}`);
  }
});
