// Own process: it adds authorities to those of the process.
/** Client certificates, the proxy of the location and further authorities, in every type that uses them. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { runBrowser, runMultiStep } from '../../agent/runners/scripts/browser-and-multi-step.ts';
import { runUrl } from '../../agent/runners/url.ts';
import { runCheck } from '../support/api-check.ts';
import { makeAuthority, type Authority } from '../support/certificates.ts';
import { mutualServer } from '../support/mutual-server.ts';
import { proxyServer, type ProxyServer } from '../support/proxy-server.ts';
import { definitionOf, runnerContext } from '../support/runner-context.ts';
import { inLongTier } from '../support/random.ts';
import { openScriptWorld, type ScriptWorld } from '../support/script-context.ts';

/** What is stored for a server, and so is shown to it; `-` for nothing. */
const stored = ['-', 'exact', 'wildcard', 'passphrase'] as const;
/** Why the server is trusted. */
const trusted = ['NODE_EXTRA_CA_CERTS', 'the CA of the certificate'] as const;
const login = 'agent:pa55-word';

interface Cell {
  shown: (typeof stored)[number];
  by: (typeof trusted)[number];
  port: number;
}

const definition = (script: string): CheckDefinition => ({
  ...{ request: { assertions: [] }, shouldFail: false, degradedResponseTime: null },
  ...{ maxResponseTime: null, script },
});

function lockedKey(key: string, passphrase: string): string {
  const how = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const;
  return createPrivateKey(key).export(how).toString();
}

suite('what is stored for a host is shown to it', () => {
  const stack = new AsyncDisposableStack();
  const cells: Cell[] = [];
  const certificates: Record<'localhost' | 'shop.internal', AssignedCertificate[]> = {
    localhost: [],
    'shop.internal': [],
  };
  let world: ScriptWorld;
  let clients: Authority;

  async function openCell(
    shown: Cell['shown'],
    by: Cell['by'],
    authority: Authority,
  ): Promise<void> {
    const names = { host: 'localhost', others: ['shop.internal'] };
    const own = await authority.issue({ ...names, validForDays: 9 });
    const { port } = stack.use(
      await mutualServer({ own, accepts: clients, isOpen: shown === '-' }),
    );
    cells.push({ shown, by, port });
    if (shown === '-') return;
    const { cert, key } = await clients.issue({ host: shown, validForDays: 9 });
    const passphrase = shown === 'passphrase' ? 'open sesame' : null;
    for (const name of ['localhost', 'shop.internal'] as const) {
      const pattern = shown === 'wildcard' ? name.replace(/^..../, '*') : name;
      certificates[name].push({
        host: `${pattern}:${port}`,
        cert,
        key: passphrase === null ? key : lockedKey(key, passphrase),
        passphrase,
        ca: by === 'NODE_EXTRA_CA_CERTS' ? null : authority.cert,
      });
    }
  }

  before(async () => {
    const [network, private_] = await Promise.all([makeAuthority('Network'), makeAuthority('Own')]);
    clients = await makeAuthority('Clients');
    // What Node does at its start with the file of NODE_EXTRA_CA_CERTS.
    setDefaultCACertificates([...getCACertificates('default'), network.cert]);
    for (const shown of stored) await openCell(shown, 'NODE_EXTRA_CA_CERTS', network);
    for (const shown of stored.slice(1)) {
      await openCell(shown, 'the CA of the certificate', private_);
    }
    world = stack.use(await openScriptWorld({ extraAuthorities: [network.cert] }));
  });
  after(() => stack.disposeAsync());

  const ways: [string, (() => Promise<ProxyServer>) | null, object][] = [
    ['directly', null, {}],
    ['by a proxy', () => proxyServer(), inLongTier],
    ['by a proxy with a login', () => proxyServer({ credentials: login }), {}],
  ];
  for (const [way, openProxy, options] of ways) {
    suite(way, options, () => {
      let proxy: ProxyServer | null = null;
      before(async () => {
        proxy = openProxy === null ? null : stack.use(await openProxy());
      });
      // This machine itself is nothing that a proxy is asked for by a run of code.
      const name = openProxy === null ? ('localhost' as const) : ('shop.internal' as const);
      const given = () => ({
        clientCertificates: certificates[name],
        proxyUrl: proxy?.url ?? null,
      });
      const urlOf = ({ port }: Cell): string => `https://${name}:${port}/`;
      const wanted = (): string[] => cells.map(({ shown }) => shown);
      const assertAsked = (): void => {
        if (proxy === null) return;
        const asked = new Set(proxy.asked.splice(0));
        assert.deepEqual(
          [...asked].sort(),
          cells.map(({ port }) => `CONNECT ${name}:${port}`).sort(),
        );
      };
      const script = (fixture: string, step: string): CheckDefinition =>
        definition(
          `import { test, expect } from '@playwright/test';
           test('all', async ({ ${fixture} }) => {
             const seen = [];
             for (const url of ${JSON.stringify(cells.map(urlOf))}) { ${step} }
             expect(seen).toEqual(${JSON.stringify(wanted())});
           });`,
        );

      test('by URL checks', async () => {
        for (const cell of cells) {
          const seen = await runUrl(
            definitionOf('URL', { url: urlOf(cell) }),
            runnerContext(5_000, {}, given()),
          );
          assert.deepEqual([cell, seen.failure], [cell, null]);
          assert.equal(seen.response?.['status'], 200);
        }
        assertAsked();
      });

      test('by API checks', async () => {
        const seen: unknown[] = [];
        for (const cell of cells) {
          const { response } = await runCheck({ url: urlOf(cell) }, given());
          seen.push(/<body>(.*)/.exec(String(response?.['body']))?.[1]);
        }
        assert.deepEqual(seen, wanted());
        assertAsked();
      });

      test('by browser checks', async () => {
        const { failure } = await runBrowser(
          script('page', 'await page.goto(url); seen.push(await page.title());'),
          world.context(given()),
        );
        assert.equal(failure, null);
        assertAsked();
      });

      test('by multi-step checks', async () => {
        const { failure } = await runMultiStep(
          script(
            'request',
            'seen.push(/<body>(.*)/.exec(await (await request.get(url)).text())[1]);',
          ),
          world.context(given()),
        );
        assert.equal(failure, null);
        assertAsked();
      });
    });
  }

  test('the warm browser keeps nothing of it for the next run', async () => {
    const guarded = cells.find(({ shown }) => shown === 'exact');
    const url = `https://localhost:${guarded?.port ?? 0}/`;
    const visit = (title: string): CheckDefinition =>
      definition(
        `import { test, expect } from '@playwright/test';
         test('one', async ({ page }) => { await page.goto('${url}'); await expect(page).toHaveTitle('${title}'); });`,
      );
    const clientCertificates = certificates.localhost;
    const first = await runBrowser(visit('exact'), world.context({ clientCertificates }));
    const second = await runBrowser(visit('-'), world.context());
    assert.deepEqual([first.failure, second.failure], [null, null]);
    assert.deepEqual(world.retired, []);
  });
});
