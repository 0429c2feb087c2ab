// Own process: it starts browsers.
/** The forms of the console as people use them: nothing typed is lost, and every refusal is at its field. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { forms } from '../../../control-plane/console/form-facts.ts';
import { isAsked } from '../../../control-plane/console/forms/conditions.ts';
import {
  fieldAt,
  newValues,
  parentOf,
  valueAt,
  type Values,
} from '../../../control-plane/console/forms/values.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../../support/fake-agent.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { loadAxe } from '../../support/pleasant-page.ts';
import { fillKey, insertMember } from '../../support/people.ts';
import { eventually } from '../../support/system.ts';
import { TestConsole } from '../../support/test-console.ts';

let cp: TestControlPlane;
const browser = await openBrowser();
let console: TestConsole;

before(async () => {
  cp = await startTestControlPlane({ requestsPerMinute: 0 });
  console = new TestConsole(cp, browser);
  await cp.api('POST', '/v1/private-locations', { name: 'Office', slugName: 'office' });
});
after(async () => {
  await cp[Symbol.asyncDispose]();
});
afterEach(() => {
  console.assertNoTrouble();
});

/** Opens every group under Advanced. */
async function openGroups(page: Page) {
  await page.locator('.advanced > details').first().waitFor();
  await page.evaluate(
    `document.querySelectorAll('.advanced > details').forEach((one) => { one.open = true; })`,
  );
}

const save = (page: Page, word = 'Create') => page.getByRole('button', { name: word, exact: true });

async function readCheck(name: string) {
  const { body } = await cp.api('GET', '/v1/checks?limit=100');
  const found = (body as { name: string; id: string }[]).find((check) => check.name === name);
  assert.ok(found !== undefined, `no check is named ${name}`);
  return (await cp.api('GET', `/v1/checks/${found.id}`)).body;
}

test('a URL monitor needs its URL alone: name and location follow', async () => {
  await using opened = await console.visit('#/checks');
  const { page } = opened;
  await page.getByRole('link', { name: 'New monitor' }).click();
  await page.getByLabel('URL', { exact: true }).fill('https://shop.example/health');
  await save(page).click();
  await page.getByRole('heading', { name: 'shop.example/health', level: 1, exact: true }).waitFor();
  const check = await readCheck('shop.example/health');
  assert.deepEqual(
    [check.checkType, check.request.url, check.privateLocations],
    ['URL', 'https://shop.example/health', ['office']],
  );
});

test('a first monitor of a usual type shows three fields, and Advanced has all others', async () => {
  await using opened = await console.visit('#/new/check');
  const { page } = opened;
  // A group of checkboxes is one field.
  const controls = 'input:not([type=checkbox]), select, textarea, .cm-editor, fieldset.group';
  for (const type of ['URL', 'API', 'TCP', 'ICMP', 'BROWSER']) {
    const form = forms[`check-${type}`];
    assert.ok(form !== undefined);
    await page.evaluate(`location.hash = '#/new/check?type=${type}'`);
    await page.getByRole('heading', { name: `New ${form.noun}` }).waitFor();
    await page.locator('.form .card').first().locator(controls).first().waitFor();
    const count = () =>
      page.locator('.plain-set').locator(controls).filter({ visible: true }).count();
    // The editor of a script is loaded with the first of them.
    if (type === 'BROWSER') await page.locator('.plain-set .cm-editor').first().waitFor();
    assert.equal(await count(), 3, type);
    await openGroups(page);
    assert.ok((await count()) > 10, type);
    const values = newValues(form);
    const asked = form.sections
      .flatMap(({ fields }) => fields)
      .filter((path) => isAsked(path, valueAt(values, parentOf(path)) as Values, values));
    for (const path of asked) {
      // Lists have an input for each entry, and a button that adds one.
      const { label = '' } = fieldAt(form.fields, path) ?? {};
      const text = label.replaceAll(/[()]/g, '\\$&');
      const shown = page.locator('.plain-set').getByText(new RegExp(`^${text}( \\(optional\\))?$`));
      await shown.filter({ visible: true }).first().waitFor();
    }
  }
});

test('a limit below the other is named beside it at once, and fields without effect are not shown', async () => {
  await using opened = await console.visit('#/new/check?type=GRPC');
  const { page } = opened;
  await openGroups(page);
  await page.getByLabel('Degraded above').fill('900');
  await page.getByLabel('Failing above').fill('500');
  await page.getByText('Must be above the degraded limit').waitFor();
  await page.getByLabel('Failing above').fill('1000');
  assert.equal(await page.locator('.issue').count(), 0);
  const shown = (label: string) => page.getByLabel(label).count();
  // It begins with what needs no method.
  assert.equal(await shown('Message (JSON)'), 0);
  await page.getByLabel('Mode').selectOption('BEHAVIOR');
  assert.deepEqual([await shown('Proto file'), await shown('Message (JSON)')], [0, 1]);
  await page.getByLabel('Service definition').selectOption('PROTO_FILE');
  await page.getByLabel('Proto file').waitFor();
  await page.getByLabel('Mode').selectOption('HEALTH');
  await page.getByLabel('Proto file').waitFor({ state: 'detached' });
  assert.deepEqual([await shown('Message (JSON)'), await shown('Service definition')], [0, 0]);
});

test('an API check with headers, assertions and retries is created, copied, changed and deleted', async () => {
  await using opened = await console.visit('#/new/check?type=API', { refusals: [404] });
  const { page } = opened;
  await page.getByLabel('URL', { exact: true }).fill('https://api.example/v1');
  await openGroups(page);
  await page.getByRole('group', { name: 'Headers', exact: true }).getByText('Add').click();
  await page.getByLabel('Key').fill('x-team');
  await page.getByLabel('Value').fill('shop');
  await page.getByRole('button', { name: 'Add an assertion' }).click();
  const assertion = page.getByRole('group', { name: 'Assertion 1' });
  await assertion.getByLabel('Source').selectOption('JSON_BODY');
  await assertion.getByLabel('JSONPath').fill('$.ok');
  await assertion.getByLabel('Target').fill('true');
  await page.getByLabel('Interval', { exact: true }).selectOption('20 s');
  await page
    .getByRole('group', { name: 'Retry strategy' })
    .getByRole('combobox')
    .selectOption('own');
  await page.getByLabel('Max retries').fill('3');
  await page.getByLabel('Name', { exact: true }).fill('Orders');
  await save(page).click();
  await page.getByRole('heading', { name: 'Orders', level: 1, exact: true }).waitFor();
  const check = await readCheck('Orders');
  assert.deepEqual([check.frequency, check.frequencyOffset], [0, 20]);
  assert.deepEqual(check.request.headers, [{ key: 'x-team', value: 'shop', locked: false }]);
  assert.deepEqual(check.request.assertions, [
    { source: 'JSON_BODY', comparison: 'EQUALS', property: '$.ok', target: 'true', regex: null },
  ]);
  assert.equal(check.retryStrategy.maxRetries, 3);

  await page.getByRole('link', { name: 'Duplicate' }).click();
  await page.getByLabel('URL', { exact: true }).fill('https://api.example/v2');
  await save(page).click();
  await page.getByRole('heading', { name: 'Orders (copy)', level: 1, exact: true }).waitFor();
  const copy = await readCheck('Orders (copy)');
  assert.deepEqual(copy.request.headers, check.request.headers);

  await page.getByRole('link', { name: 'Edit' }).first().click();
  await openGroups(page);
  await page.getByLabel('Interval', { exact: true }).selectOption('5');
  await save(page, 'Save').click();
  await page.getByRole('heading', { name: 'Orders (copy)', level: 1, exact: true }).waitFor();
  assert.equal((await readCheck('Orders (copy)')).frequency, 5);

  await page.getByRole('link', { name: 'Edit' }).first().click();
  await page.getByRole('button', { name: 'Delete Orders (copy)' }).click();
  await page.getByRole('heading', { name: 'Monitors', level: 1, exact: true }).waitFor();
  const deletions = page.getByRole('region', { name: 'Deletions' });
  await deletions.getByRole('button', { name: /Delete now/ }).click();
  await deletions.waitFor({ state: 'detached' });
  assert.equal((await cp.api('GET', `/v1/checks/${copy.id}`)).status, 404);
});

test('each refused field is marked with one sentence, and the first has the focus', async () => {
  await using opened = await console.visit('#/new/check?type=TCP', { refusals: [400] });
  const { page } = opened;
  await page.getByLabel('Hostname').fill('db.example');
  await page.getByLabel('Port').fill('99999999');
  await openGroups(page);
  await page.getByLabel('Degraded above').fill('-5');
  await save(page).click();
  await page.getByText('2 fields are marked below.').waitFor();
  assert.equal(await page.locator('.issue').count(), 2);
  assert.match(await page.locator('.issue').first().innerText(), /^must be at most 65535$/);
  const invalid = page.locator('[aria-invalid=true]');
  assert.equal(await invalid.count(), 2);
  assert.equal(await page.evaluate('document.activeElement.ariaInvalid'), 'true');
  assert.equal(await page.getByLabel('Hostname').inputValue(), 'db.example');
  await page.getByLabel('Port').fill('5432');
  assert.equal(await page.locator('.issue').count(), 1);
});

test('what was typed survives a session that ends, and a control plane that is away', async () => {
  const { services } = cp.controlPlane;
  const made = await createApiKey(services, cp.accountId, { name: 'short-lived' });
  await using opened = await console.visit('#/new/check', { key: made.rawKey, refusals: [0, 401] });
  const { page } = opened;
  await page.getByLabel('URL', { exact: true }).fill('https://kept.example/');
  await openGroups(page);
  await page.getByLabel('Description').fill('typed for minutes');
  // Not before the click: the page also asks by itself.
  await page.route(
    '**/v1/checks/url?*',
    async (route) => {
      await cp.api('DELETE', `/v1/api-keys/${made.id}`);
      await route.continue();
    },
    { times: 1 },
  );
  await save(page).click();
  await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
  await fillKey(page, cp.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await openGroups(page);
  assert.equal(await page.getByLabel('Description').inputValue(), 'typed for minutes');
  await page.route('**/v1/checks/url?*', (route) => route.abort(), { times: 1 });
  await save(page).click();
  await page.getByText('What you typed is kept.').waitFor();
  await save(page).click();
  await page.getByRole('heading', { name: 'kept.example', level: 1, exact: true }).waitFor();
  assert.equal((await readCheck('kept.example')).description, 'typed for minutes');
});

test('an edit that meets the one of a colleague keeps both, and asks where both changed the same', async () => {
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'Both', description: 'old', tags: ['a'] },
    request: { url: 'https://both.example/' },
  });
  await using opened = await console.visit(`#/edit/check/${check.id}`, { refusals: [412] });
  const { page } = opened;
  await openGroups(page);
  await page.getByLabel('Description').fill('mine');
  await page.getByLabel('Mute alerts').check();
  const path = `/v1/checks/${check.id}`;
  await cp.api('PUT', path, { description: 'theirs', tags: ['b'] });
  await save(page, 'Save').click();
  await page.getByText('Somebody else saved this meanwhile').waitFor();
  assert.equal(await page.getByLabel('Tags').inputValue(), 'b');
  assert.equal(await page.getByLabel('Description').inputValue(), 'mine');
  await page.getByRole('button', { name: 'Take theirs' }).click();
  assert.equal(await page.getByLabel('Description').inputValue(), 'theirs');
  await save(page, 'Save').click();
  await page.getByRole('heading', { name: 'Both', level: 1, exact: true }).waitFor();
  const { body } = await cp.api('GET', path);
  assert.deepEqual([body.description, body.tags, body.muted], ['theirs', ['b'], true]);
});

test('what was typed before is joined with what a colleague saved since', async () => {
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'Left', description: 'old', tags: ['a'] },
    request: { url: 'https://left.example/' },
  });
  await using opened = await console.visit(`#/edit/check/${check.id}`);
  const { page } = opened;
  await openGroups(page);
  await page.getByLabel('Description').fill('mine');
  await page.evaluate("location.hash = '#/alerts'");
  await page.getByRole('heading', { name: 'Alerts', level: 1, exact: true }).waitFor();
  const path = `/v1/checks/${check.id}`;
  await cp.api('PUT', path, { tags: ['a', 'b'], activated: false });
  await page.evaluate(`location.hash = '#/edit/check/${check.id}'`);
  await openGroups(page);
  assert.equal(await page.getByLabel('Description').inputValue(), 'mine');
  await save(page, 'Save').click();
  await page.getByRole('heading', { name: 'Left', level: 1, exact: true }).waitFor();
  const { body } = await cp.api('GET', path);
  assert.deepEqual([body.description, body.tags, body.activated], ['mine', ['a', 'b'], false]);
});

const seenByApi = {
  assertions: [],
  request: { method: 'GET', url: 'https://tried.example/', data: '', headers: {}, params: {} },
  response: {
    ...{ status: 200, statusText: 'OK', headers: { 'content-type': 'application/json' } },
    ...{ body: '{"stock":{"books":7}}', timings: {}, timingPhases: {}, remoteAddress: '192.0.2.7' },
  },
  requestError: null,
  jobLog: { setup: [], request: [], teardown: [] },
  ...{ jobAssets: null, pcapDataUrl: null, networkDiagnostics: null },
};

test('a check is tried before it is saved, and assertions are picked from its answer', async () => {
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  await agent.checkIn(['API']);
  await using opened = await console.visit('#/new/check?type=API', { refusals: [400] });
  const { page } = opened;
  await page.getByLabel('URL', { exact: true }).fill('tried.example');
  await openGroups(page);
  await page.getByText('Data-center locations').first().click();
  await page.getByRole('checkbox', { name: /Ireland/ }).check();
  await page.getByRole('checkbox', { name: /Office/ }).uncheck();
  const tryIt = page.getByRole('button', { name: 'Try it' });
  await tryIt.click();
  await page.locator('.issue').filter({ hasText: 'http' }).waitFor();
  await page.getByLabel('URL', { exact: true }).fill('https://tried.example/');
  const answered = page.waitForResponse(/check-trials/);
  await tryIt.click();
  const trial = (await (await answered).json()) as { id: string };
  const [job] = (await agent.checkIn(['API'])).jobs;
  assert.ok(job !== undefined);
  const startedAt = Date.now();
  await agent.submit(
    resultOfJob(job, { apiCheckResult: seenByApi, startedAt, stoppedAt: startedAt + 20 }),
  );
  await page.getByText('Add assertions from this answer').click();
  await page.getByRole('button', { name: '$.stock.books' }).click();
  const assertion = page.getByRole('group', { name: 'Assertion 1' });
  assert.equal(await assertion.getByLabel('Target').inputValue(), '7');
  const ended = page.waitForRequest((request) => request.method() === 'DELETE');
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.match((await ended).url(), new RegExp(trial.id));
});

test('the form of a check says what its alert settings would have alerted about', async () => {
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'Replayed', locations: ['eu-west-1'], frequency: 1 },
    request: { url: 'https://replayed.example/' },
  });
  await using opened = await console.visit(`#/edit/check/${check.id}`);
  const { page } = opened;
  await page.getByRole('heading', { name: 'What would have alerted' }).waitFor();
  await page.getByText('0 alerts, from 0 runs').waitFor();
  await openGroups(page);
  await page.getByLabel('Use account defaults').uncheck();
  await page.getByLabel('Consecutive failures').selectOption('3');
  const asked = await page.waitForRequest(/replay/);
  assert.equal(asked.postDataJSON().alertSettings.runBasedEscalation.failedRunThreshold, 3);
});

test('the form of a check says when and where it runs next, and that of a window when it takes place', async () => {
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'In turn', request: { url: 'https://turn.example/' }, frequency: 10 },
    ...{ privateLocations: ['office'], locations: ['eu-west-1'] },
  });
  const { id } = body as { id: string };
  await using opened = await console.visit(`#/edit/check/${id}`, { refusals: [400] });
  const { page } = opened;
  await openGroups(page);
  const next = page.getByText('Next runs:');
  await next
    .filter({ hasText: / in Office/ })
    .filter({ hasText: / in Ireland/ })
    .waitFor();
  assert.equal(await next.locator('time').count(), 5);
  await page.getByLabel('Run in all locations at once').check();
  await next.filter({ hasText: 'each in 2 locations at once' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();

  await page.evaluate(`location.hash = '#/new/window'`);
  await page.getByText('Choose a start and an end.').waitFor();
  await page.getByLabel('Start', { exact: true }).fill('2099-03-01T20:00');
  await page.getByLabel('End', { exact: true }).fill('2099-03-01T22:00');
  await page.getByLabel('Repeat every').selectOption('WEEK');
  await page.getByRole('heading', { name: 'When it takes place' }).waitFor();
  const aside = page.getByLabel('Beside the form');
  await aside.getByRole('listitem').nth(2).waitFor();
  assert.equal(await aside.getByRole('listitem').count(), 3);
});

test('one of many monitors is found by its name, and what was picked stays shown', async () => {
  await using many = await startTestControlPlane({ requestsPerMinute: 0 });
  for (let index = 10; index < 50; index += 1) {
    await many.api('POST', '/v1/checks/tcp', {
      ...{ name: `Rack ${index}`, request: { hostname: 'a.example', port: 25 } },
    });
  }
  await using opened = await new TestConsole(many, browser).visit('#/new/window');
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('New disks');
  await page.getByLabel('Start', { exact: true }).fill('2099-03-01T20:00');
  await page.getByLabel('End', { exact: true }).fill('2099-03-01T22:00');
  await page
    .locator('summary', { hasText: /^Monitors$/ })
    .first()
    .click();
  const monitors = page.getByRole('group', { name: 'Monitors', exact: true });
  await monitors.getByText('and 10 more').waitFor();
  assert.equal(await monitors.getByRole('checkbox').count(), 30);
  const search = monitors.getByRole('searchbox');
  await search.fill('49 rack');
  await monitors.getByLabel('Rack 49').check();
  await search.fill('rack 1');
  await search.press('Enter');
  await monitors.getByLabel('Rack 19').waitFor();
  const shown = await monitors.getByRole('checkbox', { checked: true }).count();
  assert.deepEqual([shown, await monitors.getByText('more: search').count()], [1, 0]);
  await save(page).click();
  await page.getByText('New disks').first().waitFor();
  const { body: windows } = await many.api('GET', '/v1/maintenance-windows');
  const { body: checks } = await many.api('GET', '/v1/checks?limit=100');
  const picked = checks.find(({ name }: { name: string }) => name === 'Rack 49');
  assert.deepEqual(windows[0].pauseScope.checkIds, [picked.id]);
});

test('the form of a status page shows the page as visitors would see it, which runs and leads nowhere', async () => {
  const { body } = await cp.api('POST', '/v1/status-pages/services', { name: 'Ledger' });
  const service = body as { id: string };
  await using opened = await console.visit('#/new/page');
  const { page } = opened;
  const shown = page.frameLocator('iframe[title="Preview of the page"]');
  await shown.getByText('Sample incident').first().waitFor();
  const name = '<img src=x onerror="window.hacked=1">Shop';
  await page.getByLabel('Name', { exact: true }).first().fill(name);
  await shown.getByText(name).first().waitFor();
  await page.getByRole('checkbox', { name: 'Ledger' }).check();
  await shown.locator(`#s-${service.id.slice(-12)}`).waitFor();
  await openGroups(page);
  await page.getByLabel('Language', { exact: true }).selectOption('de');
  await shown.locator('html[lang=de]').waitFor();
  // The page is drawn anew after each change: in between it has no body.
  const inFrame = (expression: string) =>
    page.evaluate(
      `(({ contentDocument: { body } }) => body && ${expression})(document.querySelector('iframe'))`,
    );
  const colour = () => inFrame('getComputedStyle(body).backgroundColor');
  let light: unknown = null;
  await eventually(
    async () => (light = await colour()) !== null,
    () => 'the page has no body',
  );
  await page.getByLabel('Visitor prefers').selectOption('DARK');
  await eventually(
    async () => ![null, light].includes((await colour()) as null),
    () => 'the page is still light',
  );
  await page.getByLabel('Screen').selectOption('desktop');
  await page.locator('.page-preview.desktop').waitFor();
  await eventually(
    async () => (await inFrame('body.inert')) === true,
    () => 'the page can be used',
  );
});

test('a policy is made, says who is on call, and is chosen for a check', async () => {
  const { accountId, controlPlane } = cp;
  const of = { accountId, role: 'READ_WRITE' as const };
  const ann = await insertMember(controlPlane.services, { ...of, name: 'Ann' });
  const bob = await insertMember(controlPlane.services, { ...of, name: 'Bob' });
  const { body: channel } = await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'EMAIL', config: { address: 'night@shop.example' } },
  });
  await using opened = await console.visit('#/settings/policy');
  const { page } = opened;
  await page.getByRole('link', { name: 'New policy' }).click();
  await page.getByLabel('Name').fill('Night shift');
  await page.getByLabel('Email: night@shop.example').first().check();
  const picture = page.getByRole('list', { name: 'Escalation' });
  await picture.getByText('night@shop.example').waitFor();
  await page.getByLabel('Repeat', { exact: true }).fill('2');
  await page.getByLabel('Delay').fill('5');
  await picture.getByText('After 5 min').waitFor();
  assert.match(await picture.innerText(), /Again every 5 min\s+2 times\s+Ends/);
  await save(page).click();
  const policies = page.getByRole('region', { name: 'Escalation policies', exact: true });
  await policies.getByRole('link', { name: 'Night shift' }).waitFor();
  const { body: made } = await cp.api('GET', '/v1/escalation-policies');
  assert.deepEqual(made[0].steps[0].alertChannelIds, [channel.id]);
  const rotation = { people: [ann.email, bob.email], startDate: '2026-01-01' };
  await cp.api('PUT', `/v1/escalation-policies/${made[0].id}`, { rotation });
  await page.reload();
  await policies.getByText(/@a.example is on call/).waitFor();
  await policies.getByText('1 step').click();
  await policies.getByRole('list', { name: 'Escalation' }).getByText('After 5 min').waitFor();
  await policies.getByRole('link', { name: 'Night shift' }).click();
  await page
    .getByRole('complementary')
    .getByText(/@a.example is on call/)
    .waitFor();

  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'Escalated', locations: ['eu-west-1'], frequency: 1 },
    request: { url: 'https://escalated.example/' },
  });
  await page.goto(`${cp.url}/console/#/edit/check/${check.id}`);
  await openGroups(page);
  await page.getByLabel('Use account defaults').uncheck();
  await page.getByLabel('Escalation policy').selectOption({ label: 'Night shift' });
  await save(page, 'Save').click();
  await page.getByRole('heading', { name: 'Escalated', level: 1, exact: true }).waitFor();
  const { alertSettings } = (await cp.api('GET', `/v1/checks/${check.id}`)).body;
  assert.equal(alertSettings.escalationPolicyId, made[0].id);
});

test('a location gets a key, the lines that start an agent, and its state', async () => {
  await using opened = await console.visit('#/new/location');
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('Halle 7 (Köln)');
  await save(page).click();
  await page.getByRole('heading', { name: 'Halle 7 (Köln)', level: 1, exact: true }).waitFor();
  await page.getByText('Waiting for an agent').waitFor();
  await page.getByText('Copy the key now').waitFor();
  const key = await page.getByRole('region', { name: 'Key', exact: true }).innerText();
  assert.match(key, /^pl_\S+$/);
  const text = await page.getByRole('region', { name: 'Commands' }).innerText();
  assert.match(text, new RegExp(`CONTROL_PLANE_URL=${cp.url}`));
  assert.ok(!text.includes(key), 'the key stands in a line that people run');
  await page.getByText(`${cp.url} is only reachable from this machine`).waitFor();
  const { body } = await cp.api('GET', '/v1/private-locations');
  const location = (body as { slugName: string }[]).find(
    ({ slugName }) => slugName === 'halle-7-koln',
  );
  assert.ok(location !== undefined);
  await page.reload();
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  assert.ok(!(await page.locator('main').innerText()).includes(key));
});

test('many checks are made of a pasted list, and a line without a target is named', async () => {
  await using opened = await console.visit('#/new/checks');
  const { page } = opened;
  const list = 'Wiki https://wiki.example/\ndb.example:5432 Orders database\nnot a target';
  await page.getByLabel('One target per line').fill(list);
  await page.getByText('No target found in this line').waitFor();
  await page.getByLabel('Office').check();
  await page.getByRole('button', { name: 'Create 2 monitors' }).click();
  await page.getByText('created').nth(1).waitFor();
  assert.equal((await readCheck('Wiki')).checkType, 'URL');
  const database = await readCheck('Orders database');
  assert.deepEqual([database.request.port, database.privateLocations], [5432, ['office']]);
});

test('files of another product show what they become, are applied on request, and undone', async () => {
  await using opened = await console.visit('#/new/checks');
  const { page } = opened;
  await page.getByLabel('Office').check();
  const text = `endpoints:
  - name: Billing
    url: https://billing.example
    interval: 60s
    conditions: ['[STATUS] == 200']
`;
  const file = { name: 'config.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text) };
  await page.getByLabel('Drop configuration files here').setInputFiles([file]);
  const apply = page.getByRole('button', { name: /^Apply \d+ change/ });
  await apply.waitFor();
  const named = async () => {
    const { body } = await cp.api('GET', '/v1/checks?limit=100');
    return body.filter(({ name }: { name: string }) => name === 'Billing').length;
  };
  assert.equal(await named(), 0);
  await apply.click();
  await page.getByText('Importing again updates them').waitFor();
  assert.equal(await named(), 1);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Importing again updates them').waitFor({ state: 'detached' });
  while ((await named()) > 0);
});

test('a check gets a link that runs it, and a page its password and subscribers', async () => {
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    // Runs nowhere, so a call of its link is answered at once.
    ...{ name: 'Linked', locations: [] },
    request: { url: 'https://linked.example/' },
  });
  await using opened = await console.visit(`#/edit/check/${check.id}`, { refusals: [404] });
  const { page } = opened;
  await page.getByText('Trigger URL').click();
  await page.getByRole('button', { name: 'Create URL' }).click();
  const link = await page.getByRole('region', { name: 'URL' }).innerText();
  const asked = async () => (await fetch(link.trim(), { method: 'POST' })).text();
  assert.match(await asked(), /no location/);
  await page.getByRole('button', { name: 'Delete URL' }).click();
  await page.getByRole('button', { name: 'Create URL' }).waitFor();
  assert.match(await asked(), /does not exist|not found|unknown/i);

  const { body: made } = await cp.api('POST', '/v1/status-pages', {
    ...{ name: 'Shop', url: 'linked-shop', cards: [] },
  });
  await page.goto(`${cp.url}/console/#/edit/page/${made.id}`);
  await page.getByRole('button', { name: 'Require a password' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByText('Anyone with the password.').waitFor();
  await page.getByLabel('Mail address').fill('ann@shop.example');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('rowheader', { name: 'ann@shop.example' }).waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No subscribers yet').waitFor();
  assert.equal((await cp.api('GET', `/v1/status-pages/${made.id}`)).body.isPrivate, true);
});

test('an incident is opened, goes on with a template, and ends', async () => {
  await cp.api('POST', '/v1/status-pages/services', { name: 'Checkout' });
  await using opened = await console.visit('#/new/incident');
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('Payments fail');
  await page.getByLabel('Checkout').check();
  await page.getByLabel('Description').fill('We look into it.');
  await save(page).click();
  await page.getByRole('heading', { name: 'Payments fail', level: 1, exact: true }).waitFor();
  await page.getByRole('button', { name: 'Resolved' }).click();
  await save(page).click();
  await page.getByRole('region', { name: 'Updates' }).getByText('This is resolved.').waitFor();
  const { body } = await cp.api('GET', '/v1/status-pages/incidents');
  assert.equal(body.entries[0].lastUpdateStatus, 'RESOLVED');
});

test('the next update begins with the status that is, and re-opening an incident is asked for', async () => {
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Mail' });
  const { body: incident } = await cp.api('POST', '/v1/status-pages/incidents', {
    ...{ name: 'Mail is late', severity: 'MAJOR', services: [{ id: service.id }] },
    incidentUpdates: [{ description: 'We look into it.' }],
  });
  const path = `/v1/status-pages/incidents/${incident.id}`;
  const state = async () => {
    const { body } = await cp.api('GET', path);
    return [body.lastUpdateStatus, body.incidentUpdates.length];
  };
  await using opened = await console.visit(`#/incidents/${incident.id}`);
  const { page } = opened;
  const status = page.getByRole('combobox', { name: 'Status' });
  const shows = (word: string) =>
    eventually(
      async () => (await status.inputValue()) === word,
      () => `the status ${word}`,
    );
  await page.getByRole('button', { name: 'Resolved' }).click();
  await save(page).click();
  await page.getByRole('region', { name: 'Updates' }).getByText('This is resolved.').waitFor();
  await shows('RESOLVED');
  assert.deepEqual(await state(), ['RESOLVED', 2]);

  await page.getByLabel('Description').fill('The report follows.');
  await save(page).click();
  await page.getByRole('region', { name: 'Updates' }).getByText('The report follows.').waitFor();
  assert.deepEqual(await state(), ['RESOLVED', 3], 'a remark re-opens nothing');

  await page.getByRole('button', { name: 'Monitoring' }).click();
  await save(page).click();
  const question = page.getByRole('dialog', { name: 'Re-open Mail is late?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await question.waitFor({ state: 'detached' });
  assert.deepEqual(await state(), ['RESOLVED', 3]);
  await save(page).click();
  await question.getByRole('button', { name: 'Yes' }).click();
  await page.getByRole('region', { name: 'Updates' }).getByText('A fix is in place').waitFor();
  assert.deepEqual(await state(), ['MONITORING', 4]);

  // A colleague resolves it while somebody types.
  await shows('MONITORING');
  await page.getByLabel('Description').fill('Nearly done.');
  const resolved = { description: 'Done.', status: 'RESOLVED' };
  await cp.api('POST', `${path}/incident-updates`, resolved);
  await shows('RESOLVED');
  assert.equal(await page.getByLabel('Description').inputValue(), 'Nearly done.');
  // Also of what was typed before the view was left.
  await page.goto(`${cp.url}/console/#/alerts`);
  await cp.api('POST', `${path}/incident-updates`, { description: 'Again.', status: 'IDENTIFIED' });
  await page.goto(`${cp.url}/console/#/incidents/${incident.id}`);
  await shows('IDENTIFIED');
  assert.equal(await page.getByLabel('Description').inputValue(), 'Nearly done.');
});

test('a status page of selected checks says what it writes, and writes it when it is saved', async () => {
  const make = async (name: string) => {
    const request = { hostname: 'a.example', port: 25 };
    const { body } = await cp.api('POST', '/v1/checks/tcp', { name, tags: ['paged'], request });
    return body.id as string;
  };
  const ids = [await make('Paged one'), await make('Paged two')];
  // The public service of another team.
  const { body: theirs } = await cp.api('POST', '/v1/status-pages/services', { name: 'Paged one' });
  await cp.api('POST', '/v1/status-pages', { name: 'Taken', url: 'taken', cards: [] });
  const services = async () =>
    (
      (await cp.api('GET', '/v1/status-pages/services?paginated=false')).body.entries as {
        name: string;
        id: string;
      }[]
    ).filter(({ name }) => name.startsWith('Paged'));
  const triggers = async () =>
    Promise.all(
      ids.map(async (id) => (await cp.api('GET', `/v1/checks/${id}`)).body.triggerIncident),
    );
  await using opened = await console.visit('#/checks?tag=paged', { refusals: [400, 409] });
  const { page } = opened;
  const open = async () => {
    await page.getByLabel('Select all matches').check();
    await page.getByRole('button', { name: 'New status page' }).click();
    await page.getByText('Saving makes 2 services').waitFor();
  };
  await open();
  await page.getByText('Paged one, Paged two').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('heading', { name: 'Status pages', level: 1 }).waitFor();
  assert.deepEqual([(await services()).length, await triggers()], [1, [null, null]]);

  await page.goto(`${cp.url}/console/#/checks?tag=paged`);
  await open();
  await page.getByLabel('Name', { exact: true }).first().fill('Paged');
  await page.getByLabel('URL path').fill('taken');
  await save(page).click();
  await page.locator('.form-problem').waitFor();
  await page.getByLabel('URL path').fill('paged');
  await save(page).click();
  await page.getByRole('heading', { name: 'Status pages', level: 1 }).waitFor();
  const { body: pages } = await cp.api('GET', '/v1/status-pages');
  const made = pages.entries.find(({ url }: { url: string }) => url === 'paged');
  const shown = made.cards[0].services.map(({ id }: { id: string }) => id) as string[];
  const all = (await services()).map(({ id }) => id);
  assert.deepEqual([shown.length, shown.includes(theirs.id), all.length], [2, false, 3]);
  assert.deepEqual(await triggers(), [null, null], 'nothing is switched on unasked');

  await page.goto(`${cp.url}/console/#/checks?tag=paged`);
  await open();
  await page.getByLabel('Name', { exact: true }).first().fill('Paged again');
  await page.getByLabel('URL path').fill('paged-again');
  await page.getByLabel('Saving also changes these monitors').check();
  // One of the checks is changed again and again meanwhile.
  const busy = `**/v1/checks/${ids[0]}`;
  await page.route(busy, (route) =>
    route.request().method() === 'PUT'
      ? route.fulfill({
          status: 409,
          json: { statusCode: 409, error: 'Conflict', message: 'it is busy', attributes: {} },
        })
      : route.fallback(),
  );
  await save(page).click();
  await page.getByRole('heading', { name: 'Status pages', level: 1 }).waitFor();
  await page.getByText('Paged one: It is busy.').waitFor();
  const half = await triggers();
  assert.deepEqual(
    half.map((each) => each === null),
    [true, false],
  );
  await page.goto(`${cp.url}/console/#/checks`);
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
  await page.goto(`${cp.url}/console/#/status-pages`);
  await page.getByRole('link', { name: 'Paged again' }).waitFor();
  await page.getByText('It is busy.').waitFor({ state: 'detached' });
  await page.unroute(busy);

  await page.goto(`${cp.url}/console/#/checks?tag=paged`);
  await open();
  await page.getByLabel('Name', { exact: true }).first().fill('Paged for all');
  await page.getByLabel('URL path').fill('paged-for-all');
  await page.getByLabel('Saving also changes these monitors').check();
  await save(page).click();
  await page.getByRole('heading', { name: 'Status pages', level: 1 }).waitFor();
  const set = await triggers();
  assert.deepEqual(
    set.map((each) => [each.severity, each.notifySubscribers]),
    [
      ['MAJOR', false],
      ['MAJOR', false],
    ],
  );
});

test('a key is shown once, and a variable keeps its secret when another field is changed', async () => {
  await using opened = await console.visit('#/new/key');
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('deploy');
  await save(page).click();
  await page.getByText('Copy it now').waitFor();
  assert.match(await page.locator('.code pre').innerText(), /^cu_/);
  await page.goto(`${cp.url}/console/#/new/variable`);
  await page.getByLabel('Key').fill('TOKEN');
  await page.getByLabel('Value').fill('s3cr3t-of-the-shop');
  await page.getByLabel('Secret').check();
  await save(page).click();
  await page.getByRole('link', { name: 'TOKEN' }).click();
  await page.getByLabel('Locked').check();
  await save(page, 'Save').click();
  await page.getByRole('link', { name: 'TOKEN' }).waitFor();
  const { body } = await cp.api('GET', '/v1/variables/TOKEN');
  assert.deepEqual([body.value, body.secret, body.locked], [null, true, true]);
});

test('a role that may not change sees forms it cannot send, and no button that leads to a 403', async () => {
  const { services } = cp.controlPlane;
  const reader = await createApiKey(services, cp.accountId, { name: 'reader', role: 'READ_ONLY' });
  await using opened = await console.visit('#/checks', { key: reader.rawKey });
  const { page } = opened;
  await page.getByRole('heading', { name: 'Monitors', level: 1, exact: true }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'New monitor' }).count(), 0);
  await page.goto(`${cp.url}/console/#/new/check`);
  await save(page).waitFor();
  assert.equal(await save(page).isDisabled(), true);
});

test('every form is accessible, in light and dark, narrow and wide', async () => {
  const names = Object.keys(forms).map((name) =>
    name.startsWith('check-') ? `check?type=${name.slice(6)}` : name,
  );
  for (const [width, scheme] of [
    [1440, 'light'],
    [360, 'dark'],
  ] as const) {
    await using opened = await console.visit('#/settings', { width, scheme });
    const { page } = opened;
    await loadAxe(page);
    for (const name of names) {
      await page.evaluate(`location.hash = '#/new/${name}'`);
      await save(page).waitFor();
      await page.evaluate(
        `document.querySelectorAll('details').forEach((one) => { one.open = true; })`,
      );
      const found = await page.evaluate(
        `axe.run('main').then(({ violations }) => violations.map((one) => one.id + ': ' + one.nodes[0].html))`,
      );
      assert.deepEqual(found, [], `${name} at ${width}, ${scheme}`);
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      assert.equal(overflow, 0, `${name} at ${width} is wider than the screen`);
    }
  }
});
