// Own process: it starts programs and a browser.
/**
 * A new team does in the console what it has to do, from the first link to an acknowledged alert, with fewer clicks
 * and fields than in Uptime Kuma.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { listen } from '../../proof/listen.ts';
import { Operator } from '../support/control-plane-command.ts';
import { launchBrowser } from '../support/found-browser.ts';
import { mailServer } from '../support/mail-server.ts';
import { System, temporaryFolder } from '../support/system.ts';

/** Clicks and fields in Uptime Kuma 2.5, by the shortest way that its pages offer; null where it has no such task. */
const kuma = {
  'sign in for the first time': 6,
  'location with a running agent': null,
  'alerts by mail': null,
  'first monitor': 3,
  '30 monitors': 120,
  'status page with 7 services': 20,
  'incident with two updates': 11,
  maintenance: 9,
  'invite a colleague': null,
  'acknowledge an alert from a mail': null,
};
const owner = 'anna@shop.example';
const colleague = 'ben@shop.example';

/** A person at a browser, of whom every click and every field is counted. */
class Person {
  readonly page: Page;
  readonly costs: Record<string, number> = {};
  #steps = 0;
  #field: Locator | null = null;

  constructor(page: Page) {
    this.page = page;
    // What a person waits for is a run in the end, which takes long on a busy machine.
    page.setDefaultTimeout(120_000);
  }

  async click(what: Locator): Promise<void> {
    await what.click();
    this.#steps += 1;
  }

  /** In the field that was filled last, also when the page has drawn it anew since. */
  async enter(): Promise<void> {
    await this.#field?.press('Enter');
    this.#steps += 1;
  }

  async fill(what: Locator, text: string): Promise<void> {
    await what.fill(text);
    this.#field = what;
    this.#steps += 1;
  }

  async does(task: keyof typeof kuma, what: () => Promise<void>): Promise<void> {
    const before = this.#steps;
    await what();
    this.costs[task] = this.#steps - before;
  }
}

test('every task of a new team ends well, with fewer clicks and fields than in Uptime Kuma', async () => {
  using folder = temporaryFolder();
  let status = 200;
  const shop = createServer((_request, response) => response.writeHead(status).end('shop'));
  await using target = await listen(shop);
  await using mail = await mailServer();
  await using system = await System.start(folder.path, {
    SMTP_URL: mail.url,
    MAIL_FROM: 'Monitor <monitor@shop.example>',
  });
  await using browser = await launchBrowser();
  const viewport = { width: 1280, height: 900 };
  const openPage = async () => (await browser.newContext({ viewport })).newPage();
  const linkOfMail = async (address: string, pattern: RegExp): Promise<string> => {
    const text = await mail.mailTo(address, pattern);
    return /https?:\/\/\S+/.exec(text.slice(text.search(pattern)))?.[0] ?? '';
  };
  const operator = new Operator(folder.path, system.environment);
  const { link: setUpLink } = await operator.json<{ link: string }>('people', 'first');

  const person = new Person(await openPage());
  const { page } = person;
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const link = (name: string) => page.getByRole('link', { name, exact: true });
  const view = (name: string) =>
    page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true });
  const field = (name: string) => page.getByLabel(name, { exact: true });
  const heading = (name: string) => page.getByRole('heading', { name, level: 1, exact: true });

  await person.does('sign in for the first time', async () => {
    await page.goto(setUpLink);
    await person.fill(field('E-mail'), owner);
    await person.fill(field('Name'), 'Anna');
    await person.fill(field('New password'), 'a sentence that nobody guesses');
    await person.enter();
    await heading('Monitors').waitFor();
  });
  await person.does('location with a running agent', async () => {
    await person.click(view('Locations'));
    await person.click(link('New location'));
    await person.fill(field('Name'), 'Office');
    await person.enter();
    const key = await page.getByRole('region', { name: 'Key', exact: true }).innerText();
    system.startAgent('agent', key);
    await page.getByText('1 agent connected').waitFor();
  });
  await person.does('alerts by mail', async () => {
    await person.click(view('Settings'));
    await person.click(link('Channels'));
    await person.click(link('New channel'));
    await person.fill(field('Address'), owner);
    await person.enter();
    await page.getByText(owner).first().waitFor();
  });
  // Where everybody begins.
  await view('Monitors').click();
  await person.does('first monitor', async () => {
    await person.fill(page.getByLabel('URL or host'), `${target.url}/`);
    await person.enter();
    await page.getByText('Passing', { exact: true }).first().waitFor();
  });
  await person.does('30 monitors', async () => {
    const lines = Array.from({ length: 30 }, (_, index) => `${target.url}/service-${index + 1}`);
    await person.click(view('Monitors'));
    await person.click(link('Import'));
    await person.fill(page.getByLabel(/^One target per line/), lines.join('\n'));
    await person.click(button('Create 30 monitors'));
    await heading('Monitors').waitFor();
    await page.getByText('service-30').first().waitFor();
  });
  await person.does('status page with 7 services', async () => {
    await person.click(view('Monitors'));
    for (let index = 1; index <= 7; index += 1) {
      const row = page.getByRole('row').filter({ hasText: new RegExp(`service-${index}(?!\\d)`) });
      await person.click(row.getByRole('checkbox'));
    }
    await person.click(button('New status page'));
    await person.fill(field('Name').first(), 'Shop');
    await person.click(button('Create'));
    await link('/status/shop').waitFor();
  });
  await person.does('incident with two updates', async () => {
    await person.click(view('Incidents'));
    await person.click(link('New incident'));
    await person.fill(field('Name'), 'Checkout is slow');
    await person.click(page.getByLabel(/service-1$/));
    await person.fill(field('Description'), 'We look into it.');
    await person.click(button('Create'));
    await heading('Checkout is slow').waitFor();
    for (const step of ['Identified', 'Resolved']) {
      await person.click(button(step));
      await person.click(button('Create'));
      await page.getByRole('listitem').filter({ hasText: step }).waitFor();
    }
  });
  await person.does('maintenance', async () => {
    await person.click(view('Incidents'));
    await person.click(link('Maintenance'));
    await person.click(link('New maintenance window'));
    await person.fill(field('Name'), 'Move of the database');
    await person.fill(field('Start'), '2030-01-05T08:00');
    await person.fill(field('End'), '2030-01-05T10:00');
    await person.click(field('Pause all monitors'));
    await person.enter();
    await page.getByText('Move of the database').first().waitFor();
  });
  await person.does('invite a colleague', async () => {
    await person.click(view('Settings'));
    await person.click(link('People'));
    await person.fill(field('E-mail'), colleague);
    await person.enter();
    await page.getByRole('rowheader', { name: colleague }).waitFor();
  });
  const ben = await openPage();
  await ben.goto(await linkOfMail(colleague, /invite/i));
  await ben.getByLabel('Name').waitFor();
  await person.does('acknowledge an alert from a mail', async () => {
    status = 500;
    await page.goto(await linkOfMail(owner, /acknowledge/i));
    await person.click(button('Acknowledge'));
    await page.getByRole('heading', { name: 'Acknowledged' }).waitFor();
  });

  assert.deepEqual(Object.keys(person.costs), Object.keys(kuma));
  for (const [task, most] of Object.entries(kuma)) {
    const cost = person.costs[task] ?? Infinity;
    assert.ok(most === null || cost < most, `${task} took ${cost} clicks and fields`);
  }
});
