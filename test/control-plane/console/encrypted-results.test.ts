// Few share a process: it opens a browser.
/** Encrypted results in the console: the key is opened in the browser, and goes nowhere. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import {
  artifactReference,
  type ArtifactType,
  type BrowserCheckResult,
} from '@monitor/shared/contract/check-result.ts';
import { createKeyFile, type KeyFile } from '@monitor/shared/encryption/encryption.ts';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { ResultEncryption } from '../../../agent/encryption/result-encryption.ts';
import { consoleNow, openConsoleWorld, type ConsoleWorld } from '../../support/console-world.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestConsole } from '../../support/test-console.ts';

let world: ConsoleWorld;
const browser = await openBrowser();
let console: TestConsole;
const folder = temporaryFolder();
const passphrase = 'correct horse';
let keyFile: KeyFile;
const keyPath = join(folder.path, 'results.key');
const otherPath = join(folder.path, 'other.key');
let address = '';

before(async () => {
  world = await openConsoleWorld();
  console = new TestConsole(world.cp, browser);
  keyFile = await createKeyFile(passphrase);
  writeFileSync(keyPath, JSON.stringify(keyFile));
  writeFileSync(otherPath, JSON.stringify(await createKeyFile(null)));
  address = await submitEncrypted(world.shop, nightingale, [
    {
      ...{ name: 'nightingale.log', type: 'log', contentType: 'text/html' },
      content: 'the log of a nightingale',
    },
  ]);
});
after(async () => {
  await world[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});
afterEach(() => {
  console.assertNoTrouble();
});

interface GivenFile {
  name: string;
  type: ArtifactType;
  contentType: string;
  content: string | Buffer;
}

/** A result as an encrypting agent makes it, with its files; gives its address. */
async function submitEncrypted(
  checkId: string,
  fields: Partial<ResultSubmission>,
  files: readonly GivenFile[],
): Promise<string> {
  const { agent, cp } = world;
  const at = consoleNow - 60_000;
  const run = { runId: randomUUID(), scheduledFor: at, startedAt: at, stoppedAt: at + 20 };
  const plain = resultOf(checkId, { ...run, hasFailures: true, ...fields });
  const encryption = new ResultEncryption({
    pinned: [keyFile.publicKey],
    clock: { monotonic: () => 0 },
    logger: pino({ level: 'silent' }),
  });
  const encrypter = await encryption.encrypterFor({
    ...{ accountId: cp.accountId, location: plain.runLocation, checkId },
    ...{ resultId: plain.id, attempt: plain.attempt },
  });
  assert.ok(encrypter !== null);
  const sealed = [];
  for (const { content, ...declared } of files) {
    const path = join(folder.path, 'file');
    writeFileSync(path, content);
    await encrypter.file(path, declared.name);
    const bytes = readFileSync(path);
    const digest = createHash('sha256').update(bytes).digest('base64');
    sealed.push({ bytes, artifact: { ...declared, size: bytes.length, digest, withheld: null } });
  }
  const submission = encrypter.result({
    ...plain,
    artifacts: sealed.map(({ artifact }) => artifact),
  });
  const [outcome] = await agent.submit(submission);
  assert.equal(outcome?.outcome, 'accepted', JSON.stringify(outcome));
  for (const [index, { bytes, artifact }] of sealed.entries()) {
    const name = submission.artifacts[index]?.name ?? '';
    const uploaded = await fetch(`${cp.url}/v1/agent/artifacts/${plain.id}/${name}`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${await cp.locationKey('eu-west-1')}`,
        digest: `sha-256=${artifact.digest}`,
      },
      body: bytes,
    });
    assert.equal(uploaded.status, 204, await uploaded.text());
  }
  return `#/checks/${checkId}/results/${plain.id}`;
}

const nightingale: Partial<ResultSubmission> = {
  name: 'Shop',
  errorMessages: ['the nightingale is silent'],
  apiCheckResult: {
    ...{ assertions: [], requestError: 'the nightingale is silent', jobAssets: null },
    ...{ pcapDataUrl: null, networkDiagnostics: null },
    jobLog: { setup: [], request: [], teardown: [] },
    request: { method: 'GET', url: 'https://nightingale.internal/', headers: {}, data: '' },
    response: null,
  },
};

/** `CONSOLE_PICTURES` names a folder for pictures of what this test sees. */
async function picture(page: Page, name: string): Promise<void> {
  const target = process.env['CONSOLE_PICTURES'];
  if (target === undefined) return;
  mkdirSync(target, { recursive: true });
  await page.screenshot({ path: join(target, `${name}.png`), fullPage: true });
}

for (const scheme of ['light', 'dark'] as const) {
  test(`a result is locked until its key is there, and its files are decrypted too, in ${scheme}`, async () => {
    await using opened = await console.visit(address, { scheme });
    const { page } = opened;
    const sent: string[] = [];
    page.on('request', (request) => {
      sent.push(`${request.url()} ${request.postData() ?? ''}`);
    });
    await page.getByRole('heading', { name: 'Encrypted' }).waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /nightingale/);
    await picture(page, `locked-${scheme}`);
    await assertPleasant(page, 'it is not sent', 1280, 'a locked result');
    await page.getByLabel('Key file', { exact: true }).setInputFiles(otherPath);
    await page.getByRole('button', { name: 'Decrypt', exact: true }).click();
    await page.getByText(/cannot be decrypted: it was encrypted for/).waitFor();
    await page.getByLabel('Key file', { exact: true }).setInputFiles(keyPath);
    await page.getByLabel('Passphrase').fill('wrong');
    await page.getByRole('button', { name: 'Decrypt', exact: true }).click();
    await page.getByText(/the passphrase is not the one of this key/).waitFor();
    await page.getByLabel('Passphrase').fill(passphrase);
    await page.getByRole('button', { name: 'Decrypt', exact: true }).click();
    await page.getByText('Decrypted in this browser').waitFor();
    const text = await page.locator('main').innerText();
    assert.match(text, /the nightingale is silent/);
    assert.match(text, /https:\/\/nightingale.internal/);
    assert.match(text, /nightingale.log/);
    await picture(page, `unlocked-${scheme}`);
    await assertPleasant(page, 'Decrypted in', 1280, 'an unlocked result');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Decrypt and download' }).click();
    const saved = await download;
    assert.equal(saved.suggestedFilename(), 'nightingale.log');
    assert.equal(readFileSync(await saved.path(), 'utf8'), 'the log of a nightingale');
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    const secrets = [passphrase, keyFile.encryptedPrivateKey?.ciphertext ?? ''];
    assert.deepEqual(
      sent.filter((request) => secrets.some((secret) => request.includes(secret))),
      [],
    );
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await page.getByRole('heading', { name: 'Encrypted' }).waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /nightingale/);
  });
}

test('content that somebody forged, and that is no result, is said to be that', async () => {
  const forged = { type: 'PLAYWRIGHT_TEST', pages: null, errors: 5 } as unknown;
  const at = consoleNow - 120_000;
  const where = await submitEncrypted(
    world.journey,
    {
      ...{ checkType: 'BROWSER', name: 'Buying a book' },
      ...{ scheduledFor: at, startedAt: at, stoppedAt: at + 20 },
      browserCheckResult: forged as BrowserCheckResult,
    },
    [],
  );
  await using opened = await console.visit(where);
  const { page } = opened;
  await page.getByLabel('Key file', { exact: true }).setInputFiles(keyPath);
  await page.getByLabel('Passphrase').fill(passphrase);
  await page.getByRole('button', { name: 'Decrypt', exact: true }).click();
  await page.getByText('it is not the content of a result').waitFor();
  await page.getByText('Failed', { exact: true }).first().waitFor();
  const views = page.getByRole('navigation', { name: 'Views' });
  await views.getByRole('link', { name: 'Monitors', exact: true }).click();
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
});

test('a browser result shows all of 24 canaries and its screenshots, and no picture of another kind', async () => {
  const canaries = Array.from(
    { length: 24 },
    (_, index) => `canary${String(index).padStart(2, '0')}`,
  );
  const canary = (index: number): string => canaries[index] ?? assert.fail();
  const at = consoleNow - 60_000;
  const shot = 'screenshots/page.png';
  const hostile = 'screenshots/hostile.png';
  const details: BrowserCheckResult = {
    ...{ type: 'PLAYWRIGHT_TEST', runtimeVersion: canary(0), startTime: at, endTime: at + 20 },
    errors: [{ message: canary(1), stack: canary(2), title: canary(3) }],
    jobLog: [{ time: at, level: 'INFO', msg: canary(4) }],
    ...{ jobAssets: [], playwrightTestTraces: [], playwrightTestJsonReportFile: null },
    ...{ playwrightTestVideos: [] },
    traceSummary: { consoleErrors: 1, networkErrors: 1, documentErrors: 0, userScriptErrors: 1 },
    tests: [
      {
        ...{ title: canary(5), file: canary(6), project: canary(7), tags: [], retries: 0 },
        ...{ status: 'failed', outcome: 'unexpected', durationMs: 20 },
        errors: [{ message: canary(8), stack: canary(9), title: canary(10) }],
        steps: [
          {
            ...{ title: canary(11), category: 'test.step', startTime: at, durationMs: 10 },
            ...{ error: canary(12), steps: [], requests: [] },
          },
        ],
      },
    ],
    pages: [
      {
        ...{ url: `https://${canary(13)}.example/`, title: canary(14), webVitals: {} },
        console: [{ time: at, type: 'error', text: canary(15), location: canary(16) }],
        network: [
          {
            ...{ time: at, method: canary(17), url: canary(18), resourceType: canary(19) },
            ...{ status: null, durationMs: 1, sizeBytes: 1, failure: canary(20) },
          },
        ],
        screenshots: [artifactReference(shot), artifactReference(hostile)],
      },
    ],
  };
  const script = '<svg xmlns="http://www.w3.org/2000/svg"><script>window.hacked=1</script></svg>';
  const where = await submitEncrypted(
    world.journey,
    {
      ...{ checkType: 'BROWSER', name: 'Buying a book', errorMessages: [canary(1)] },
      browserCheckResult: details,
    },
    [
      {
        ...{ name: shot, type: 'screenshot', contentType: 'image/png' },
        content: await (await browser.newPage()).screenshot(),
      },
      { name: hostile, type: 'screenshot', contentType: 'image/svg+xml', content: script },
      { name: `${canary(21)}.txt`, type: 'file', contentType: 'text/html', content: canary(22) },
      { name: `${canary(23)}.zip`, type: 'trace', contentType: 'application/zip', content: 'x' },
    ],
  );
  await using opened = await console.visit(where);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Encrypted' }).waitFor();
  const main = page.locator('main');
  assert.doesNotMatch((await main.textContent()) ?? '', /canary/);
  await page.getByLabel('Key file', { exact: true }).setInputFiles(keyPath);
  await page.getByLabel('Passphrase').fill(passphrase);
  await page.getByRole('button', { name: 'Decrypt', exact: true }).click();
  await page.getByText('Decrypted in this browser').waitFor();
  await page.getByRole('button', { name: /Screenshot 1 of/ }).waitFor();
  await page.evaluate("document.querySelector('.shot img').decode()");
  assert.equal(await page.locator('.shot').count(), 1);
  await page.locator('.shot').click();
  await page.getByRole('dialog').waitFor();
  // Browsers refuse to open what was decrypted here by itself.
  assert.equal(await page.getByRole('link', { name: 'Open in a new tab' }).count(), 0);
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  const row = page.getByRole('row', { name: `${canary(21)}.txt` });
  const download = page.waitForEvent('download');
  await row.getByRole('button', { name: 'Decrypt and download' }).click();
  const saved = await download;
  assert.match(saved.url(), /^blob:/);
  const seen = `${await main.textContent()} ${readFileSync(await saved.path(), 'utf8')}`;
  assert.deepEqual(
    canaries.filter((each) => !seen.includes(each)),
    [],
  );
  assert.equal(await page.getByRole('link', { name: 'Open the trace' }).count(), 0);
  assert.equal(await page.evaluate('window.hacked'), undefined);
  await picture(page, 'unlocked-browser');
});

test('a location gets a key pair, whose private half is a file of the browser alone', async () => {
  const { cp } = world;
  const made = await cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Cellar', slugName: 'cellar' },
  });
  const { id } = made.body as { id: string };
  await using opened = await console.visit(`#/locations/${id}`);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Encrypted results' }).waitFor();
  await page.getByLabel('Name of the key').fill('operators');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Create key pair' }).click();
  const saved = await download;
  const file = JSON.parse(readFileSync(await saved.path(), 'utf8')) as KeyFile;
  await page.getByRole('rowheader', { name: 'operators' }).waitFor();
  await picture(page, 'location-keys');
  await assertPleasant(page, 'operators', 1280, 'a location with a key for results');
  const read = await cp.api('GET', `/v1/private-locations/${id}`);
  const { resultEncryptionKeys: keys } = read.body as {
    resultEncryptionKeys: { id: string; name: string; publicKey: string }[];
  };
  assert.deepEqual(
    keys.map(({ id: keyId, name, publicKey }) => [keyId, name, publicKey]),
    [[file.id, 'operators', file.publicKey]],
  );
  assert.equal(JSON.stringify(read.body).includes(file.privateKey ?? assert.fail()), false);
  await page
    .getByRole('row', { name: /operators/ })
    .getByRole('button', { name: 'Remove' })
    .click();
  await page.getByText(/goes on reading the older ones/).waitFor();
});
