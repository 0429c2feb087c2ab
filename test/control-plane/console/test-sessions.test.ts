// Few share a process: it opens a browser.
/** Test sessions in the console: found, read, cancelled by keyboard, and pleasant in every width. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../../support/fake-agent.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { TestConsole } from '../../support/test-console.ts';

const location = 'eu-west-1';

async function start(cp: TestControlPlane, name: string, branchName: string): Promise<string> {
  const { status, body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name, runLocation: location, environment: 'staging' },
    repoInfo: {
      ...{ repoUrl: 'https://git.example/shop', commitId: 'f00dcafe', branchName },
      ...{ commitOwner: 'Ada', commitMessage: 'Sells more than before' },
    },
    checkRunJobs: ['Shop', 'Orders'].map((check) => ({
      ...{ checkType: 'URL', logicalId: check, name: check, sourceInfo: {} },
      request: { url: 'https://a.example/' },
    })),
  });
  assert.equal(status, 202, JSON.stringify(body));
  return body.testSessionId as string;
}

test('test sessions are found, read with their results, and cancelled by keyboard', async () => {
  await using cp = await startTestControlPlane();
  const browser = await openBrowser();
  const console = new TestConsole(cp, browser);
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  const ended = await start(cp, 'Shop of the evening', 'main');
  for (const run of (await agent.checkIn()).jobs) {
    const isBad = run.check.name === 'Orders';
    await agent.submit(
      resultOfJob(run, {
        ...{ name: run.check.name, hasFailures: isBad },
        errorMessages: isBad ? ['HTTP 500'] : [],
      }),
    );
  }
  await cp.api('GET', `/v1/test-sessions/${ended}/completion`);
  const open = await start(cp, 'Shop of the morning', 'feature');

  await using opened = await console.visit('#/test-sessions');
  const { page } = opened;
  const rows = page.locator('table tbody tr');
  await rows.nth(1).waitFor();
  assert.match(await rows.nth(0).innerText(), /Running[\s\S]*Shop of the morning[\s\S]*feature/);
  assert.match(await rows.nth(1).innerText(), /Failed[\s\S]*1 passed, 1 failed[\s\S]*Orders/);
  const look = async (waitsFor: string, name: string) => {
    for (const width of [360, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await assertPleasant(page, waitsFor, width, `${name}, ${width}, ${colorScheme}`);
      }
    }
  };
  await look('Shop of the morning', 'sessions');
  await page.getByRole('button', { name: 'Failed' }).click();
  await page.getByText('Shop of the morning').waitFor({ state: 'detached' });
  await page.getByLabel('Search').fill('nothing like it');
  await page.getByText('Nothing matches').waitFor();
  await page.getByLabel('Search').fill('main');
  await page.getByRole('link', { name: 'Shop of the evening' }).click();
  await page.getByRole('heading', { name: 'Shop of the evening', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'https://git.example/shop' }).waitFor();
  await look('Sells more than before', 'session');
  await page.getByRole('link', { name: 'Orders' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/#\/checks\/.+\/results\//);

  await page.evaluate(`location.hash = '#/test-sessions/${open}'`);
  await page.getByRole('button', { name: 'Cancel' }).focus();
  const jobs = (await agent.checkIn()).jobs;
  await page.keyboard.press('Enter');
  for (const run of jobs) await agent.submit(resultOfJob(run, { isCancelled: true }));
  await page.getByText('Cancelled').first().waitFor();
  await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' });
  console.assertNoTrouble();
});
