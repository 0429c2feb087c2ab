// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { readExtraAuthorities } from '../../../agent/net/tls/extra-authorities.ts';
import { runBrowser } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { scriptWorld } from '../../support/script-context.ts';
import { httpsServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

test('browsers and scripts trust the authorities of the network, and whatever is wrong stays wrong', async (t) => {
  const network = await makeAuthority('Network');
  const other = await makeAuthority('Other');
  const stranger = await makeAuthority('Stranger');
  const below = await network.intermediate('Department');
  const alone = await selfSigned({ host: 'localhost', validForDays: 9 });
  const good = { host: 'localhost', validForDays: 9 };
  const rows = [
    { pair: await network.issue(good), browser: 'ok', script: 'ok' },
    { pair: await other.issue(good), browser: 'ok', script: 'ok' },
    { pair: await below.issue(good), browser: 'ok', script: 'ok' },
    { pair: alone, browser: 'ok', script: 'ok' },
    {
      pair: await network.issue({ ...good, validForDays: -1 }),
      ...{ browser: 'ERR_CERT_DATE_INVALID', script: 'CERT_HAS_EXPIRED' },
    },
    {
      pair: await network.issue({ ...good, host: 'other.internal' }),
      ...{ browser: 'ERR_CERT_COMMON_NAME_INVALID', script: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    },
    {
      pair: await stranger.issue(good),
      ...{ browser: 'ERR_CERT_AUTHORITY_INVALID', script: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
    },
  ];
  await using stack = new AsyncDisposableStack();
  const urls: string[] = [];
  for (const { pair } of rows) {
    const { port } = stack.use(await httpsServer(pair.key, pair.cert));
    urls.push(`https://localhost:${port}/`);
  }
  const world = await scriptWorld(t, { extraAuthorities: [network.cert, other.cert, alone.cert] });
  const context = world.context();
  const seen = await runBrowser(
    {
      ...{ request: { assertions: [] }, shouldFail: false, degradedResponseTime: null },
      maxResponseTime: null,
      script: `
        import { test } from '@playwright/test';
        import https from 'node:https';
        const ask = (url) => new Promise((resolve) => {
          https.get(url, (answer) => { answer.resume(); resolve('ok'); })
            .on('error', ({ code }) => resolve(code));
        });
        test('all', async ({ page }) => {
          const seen = [];
          for (const url of ${JSON.stringify(urls)}) {
            const browser = await page.goto(url).then(() => 'ok', ({ message }) => /ERR_\\w+/.exec(message)[0]);
            seen.push({ browser, script: await ask(url) });
          }
          console.log(JSON.stringify(seen));
        });`,
    },
    context,
  );
  assert.equal(seen.failure, null);
  const { jobLog } = seen.details?.browserCheckResult as unknown as { jobLog: { msg: string }[] };
  assert.deepEqual(
    JSON.parse(jobLog[0]?.msg ?? ''),
    rows.map(({ browser, script }) => ({ browser, script })),
  );
});

suite('the file of NODE_EXTRA_CA_CERTS', () => {
  test('is read without those that are well known anyway', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'bundle.pem');
    const mine = await makeAuthority('Mine');
    const [known = ''] = rootCertificates;
    await writeFile(file, `# a comment\n${known}\n${mine.cert}\n${known}`);
    const { certificates, problem } = readExtraAuthorities(file);
    assert.deepEqual([certificates.map(({ subject }) => subject), problem], [['CN=Mine'], null]);
  });

  test('that is missing, empty or damaged is named, with what to do', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'bundle.pem');
    assert.match(
      readExtraAuthorities(file).problem ?? '',
      /bundle\.pem, which cannot be read \(ENOENT\): mount it/,
    );
    await writeFile(file, 'DER, perhaps');
    assert.match(readExtraAuthorities(file).problem ?? '', /holds no certificate: it must be PEM/);
    const { cert } = await makeAuthority('Mine');
    await writeFile(file, `${cert}\n${cert.replace(/M\w{9}/, 'x')}`);
    const { certificates, problem } = readExtraAuthorities(file);
    assert.equal(certificates.length, 1);
    assert.match(problem ?? '', /^1 of 2 certificates/);
    assert.deepEqual(readExtraAuthorities(undefined), { certificates: [], problem: null });
  });
});
