// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';
import { openBrowser } from '../../support/shared-browser.ts';
import { comparison, handIn, location } from '../../support/image-results.ts';
import { minute, now, setUp } from '../../support/results.ts';
import { TestConsole } from '../../support/test-console.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

test('the images of a result are shown side by side, swiped and as heat, and are approved and withdrawn', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const browser = await openBrowser();
  const painter = await browser.newPage({ viewport: { width: 400, height: 200 } });
  const paint = async (colour: string) => {
    await painter.setContent(`<body style="background:${colour};font:30px sans-serif">Basket`);
    return painter.screenshot();
  };
  const checkId = await bench.check('browser', { request: undefined, script: 'await 0;' });
  const files = {
    'expected.png': await paint('white'),
    'actual.png': await paint('gold'),
    'diff.png': await paint('red'),
    'new.png': await paint('lightblue'),
  };
  const of = (name: string) => `artifact:${name}.png`;
  const resultId = await handIn(bench, await cp.locationKey(location), checkId, {
    files,
    comparisons: [
      comparison('shop.spec.ts-snapshots/basket.png', {
        outcome: 'DIFFERENT',
        ...{ expected: of('expected'), actual: of('actual'), diff: of('diff') },
      }),
      comparison('shop.spec.ts-snapshots/new.png', { actual: of('new') }),
    ],
  });
  const console = new TestConsole(cp, browser);
  for (const [width, scheme] of [
    [1440, 'light'],
    [390, 'dark'],
  ] as const) {
    await using opened = await console.visit(`#/checks/${checkId}/results/${resultId}`, {
      width,
      scheme,
    });
    const { page } = opened;
    const section = page.getByRole('region', { name: 'Screenshots' });
    await section.getByRole('img', { name: 'Expected' }).waitFor();
    assert.equal(await section.getByRole('img').count(), 3);
    const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    assert.equal(isWide, false, 'nothing sticks out');
    await page.evaluate(axe);
    const violations = await page.evaluate(
      `axe.run('main').then(({ violations }) => violations.map((one) => one.id + ': ' + one.nodes[0].html))`,
    );
    assert.deepEqual(violations, []);
    await section.getByRole('button', { name: 'Swipe' }).press('Enter');
    const slider = section.getByRole('slider');
    await slider.press('End');
    const cut = () => section.getByRole('img', { name: 'Actual' }).first().getAttribute('style');
    assert.equal(await cut(), 'clip-path: inset(0px 0px 0px 100%);');
    await slider.press('Home');
    assert.equal(await cut(), 'clip-path: inset(0px 0px 0px 0%);');
    await section.getByRole('button', { name: 'Heat' }).press('Enter');
    await section.getByRole('img', { name: 'Difference' }).waitFor();

    await section.getByRole('button', { name: 'Approve', exact: true }).first().press('Enter');
    await section.getByText('Approved').waitFor();
    assert.equal((await bench.get(`checks/${checkId}/baselines`)).length, 1);
    await section.getByRole('button', { name: 'Withdraw' }).press('Enter');
    await section.getByRole('button', { name: 'Approve all 2' }).click();
    await section.getByText('Approved').nth(1).waitFor();
    assert.equal((await bench.get(`checks/${checkId}/baselines`)).length, 2);
    for (const left of [2, 1]) {
      await section
        .getByRole('button', { name: 'Withdraw' })
        .nth(left - 1)
        .click();
      await section
        .getByRole('button', { name: 'Approve', exact: true })
        .nth(2 - left)
        .waitFor();
    }
  }
  const approval = await cp.api('POST', `/v1/check-results/${checkId}/${resultId}/baselines`, {});
  assert.equal(approval.status, 201);
  const trial = await cp.api('POST', `/v1/check-trials?location=${location}`, {
    ...{ checkType: 'BROWSER', name: 'Trial', script: 'await 0;' },
  });
  const trialId = String(trial.body.id);
  const path = 'shop.spec.ts-snapshots/basket.png';
  // It asks for approvals of the trial, and is refused them.
  const ofTrial = new TestConsole(cp, browser);
  for (const [id, buttons, pages] of [
    [checkId, 1, console],
    [trialId, 0, ofTrial],
  ] as const) {
    const of = { comparisons: [comparison(path, { actual: 'artifact:expected.png' })] };
    const other = await handIn(bench, await cp.locationKey(location), id, {
      ...{ ...of, files: { 'expected.png': files['expected.png'] }, at: now - minute },
    });
    await using opened = await pages.visit(`#/checks/${id}/results/${other}`);
    const section = opened.page.getByRole('region', { name: 'Screenshots' });
    await section.getByRole('img', { name: 'Actual' }).waitFor();
    await opened.page.waitForLoadState('networkidle');
    assert.equal(await section.getByText('Approved').count(), 0, 'it is another image');
    assert.equal(await section.getByRole('button', { name: 'Approve' }).count(), buttons);
  }
  const { body } = await cp.api('POST', '/v1/api-keys', { name: 'reads', role: 'READ_ONLY' });
  await using reader = await console.visit(`#/checks/${checkId}/results/${resultId}`, {
    key: String(body.rawKey),
  });
  const section = reader.page.getByRole('region', { name: 'Screenshots' });
  await section.getByRole('img', { name: 'Expected' }).waitFor();
  assert.equal(await section.getByRole('button', { name: /Approve/ }).count(), 0);
  console.assertNoTrouble();
});
