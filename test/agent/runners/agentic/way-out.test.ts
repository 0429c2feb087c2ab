// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrowserSession } from '../../../../agent/runners/agentic/browser-session.ts';
import { makeAuthority } from '../../../support/certificates.ts';
import { mutualServer } from '../../../support/mutual-server.ts';
import { proxyServer } from '../../../support/proxy-server.ts';
import { scriptWorld } from '../../../support/script-context.ts';

test('the browser of an agentic check shows the certificate, by the proxy of the location', async (t) => {
  const authority = await makeAuthority();
  const clients = await makeAuthority('Clients');
  const own = await authority.issue({ host: 'shop.internal', validForDays: 9 });
  const person = await clients.issue({ host: 'agent', validForDays: 9 });
  await using server = await mutualServer({ own, accepts: clients });
  await using proxy = await proxyServer({ credentials: 'agent:secret' });
  await using strict = await proxyServer({ credentials: 'somebody:else' });
  const world = await scriptWorld(t, { isWarm: false });
  const certificate = { host: '*.internal', ...person, passphrase: null, ca: authority.cert };
  const given = { clientCertificates: [certificate], scrub: (text: string) => text };
  const deadline = AbortSignal.timeout(60_000);
  const url = `https://shop.internal:${server.port}/`;
  {
    const context = world.context({ ...given, proxyUrl: proxy.url });
    await using session = await BrowserSession.open(context, deadline);
    const opened = await session.call('navigate', { url });
    assert.ok(opened.ok, JSON.stringify(opened));
    assert.deepEqual(server.seen, ['agent']);
    assert.deepEqual(proxy.asked, [`CONNECT shop.internal:${server.port}`]);
    assert.equal(session.agentError, null);
  }
  {
    const refused = `http://127.0.0.1:${strict.port}`;
    const context = world.context({ ...given, proxyUrl: refused });
    await using session = await BrowserSession.open(context, deadline);
    assert.equal((await session.call('navigate', { url })).ok, false);
    assert.equal(session.agentError?.code, 'NETWORK_UNAVAILABLE');
  }
});
