import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { locationKey } from '../support/fake-control-plane.ts';
import type { ProxyReady } from '../support/lab-proxy.ts';
import { labProblem } from '../support/network-lab.ts';
import { gateAddress, openOffice, workBehindProxy } from '../support/office.ts';

const problem = labProblem();

test(
  'nobody, behind a proxy that asks for a login and reads TLS, checks in, checks, uploads and drains',
  { skip: problem ?? false },
  async () => {
    await using office = await openOffice();
    const proxy = office.gate.spawn(
      process.execPath,
      ['test/support/lab-proxy.ts', gateAddress, 'office:p@ss word', 'intercept'],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    );
    const [{ url, authority }] = (await once(proxy, 'message')) as [ProxyReady];
    assert.ok(authority !== null);
    const { port } = new URL(url);
    const proxyUrl = `http://office:p%40ss%20word@${gateAddress}:${port}`;

    const stranger = office.startAgent(
      { API_KEY: locationKey, HTTPS_PROXY: proxyUrl },
      office.authority,
    );
    const { reason } = await stranger.log('check-in failed, the schedule goes on');
    assert.match(String(reason), /signed by "CN=Office gateway".*NODE_EXTRA_CA_CERTS/);
    assert.equal(await stranger.stop(), 0);

    const agent = await workBehindProxy(office, { proxyUrl, authority });
    assert.equal(await agent.stop(), 0);
    const said = agent.lines.join('\n');
    assert.match(said, /"msg":"drained"/);
    for (const secret of ['p@ss word', 'p%40ss']) assert.ok(!said.includes(secret), secret);
  },
);
