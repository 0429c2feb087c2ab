// Own process: it starts browsers.
/** Scripts are edited with completion and with errors at their lines, byte for byte, under the policy of the page. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOf, resultOfJob } from '../../support/fake-agent.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { loadAxe } from '../../support/pleasant-page.ts';
import { TestConsole } from '../../support/test-console.ts';

let cp: TestControlPlane;
let agent: FakeAgent;
const browser = await openBrowser();
let console: TestConsole;

before(async () => {
  cp = await startTestControlPlane();
  console = new TestConsole(cp, browser);
  await cp.api('POST', '/v1/private-locations', { name: 'Office', slugName: 'office' });
  await cp.api('POST', '/v1/variables', { key: 'SHOP_URL', value: 'https://shop.example' });
  await cp.api('POST', '/v1/snippets', { name: 'login', script: 'module.exports = {};' });
});
after(async () => {
  await cp[Symbol.asyncDispose]();
});
afterEach(() => {
  console.assertNoTrouble();
});

const editorOf = (page: Page, label: string | RegExp = /^Script/) =>
  page.getByRole('textbox', { name: label }).and(page.locator('.cm-content'));

async function createCheck(path: string, body: object): Promise<string> {
  const made = await cp.api('POST', `/v1/checks/${path}`, {
    ...{ name: 'Journey', privateLocations: ['office'], frequency: 10, ...body },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return (made.body as { id: string }).id;
}

const scriptOf = async (id: string): Promise<unknown> =>
  ((await cp.api('GET', `/v1/checks/${id}`)).body as { script: string }).script;

/** Types at the end of the text, as a person does. */
async function typeAtEnd(page: Page, text: string): Promise<void> {
  await editorOf(page).focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(text);
}

const offered = (page: Page, label: string) =>
  page.locator('.cm-tooltip-autocomplete').getByRole('option', { name: new RegExp(`^${label}`) });

test('a script is kept byte for byte: separators of lines of one kind, and of several', async () => {
  for (const [script, typed] of [
    ['const a = 1;\r\nconst b = 2;\r\n', 'const a = 1;\r\nconst b = 2;\r\n// 1\r\n'],
    [
      'const a = 1;\rconst b = 2;\r\n\tconst c;\n',
      'const a = 1;\rconst b = 2;\r\n\tconst c;\n// 1\n',
    ],
  ] as const) {
    const id = await createCheck('browser', { script });
    await using opened = await console.visit(`#/edit/check/${id}`);
    const { page } = opened;
    await editorOf(page).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Journey two');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Journey two', level: 1, exact: true }).waitFor();
    assert.equal(await scriptOf(id), script);
    await page.goBack();
    await typeAtEnd(page, '// 1');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Journey two', level: 1, exact: true }).waitFor();
    assert.equal(await scriptOf(id), typed);
  }
});

test('what a script may use is completed and explained, from Playwright to variables and snippets', async () => {
  const script = "import { test } from '@playwright/test';\n\ntest('buys', async ({ page }) => {\n";
  const id = await createCheck('browser', { script });
  // An explanation waits for the pointer to rest.
  await using opened = await console.visit(`#/edit/check/${id}`, { isClockMoving: true });
  const { page } = opened;
  await typeAtEnd(page, 'const answer = await page.got');
  await offered(page, 'goto').click();
  await page.keyboard.type("('/');\nanswer.");
  await offered(page, 'status').first().waitFor();
  await page.keyboard.type(
    "status();\nconst title = page.getByRole('heading');\nawait expect(title).toHaveTe",
  );
  await offered(page, 'toHaveText').waitFor();
  await page.keyboard.type("xt('Shop');\nprocess.env.SH");
  await offered(page, 'SHOP_URL').waitFor();
  await page.keyboard.type("OP_URL;\nrequire('./snip");
  await offered(page, './snippets/login').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.cm-line').getByText('getByRole').hover();
  await page.locator('.cm-explained').getByText('getByRole(role').waitFor();
});

test('Tab indents, and leaves the field after Escape; the label leads into it', async () => {
  const id = await createCheck('browser', { script: 'await 1;' });
  await using opened = await console.visit(`#/edit/check/${id}`);
  const { page } = opened;
  await editorOf(page).waitFor();
  await page.getByText('Script', { exact: true }).click();
  await page.keyboard.press('Tab');
  assert.equal(await editorOf(page).innerText(), '  await 1;');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate("document.activeElement.matches('.cm-content')"), false);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Control+f');
  await page.locator('.cm-search').getByPlaceholder('Find').waitFor();
});

test('an error of syntax is named with its line while one types', async () => {
  const id = await createCheck('browser', { script: 'const a = 1;\n' });
  await using opened = await console.visit(`#/edit/check/${id}`);
  const { page } = opened;
  await typeAtEnd(page, 'const b = ;\n');
  const button = page.getByRole('button', { name: 'Line 2' });
  await button.first().waitFor();
  await button.first().click();
  await page.keyboard.press('End');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('2;');
  await button.first().waitFor({ state: 'detached' });
});

test('the error of a result is marked at its line, which scrolls into view', async () => {
  const lines = Array.from({ length: 80 }, (_, index) => `// line ${index + 1}`);
  const id = await createCheck('browser', { script: lines.join('\n') });
  agent = new FakeAgent(cp, await cp.locationKey('office'));
  const stack = 'Error: no thanks\n    at /work/runs/1/check/script.spec.js:70:9';
  const item = resultOf(id, {
    ...{
      checkType: 'BROWSER',
      runLocation: 'office',
      hasFailures: true,
      errorMessages: ['no thanks'],
    },
    browserCheckResult: {
      ...{ type: 'PLAYWRIGHT_TEST', startTime: 1, endTime: 2, runtimeVersion: '2026.04' },
      ...{
        jobLog: [],
        jobAssets: [],
        playwrightTestTraces: [],
        playwrightTestJsonReportFile: null,
      },
      ...{ tests: [], pages: [], playwrightTestVideos: [] },
      errors: [{ message: 'no thanks', stack, title: null }],
      traceSummary: { consoleErrors: 0, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 },
    },
  });
  const [outcome] = await agent.submit(item);
  assert.equal(outcome?.outcome, 'accepted', JSON.stringify(outcome));
  await using opened = await console.visit(`#/checks/${id}/results/${item.id}`, {
    refusals: [404],
  });
  const { page } = opened;
  await page.getByRole('link', { name: 'Show it in the script' }).click();
  await page.locator('.cm-failed-line').getByText('// line 70').waitFor();
  await page.getByRole('button', { name: 'Line 70' }).waitFor();
  assert.match(await page.locator('.line-problems').innerText(), /no thanks/);
});

test('a check that is tried marks the line of its setup script', async () => {
  await cp.api('POST', '/v1/private-locations', { name: 'Lab', slugName: 'lab' });
  const tried = new FakeAgent(cp, await cp.locationKey('lab'));
  await tried.checkIn(['API'], ['2026.04']);
  await using opened = await console.visit('#/new/check?type=API');
  const { page } = opened;
  await page.getByLabel('URL', { exact: true }).fill('https://api.example/');
  await page.getByRole('checkbox', { name: 'Lab' }).check();
  await page.getByText('Scripts and variables').click();
  await editorOf(page, /^Setup script/).fill('const a = 1;\nfail();');
  await page.getByRole('combobox', { name: 'In', exact: true }).selectOption('lab');
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('Running in lab').waitFor();
  const { jobs } = await tried.checkIn(['API'], ['2026.04']);
  const [job] = jobs;
  assert.ok(job !== undefined);
  await tried.submit(
    resultOfJob(job, {
      ...{ checkType: 'API', hasFailures: true, errorMessages: ['x'] },
      apiCheckResult: {
        ...{ assertions: [], response: null, pcapDataUrl: null, networkDiagnostics: null },
        ...{ jobLog: { setup: [], request: [], teardown: [] }, jobAssets: null },
        request: { method: 'GET', url: 'https://api.example/', data: '', headers: {}, params: {} },
        requestError: 'setup script failed at line 2: ReferenceError: fail is not defined',
      },
    }),
  );
  await page.locator('.cm-failed-line').getByText('fail();').waitFor();
});

test('without the editor the field is a plain one, which saves as well', async () => {
  const id = await createCheck('browser', { script: 'await 1;' });
  await using opened = await console.visit('#/checks', { refusals: [0] });
  const { page } = opened;
  await page.route('**/code-editor-*.js', (route) => route.abort());
  await page.evaluate(`location.hash = '#/edit/check/${id}'`);
  await page.getByLabel('Script', { exact: true }).fill('await 2;');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('heading', { name: 'Journey', level: 1, exact: true }).waitFor();
  assert.equal(await scriptOf(id), 'await 2;');
});

test('the editor is accessible, in light and dark, narrow and wide', async () => {
  const id = await createCheck('browser', {
    script:
      "const a = (;\nawait page.goto('/a/long/address/which/does/not/fit/on/a/phone/at/all');",
  });
  for (const [width, scheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ] as const) {
    await using opened = await console.visit(`#/edit/check/${id}`, { width, scheme });
    const { page } = opened;
    await editorOf(page).waitFor();
    await page.getByRole('button', { name: 'Line 1' }).first().waitFor();
    await loadAxe(page);
    const violations = await page.evaluate(
      'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes.map(({ target }) => target).join()))',
    );
    assert.deepEqual(violations, []);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
  }
});
