// Few share a process: it opens a browser.
/** A fresh installation in a real browser, up to the first alert. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { endFirstSteps } from '../../../control-plane/console/saved-views.ts';
import { FakeAgent } from '../../support/fake-agent.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { httpServer } from '../../support/servers.ts';
import { TestConsole } from '../../support/test-console.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';

test('a fresh installation leads to a check that somebody runs and to the first alert received, also when they were made in another order', async () => {
  await using receiver = await httpServer((_request, response) => response.end('ok'));
  await using cp = await startTestControlPlane({
    settings: { OUTGOING_ALLOWED_NETWORKS: '127.0.0.1' },
  });
  const browser = await openBrowser();
  const console = new TestConsole(cp, browser);
  // It may read the check at the moment in which this test deletes it.
  await using opened = await console.visit('#/checks', { refusals: [404] });
  const { page } = opened;
  const steps = page.getByRole('region', { name: 'First steps' });
  await steps.getByText('serve --with-agent').waitFor();
  // Nobody would run a check yet.
  assert.equal(await page.getByLabel('URL or host').count(), 0);
  await assertPleasant(page, 'An agent that runs monitors', 1280, 'empty');

  // Made by another client, before there is a location: as clients of the API do.
  const { body: early } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'Early', frequency: 10, request: { url: 'https://shop.example/' } },
  });
  const { body: office } = await cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Office', slugName: 'office' },
  });
  await steps.getByRole('link', { name: 'Start an agent for Office' }).waitFor();
  await steps.getByRole('button', { name: 'Run it at Office' }).click();
  await steps.getByText('nobody runs it').waitFor({ state: 'detached' });
  const read = async (id: string) => (await cp.api('GET', `/v1/checks/${id}`)).body;
  assert.deepEqual((await read(early.id)).privateLocations, ['office']);

  const agent = new FakeAgent(cp, office.keys[0].rawKey);
  await agent.checkIn();
  await steps.getByText('Office: 1 agent').waitFor();

  await steps.getByRole('link', { name: 'Choose where alerts go' }).waitFor();
  await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', autoSubscribe: true },
    config: { name: 'Chat', method: 'POST', url: `${receiver.url}/alerts` },
  });
  await steps.getByText('Early: nobody is notified').waitFor();
  await steps.getByRole('button', { name: /^Alert Chat/ }).click();
  await steps.getByText('nobody is notified').waitFor({ state: 'detached' });
  assert.equal((await read(early.id)).alertChannelSubscriptions.length, 1);
  await assertPleasant(page, 'The first alert received', 1280, 'on the way');

  await steps.getByRole('button', { name: 'Send a test alert' }).click();
  await steps.getByRole('button', { name: 'I received it' }).click();
  await steps.getByText('Everything works').waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'Early' }).waitFor();
  await steps.waitFor({ state: 'detached' });

  // In a browser that does not know it, the form is there once an agent is.
  await cp.api('DELETE', `/v1/checks/${early.id}`);
  await using other = await console.visit('#/checks');
  await other.page.getByLabel('URL or host').fill('https://shop.example/health');
  await other.page.keyboard.press('Enter');
  await other.page.getByRole('heading', { name: 'shop.example/health', level: 1 }).waitFor();
  const { body: all } = await cp.api('GET', '/v1/checks');
  assert.deepEqual(all[0].privateLocations, ['office']);
  assert.equal(all[0].alertChannelSubscriptions.length, 1);
  console.assertNoTrouble();
});

test('the first steps end also in a browser that stores nothing', () => {
  const localStorage = {
    setItem() {
      throw new DOMException('nothing is stored', 'QuotaExceededError');
    },
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage');
  Object.defineProperty(globalThis, 'localStorage', { value: localStorage, configurable: true });
  try {
    assert.doesNotThrow(endFirstSteps);
  } finally {
    if (before === undefined) Reflect.deleteProperty(globalThis, 'localStorage');
    else Object.defineProperty(globalThis, 'localStorage', before);
  }
});
