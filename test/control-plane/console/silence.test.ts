// Few share a process: it opens a browser.
/** A control plane that stops while somebody looks at the console: a real process, a real browser. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser } from '../../support/shared-browser.ts';
import { fillKey } from '../../support/people.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { temporaryFolder } from '../../support/system.ts';

test('a stopped control plane is noticed and shown, and the page continues when it is back', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await using program = await operator.serve();
  const { rawKey } = await operator.json<{ rawKey: string }>('keys', 'create', '--name', 'console');
  const browser = await openBrowser();
  const page = await browser.newPage();
  await page.goto(`${program.url}/console/`);
  await fillKey(page, rawKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();

  const notice = page.getByRole('alert').filter({ hasText: 'The control plane does not answer' });
  assert.equal(await notice.count(), 0);
  // It still accepts connections, and answers none.
  program.signal('SIGSTOP');
  await notice.waitFor({ timeout: 120_000 });
  assert.match(await notice.innerText(), /Showing data from \d+:\d+/);
  program.signal('SIGCONT');
  await notice.waitFor({ state: 'detached', timeout: 120_000 });
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
});
