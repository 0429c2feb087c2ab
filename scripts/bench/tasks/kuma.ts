/** The same tasks in Uptime Kuma 2.5, the shortest way that its pages offer. */
import { services, targetLines, taskNames } from './own.ts';
import type { Person, TaskCost } from './person.ts';

const password = 'nine green Bottles 9';

/** What it has no counterpart of is left out: locations, colleagues, and to acknowledge an alert. */
export async function kumaTasks(
  person: Person,
  { url, target }: { url: string; target: string },
): Promise<TaskCost[]> {
  const { page } = person;
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const link = (name: string) => page.getByRole('link', { name, exact: true });
  const costs: TaskCost[] = [];
  const does = async (name: keyof typeof taskNames, what: () => Promise<void>) => {
    costs.push(await person.does(taskNames[name], what));
  };
  const address = page.getByTestId('url-input');
  const saved = (id: number) =>
    page.getByRole('heading', { level: 1, name: new RegExp(`# ${id}$`) }).waitFor();

  await does('signIn', async () => {
    await page.goto(url);
    await person.click(page.getByText('SQLite', { exact: true }));
    await person.click(button('Next'));
    await person.fill(page.getByLabel('Username'), 'anna');
    await person.fill(page.getByLabel('Password', { exact: true }), password);
    await person.fill(page.getByLabel('Repeat Password'), password);
    await person.press('Enter');
    await link('Add New Monitor').waitFor();
  });
  await does('first', async () => {
    await person.click(link('Add New Monitor'));
    await person.fill(address, target);
    await person.press('Enter');
    await saved(1);
  });
  await does('many', async () => {
    for (const [index, line] of targetLines(target).entries()) {
      await person.click(link('Clone'));
      // What is typed before it has read the original is lost.
      await page.waitForFunction("document.querySelector('#name')?.value.startsWith('Clone of')");
      await person.fill(page.getByTestId('friendly-name-input'), `service-${index + 1}`);
      await person.fill(address, line);
      await person.press('Enter');
      await saved(index + 2);
    }
  });
  await does('page', async () => {
    await person.click(link('Status Pages'));
    await person.click(link('New Status Page'));
    await person.fill(page.getByLabel('Name', { exact: true }), 'Shop');
    await person.fill(page.getByLabel('Slug'), 'shop');
    await person.press('Enter');
    await button('Add Group').waitFor();
    const list = page.locator('.multiselect__content-wrapper').last();
    for (let index = 1; index <= services; index += 1) {
      await person.click(page.locator('.multiselect').last());
      await person.click(list.getByText(new RegExp(`service-${index}(?!\\d)`)).first());
      await list.waitFor({ state: 'hidden' });
    }
    await person.click(button('Save'));
    await button('Edit Status Page').waitFor();
  });
  await does('incident', async () => {
    await person.click(button('Edit Status Page'));
    await person.click(button('Create Incident'));
    const incident = page.locator('.incident');
    await person.fill(incident.locator('[contenteditable]').first(), 'Checkout is slow');
    await person.fill(incident.locator('[contenteditable]').nth(1), 'We look into it.');
    await person.click(button('Post'));
    for (const text of ['A database is overloaded.', 'It is fast again.']) {
      await person.click(button('Edit'));
      await person.fill(incident.locator('[contenteditable]').nth(1), text);
      await person.click(button('Post'));
      await page.getByText(text).waitFor();
    }
    await page.goto(url);
  });
  await does('maintenance', async () => {
    await person.click(page.locator('.profile-pic'));
    await person.click(link('Maintenance'));
    await person.click(link('Schedule Maintenance'));
    await page.locator('input[type=datetime-local]').last().waitFor();
    await person.fill(page.getByLabel('Title'), 'Move of the database');
    await person.click(page.locator('.multiselect').first());
    await person.click(page.locator('.multiselect__element').first());
    await person.fill(page.locator('input[type=datetime-local]').first(), '2030-01-05T08:00');
    await person.fill(page.locator('input[type=datetime-local]').last(), '2030-01-05T10:00');
    await person.click(button('Save'));
    await page.getByText('Move of the database').first().waitFor();
  });
  return costs;
}
