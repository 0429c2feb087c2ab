// Few share a process: it opens a browser.
/** The on-call calendar: overrides by dragging, by keyboard and by the dialog, beside a colleague who does the same. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { consoleNow } from '../../support/console-world.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { insertMember } from '../../support/people.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { eventually } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { TestConsole } from '../../support/test-console.ts';

let cp: TestControlPlane;
const browser = await openBrowser();
let console: TestConsole;
const [ann, bob] = ['ann@shop.example', 'bob@shop.example'] as const;

before(async () => {
  cp = await startTestControlPlane({ requestsPerMinute: 0, clock: new TestClock(consoleNow) });
  console = new TestConsole(cp, browser);
  for (const email of [ann, bob]) {
    await insertMember(cp.controlPlane.services, {
      ...{ accountId: cp.accountId, role: 'READ_WRITE', name: email, email },
    });
  }
});
after(async () => {
  await cp[Symbol.asyncDispose]();
});
afterEach(() => {
  console.assertNoTrouble();
});

interface Override {
  from: string;
  until: string;
  person: string;
}

const rotation = {
  ...{ people: [ann, bob], timezone: 'America/New_York', startDate: '2026-01-05' },
  overrides: [] as Override[],
};

async function makePolicy(overrides: Override[] = []) {
  const { body } = await cp.api('POST', '/v1/escalation-policies', {
    ...{ name: 'Night', steps: [{ onCall: true }], rotation: { ...rotation, overrides } },
  });
  const path = `/v1/escalation-policies/${body.id}`;
  const saved = async (): Promise<Override[]> =>
    (await cp.api('GET', path)).body.rotation.overrides;
  const becomes = (wanted: Override[]) =>
    eventually(
      async () => JSON.stringify(await saved()) === JSON.stringify(wanted),
      () => `not ${JSON.stringify(wanted)}`,
    );
  return { id: body.id as string, path, becomes };
}

/** In the time zone of the browser, which is that of this process. */
const local = (day: number, hour = 0) => new Date(2026, 10, day, hour).toISOString();

const day = (page: Page, number: number) =>
  page.getByRole('button', { name: new RegExp(`^New override, .*Nov ${number}(, 00:00)?$`) });

async function drag(page: Page, from: Locator, to: Locator, { atEnd = false } = {}) {
  const [start, end] = [await from.boundingBox(), await to.boundingBox()];
  assert.ok(start !== null && end !== null);
  const x = atEnd ? start.x + start.width - 3 : start.x + Math.min(20, start.width / 2);
  await page.mouse.move(x, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(end.x + end.width / 2, end.y + 8, { steps: 4 });
  await page.mouse.up();
}

test('an override is drawn over days, moved, resized, undone and removed', async () => {
  const { id, becomes } = await makePolicy();
  await using opened = await console.visit(`#/settings/policy/${id}`);
  const { page } = opened;
  await page.getByText('Handover: Monday, 09:00 America/New_York').waitFor();
  await page.getByText('Now', { exact: true }).waitFor();
  await drag(page, day(page, 24), day(page, 25));
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Person').selectOption(bob);
  await dialog.getByRole('button', { name: 'Save' }).click();
  const made = { from: local(24), until: local(26), person: bob };
  await becomes([made]);
  const shifts = page.getByRole('list', { name: 'Shifts' });
  await shifts.getByText(`${bob} (override)`).waitFor();

  const bar = page.getByRole('button', { name: `Override: ${bob}` });
  await drag(page, bar, day(page, 18));
  const moved = { from: local(18), until: local(20), person: bob };
  await becomes([moved]);
  await drag(page, bar, day(page, 20), { atEnd: true });
  await becomes([{ ...moved, until: local(21) }]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes([moved]);

  await bar.click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await becomes([]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes([moved]);
});

test('without a mouse: days are selected, an override is moved and resized, and hours are snapped to', async () => {
  const { id, becomes } = await makePolicy();
  await using opened = await console.visit(`#/settings/policy/${id}`);
  const { page } = opened;
  await day(page, 16).focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Until').fill('2026-11-22T00:00');
  await dialog.getByText('It must end after it begins.').waitFor();
  await dialog.getByLabel('Until').fill('2026-11-25T06:30');
  await dialog.getByRole('button', { name: 'Save' }).focus();
  await page.keyboard.press('Enter');
  const until = new Date(2026, 10, 25, 6, 30).toISOString();
  await becomes([{ from: local(23), until, person: ann }]);
  // The page shows what was saved a moment after the server has it.
  await page.getByText('Saved.').waitFor();
  const bar = page.getByRole('button', { name: `Override: ${ann}` }).first();
  await bar.focus();
  await page.keyboard.press('ArrowRight');
  await page.getByText('Enter saves, Escape cancels').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Enter');
  await becomes([{ from: local(24), until, person: ann }]);

  await page.getByRole('button', { name: 'Hours of a week' }).click();
  await page.getByRole('button', { name: 'Later' }).click();
  await drag(
    page,
    page.getByRole('button', { name: /Nov 27, 03:00$/ }),
    page.getByRole('button', { name: /Nov 27, 05:00$/ }),
  );
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: /^Override: .*Nov 27, 03:00/ }).waitFor();
  const night = { from: local(27, 3), until: local(27, 6), person: ann };
  await becomes([{ from: local(24), until, person: ann }, night]);
});

test('times are those of the zone that the viewer chose, typed and shown, until they choose that of the browser', async () => {
  const at = (time: string) => `2026-11-${time}:00.000Z`;
  const { id, becomes } = await makePolicy([
    { from: at('24T14:30'), until: at('25T14:30'), person: ann },
  ]);
  await using opened = await console.visit('#/settings/profile');
  const { page } = opened;
  const zone = page.getByLabel('Times in');
  const choose = async (wanted: string) => {
    const isLoaded = page.waitForEvent('load');
    await zone.selectOption(wanted);
    await isLoaded;
    await zone.and(page.locator(`:has(option:checked[value="${wanted}"])`)).waitFor();
  };
  // Half an hour beside all others, so that neither the browser nor UTC has the same days or hours.
  await choose('Australia/Darwin');
  await page.goto(`${cp.url}/console/#/settings/policy/${id}`);
  await page.getByText('Times are yours (Australia/Darwin)').waitFor();
  await page.locator('[data-override="0"]').first().dblclick();
  const [from, until] = [page.getByLabel('From'), page.getByLabel('Until')];
  assert.deepEqual(
    [await from.inputValue(), await until.inputValue()],
    ['2026-11-25T00:00', '2026-11-26T00:00'],
  );
  await from.fill('2026-11-25T01:15');
  await page.getByRole('button', { name: 'Save' }).click();
  await becomes([{ from: at('24T15:45'), until: at('25T14:30'), person: ann }]);

  await page.goto(`${cp.url}/console/#/settings/profile`);
  await choose('');
  await page.goto(`${cp.url}/console/#/settings/policy/${id}`);
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  await page.getByText(`Times are yours (${timeZone})`).waitFor();
});

test('what is begun while another override is being saved stays', async () => {
  const first = { from: local(24), until: local(25), person: ann };
  const { id, path, becomes } = await makePolicy([first]);
  await using opened = await console.visit(`#/settings/policy/${id}`);
  const { page } = opened;
  const held = Promise.withResolvers<void>();
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === 'PUT') await held.promise;
    await route.continue();
  });
  const bar = page.getByRole('button', { name: `Override: ${ann}` });
  await bar.waitFor();
  await Promise.all([
    page.waitForRequest((request) => request.method() === 'PUT'),
    drag(page, bar, day(page, 18)),
  ]);
  await day(page, 25).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  const begun = page.getByText(/Nov 26, .*Enter saves/);
  await begun.waitFor();
  held.resolve();
  const moved = { from: local(18), until: local(19), person: ann };
  await becomes([moved]);
  await page.getByRole('button', { name: /^Override: .*Nov 18/ }).waitFor();
  await begun.waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await becomes([moved, { from: local(26), until: local(28), person: ann }]);
});

test('a colleague’s overrides are kept, and one that both changed is said', async () => {
  const first = { from: local(24), until: local(25), person: ann };
  const { id, path, becomes } = await makePolicy([first]);
  await using opened = await console.visit(`#/settings/policy/${id}`);
  const { page } = opened;
  const bar = page.getByRole('button', { name: `Override: ${ann}` });
  await bar.click();
  const dialog = page.getByRole('dialog');
  const theirs = { from: local(27), until: local(28), person: bob };
  await cp.api('PUT', path, { rotation: { ...rotation, overrides: [theirs, first] } });
  await dialog.getByLabel('Person').selectOption(bob);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await becomes([theirs, { ...first, person: bob }]);

  await page.getByRole('button', { name: /^Override: bob.*, Nov 24/ }).click();
  await cp.api('PUT', path, { rotation: { ...rotation, overrides: [theirs] } });
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await dialog.getByText('Somebody else changed or removed this override meanwhile.').waitFor();
  await becomes([theirs]);
});

test('the calendar has a link for calendar programs, which is shown again and revoked', async () => {
  const { id } = await makePolicy();
  await using opened = await console.visit(`#/settings/policy/${id}`, { refusals: [404] });
  const { page } = opened;
  await page.getByText('Calendar feed').click();
  await page.getByRole('button', { name: 'Create URL' }).click();
  const url = await page.getByRole('region', { name: 'URL' }).innerText();
  assert.match(await (await fetch(url)).text(), /^BEGIN:VCALENDAR/);
  await page.reload();
  await page.getByText('Calendar feed').click();
  await page.getByText(url).waitFor();
  await page.getByRole('button', { name: 'Delete URL' }).click();
  await page.getByRole('button', { name: 'Create URL' }).waitFor();
  assert.equal((await fetch(url)).status, 404);
});

test('the calendar is accessible and fits, and a role that may not change only sees it', async () => {
  const { id } = await makePolicy([{ from: local(24), until: local(25), person: ann }]);
  for (const [width, scheme] of [
    [1440, 'light'],
    [390, 'dark'],
  ] as const) {
    await using opened = await console.visit('', { width, scheme });
    for (const zoom of ['weeks', 'hours']) {
      const hash = `#/settings/policy/${id}?zoom=${zoom}&from=2026-11-23`;
      await opened.page.evaluate(`location.hash = '${hash}'`);
      await assertPleasant(opened.page, 'Handover', width, `${zoom} at ${width}, ${scheme}`);
    }
  }
  const { rawKey } = (await cp.api('POST', '/v1/api-keys', { name: 'reader', role: 'READ_ONLY' }))
    .body;
  await using opened = await console.visit(`#/settings/policy/${id}`, { key: rawKey });
  await opened.page.getByText('Handover').waitFor();
  await opened.page.getByText('Now', { exact: true }).waitFor();
  assert.equal(await opened.page.getByRole('button', { name: /override/i }).count(), 0);
});
