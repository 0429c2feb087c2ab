/** The command line that teams bring, as npm has it, against a control plane and an agent: no shim between. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { clientVersions, installClient } from '../support/published-client.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

for (const version of clientVersions) {
  test(`checkly ${version} reads and changes what is there`, async () => {
    using folder = temporaryFolder();
    await using target = await openTarget();
    await using system = await System.start(folder.path);
    const key = await system.makeLocation('office');
    await using agent = system.startAgent('office', key);
    await agent.log('checked in');
    const often = { privateLocations: ['office'], frequency: 0, frequencyOffset: 10 };
    const passing = await system.api<{ id: string }>('POST', '/v1/checks/url', {
      ...{ ...often, name: 'shop', tags: ['web'] },
      request: { url: `${target.url}/ok` },
    });
    const mail = await system.api<{ id: string }>('POST', '/v1/checks/tcp', {
      ...{ ...often, name: 'mail', retryStrategy: 'FALLBACK' },
      request: { hostname: '127.0.0.1', port: 1 },
    });
    await system.api('POST', '/v1/alert-channels', {
      ...{ type: 'EMAIL', config: { address: 'ada@example.com' } },
    });
    let results: { id: string }[] = [];
    const hasResult = async () => {
      results = await system.api('GET', `/v1/check-results/${mail.id}?limit=1`);
      return results.length > 0;
    };
    await eventually(hasResult, 120_000, () => 'a result of the check');
    const client = await installClient(folder.path, version, system);
    const steps: [command: string, shows: RegExp][] = [
      ['whoami', /You are currently on account/],
      ['runtimes', /2025/],
      ['account plan', /features/],
      ['members', /No account members found/],
      ['env add LOGIN ada', /added/],
      ['env ls', /LOGIN=ada/],
      ['env update LOGIN ben', /updated/],
      ['env rm LOGIN --force', /deleted/],
      ['checks list', /shop/],
      ['checks list --tag web --output json', /"shop"/],
      [`checks get ${passing.id}`, /shop/],
      [`checks get ${mail.id} --result ${results[0]?.id}`, /URL: +127.0.0.1:1\n/],
      ['checks stats', /shop/],
      ['status-pages list', /No status pages/],
      ['incidents list', /No incidents/],
      ['alert-channels list', /ada@example.com/],
      ['api /v1/private-locations', /"office"/],
    ];
    for (const [command, shows] of steps) assert.match(await client.run(command), shows, command);
  });
}
