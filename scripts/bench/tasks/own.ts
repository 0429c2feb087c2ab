/** The tasks of a new team in the console, from the first link to an acknowledged alert. */
import type { Page } from 'playwright-core';
import type { Person, TaskCost } from './person.ts';

export interface TaskSurroundings {
  /** The one-time link that `serve` prints. */
  setUpLink: string;
  /** Starts an agent with a key, as the line of the console says. */
  startAgent: (key: string) => void;
  /** A target that is up until it is broken. */
  target: string;
  breakTarget: () => void;
  /** The first link in the first mail to an address whose subject or text matches. */
  linkOfMail: (address: string, pattern: RegExp) => Promise<string>;
  /** A page of a browser that has not signed in. */
  otherPage: () => Promise<Page>;
}

const password = 'a sentence that nobody guesses';
const owner = 'anna@shop.example';
const colleague = 'ben@shop.example';
const monitors = 30;
export const services = 7;

export const taskNames = {
  signIn: 'sign in for the first time',
  location: 'location with a running agent',
  mail: 'alerts by mail',
  first: 'first monitor',
  many: `${monitors} monitors`,
  page: `status page with ${services} services`,
  incident: 'incident with two updates',
  maintenance: 'maintenance',
  invite: 'invite a colleague',
  acknowledge: 'acknowledge an alert from a mail',
};

/** Targets of the monitors, a line each. */
export function targetLines(target: string): string[] {
  return Array.from({ length: monitors }, (_, index) => `${target}service-${index + 1}`);
}

export async function ownTasks(
  person: Person,
  { setUpLink, startAgent, target, breakTarget, linkOfMail, otherPage }: TaskSurroundings,
): Promise<TaskCost[]> {
  const { page } = person;
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const link = (name: string) => page.getByRole('link', { name, exact: true });
  const view = (name: string) =>
    page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true });
  const field = (name: string) => page.getByLabel(name, { exact: true });
  const heading = (name: string) => page.getByRole('heading', { name, level: 1, exact: true });
  const costs: TaskCost[] = [];
  const does = async (name: keyof typeof taskNames, what: () => Promise<void>) => {
    costs.push(await person.does(taskNames[name], what));
  };

  await does('signIn', async () => {
    await page.goto(setUpLink);
    await person.fill(field('E-mail'), owner);
    await person.fill(field('Name'), 'Anna');
    await person.fill(field('New password'), password);
    await person.press('Enter');
    await heading('Checks').waitFor();
  });
  await does('location', async () => {
    await person.click(view('Agents'));
    await person.click(link('New location'));
    await person.fill(field('Name'), 'Office');
    await person.press('Enter');
    startAgent(await page.getByRole('region', { name: 'Key', exact: true }).innerText());
    await page.getByText('1 agent connected').waitFor();
  });
  await does('mail', async () => {
    await person.click(view('Alerts'));
    await person.click(link('New channel'));
    await person.fill(field('Address'), owner);
    await person.press('Enter');
    await page.getByText(owner).first().waitFor();
  });
  // Where everybody begins.
  await view('Checks').click();
  await does('first', async () => {
    await person.fill(page.getByLabel('What to watch'), target);
    await person.press('Enter');
    await page.getByText('Passing', { exact: true }).first().waitFor();
  });
  await does('many', async () => {
    await person.click(view('Checks'));
    await person.click(link('From a list'));
    await person.fill(page.getByLabel('A target a line'), targetLines(target).join('\n'));
    await person.click(button(`Create ${monitors} checks`));
    await heading('Checks').waitFor();
    await page.getByText('service-30').first().waitFor();
  });
  await does('page', async () => {
    await person.click(view('Checks'));
    for (let index = 1; index <= services; index += 1) {
      const row = page.getByRole('row').filter({ hasText: new RegExp(`service-${index}(?!\\d)`) });
      await person.click(row.getByRole('checkbox'));
    }
    await person.click(button('New status page'));
    await person.fill(field('Name').first(), 'Shop');
    await person.click(button('Create'));
    await link('/status/shop').waitFor();
  });
  await does('incident', async () => {
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
  await does('maintenance', async () => {
    await person.click(view('Incidents'));
    await person.click(link('New maintenance window'));
    await person.fill(field('Name'), 'Move of the database');
    await person.fill(field('From'), '2030-01-05T08:00');
    await person.fill(field('To'), '2030-01-05T10:00');
    await person.click(field('Pauses all checks, whatever their tags'));
    await person.press('Enter');
    await page.getByText('Move of the database').first().waitFor();
  });
  await does('invite', async () => {
    await person.click(view('People'));
    await person.fill(field('E-mail'), colleague);
    await person.press('Enter');
    await page.getByRole('rowheader', { name: colleague }).waitFor();
  });
  const ben = await otherPage();
  await ben.goto(await linkOfMail(colleague, /invite/i));
  await ben.getByLabel('Name').waitFor();
  await does('acknowledge', async () => {
    breakTarget();
    const mail = await linkOfMail(owner, /acknowledge/i);
    await page.goto(mail);
    await person.click(button('Acknowledge'));
    await page.getByText('acknowledged').waitFor();
  });
  return costs;
}
