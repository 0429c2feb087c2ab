/** The command line that teams bring deploys, changes, destroys and imports a project with everything it knows. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { performance } from 'node:perf_hooks';
import type { ImportPlanWire } from '@monitor/shared/contract/compatibility/imports.ts';
import { runToEnd } from '../support/agent-command.ts';
import { controlPlaneProgram } from '../support/programs.ts';
import { clientVersions, installClient } from '../support/published-client.ts';
import { makeSigningKey } from '../support/signing.ts';
import { System, temporaryFolder } from '../support/system.ts';

interface Listed {
  id: string;
  checkType: string;
}

const config = (logicalId: string) => `import { defineConfig } from 'checkly'
export default defineConfig({
  projectName: '${logicalId}', logicalId: '${logicalId}', repoUrl: 'https://git.example/shop',
  checks: { checkMatch: '**/*.check.ts', frequency: 10, locations: [], runtimeId: '2025.04' },
})
`;

const spec = `import { test } from '@playwright/test'
test('a', async ({ page }) => { await page.goto('https://a.example/') })
`;

const everything = `import * as c from 'checkly/constructs'
const mail = new c.EmailAlertChannel('mail', { address: 'ada@example.com', sendDegraded: true })
const hook = new c.WebhookAlertChannel('hook', { name: 'hook', url: 'https://hooks.example/x', method: 'POST', template: '{"a":"{{CHECK_NAME}}"}', headers: [{ key: 'X', value: 'y' }] })
const slack = new c.SlackAlertChannel('slack', { url: 'https://hooks.slack.example/x', channel: '#a' })
const sms = new c.SmsAlertChannel('sms', { phoneNumber: '+4917612345678', name: 'ada' })
const call = new c.PhoneCallAlertChannel('call', { phoneNumber: '+4917612345678', name: 'ada' })
const pagerduty = new c.PagerdutyAlertChannel('pd', { serviceKey: 'k', serviceName: 's', account: 'a' })
const opsgenie = new c.OpsgenieAlertChannel('og', { name: 'og', apiKey: 'k', region: 'EU', priority: 'P1' })
const alertChannels = [mail, hook, slack, sms, call, pagerduty, opsgenie]
const office = new c.PrivateLocation('office', { name: 'Office', slugName: 'office', icon: 'location', proxyUrl: 'https://user:password@proxy.example' })
const privateLocations = [office]
const group = new c.CheckGroupV2('backend', { name: 'Backend', tags: ['b'], alertChannels: [mail], privateLocations, environmentVariables: [{ key: 'A', value: 'b' }, { key: 'S', value: 'secret', secret: true }] })
new c.CheckGroupV1('old', { name: 'Old', activated: true, locations: ['eu-west-1'], concurrency: 2, environmentVariables: [], apiCheckDefaults: {}, tags: [] })
const request = { url: 'https://a.example' }
new c.ApiCheck('api', { name: 'api', privateLocations, group, alertChannels, retryStrategy: c.RetryStrategyBuilder.linearStrategy(), alertEscalationPolicy: c.AlertEscalationBuilder.runBasedEscalation(2), request: { ...request, method: 'GET', followRedirects: true, skipSSL: false, assertions: [c.AssertionBuilder.statusCode().equals(200), c.AssertionBuilder.jsonBody('$.a').equals('b')], headers: [{ key: 'a', value: 'b' }] }, setupScript: { content: 'let a = 1' } })
new c.UrlMonitor('url', { name: 'url', privateLocations, frequency: c.Frequency.EVERY_10S, request: { ...request, assertions: [c.UrlAssertionBuilder.statusCode().equals(200)] } })
new c.TcpMonitor('tcp', { name: 'tcp', privateLocations, request: { hostname: 'a.example', port: 80, assertions: [c.TcpAssertionBuilder.responseTime().lessThan(500)] } })
new c.DnsMonitor('dns', { name: 'dns', privateLocations, request: { recordType: 'A', query: 'a.example' } })
new c.IcmpMonitor('icmp', { name: 'icmp', privateLocations, request: { hostname: 'a.example' } })
new c.HeartbeatMonitor('beat', { name: 'beat', period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours', alertChannels: [mail] })
new c.BrowserCheck('browser', { name: 'browser', privateLocations, code: { entrypoint: './shop.spec.ts' } })
new c.MultiStepCheck('multi', { name: 'multi', privateLocations, runtimeId: '2025.04', code: { entrypoint: './shop.spec.ts' } })
const later = c as any
if (later.SslMonitor) new later.SslMonitor('ssl', { name: 'ssl', privateLocations, request: { hostname: 'a.example', sslConfig: {} } })
if (later.TracerouteMonitor) new later.TracerouteMonitor('trace', { name: 'trace', privateLocations, request: { url: 'a.example', protocol: 'TCP' } })
new c.PlaywrightCheck('suite', { name: 'suite', privateLocations, playwrightConfigPath: './playwright.config.ts', installCommand: 'npm ci', testCommand: 'npx playwright test' })
const [startsAt, endsAt] = [new Date('2030-01-01T10:00:00Z'), new Date('2030-01-01T12:00:00Z')]
new c.MaintenanceWindow('window', { name: 'window', tags: ['b'], startsAt, endsAt })
new c.MaintenanceWindow('weekly', { name: 'weekly', tags: ['b'], startsAt, endsAt, repeatUnit: 'WEEK', repeatInterval: 1, repeatEndsAt: new Date('2031-01-01T12:00:00Z') })
new c.Dashboard('board', { tags: ['b'], header: 'Board', customUrl: 'board-of-shop' })
const service = new c.StatusPageService('service', { name: 'Service' })
new c.StatusPage('page', { name: 'Page', url: 'page-of-shop', cards: [{ name: 'Card', services: [service] }], defaultTheme: 'DARK' })
new c.UrlMonitor('incident', { name: 'incident', privateLocations, request, triggerIncident: { service, severity: 'MAJOR', name: 'n', description: 'd', notifySubscribers: false } })
`;

const many = (count: number) => `import * as c from 'checkly/constructs'
const mail = new c.EmailAlertChannel('mail', { address: 'ada@example.com' })
for (let index = 0; index < ${count}; index += 1) {
  new c.UrlMonitor('url-' + index, { name: 'url ' + index, alertChannels: [mail], request: { url: 'https://a.example/' + index } })
}
`;

/** A lockfile without packages: nothing is installed, the client only wants to see one. */
function writeProject(folder: string, logicalId: string): void {
  const suite = { '@playwright/test': '1.56.1' };
  const facts = { name: 'shop', version: '1.0.0', devDependencies: suite };
  const files: Record<string, string> = {
    'checkly.config.ts': config(logicalId),
    'shop.check.ts': everything,
    'shop.spec.ts': spec,
    'playwright.config.ts': `export default { testDir: 'tests', projects: [{ name: 'chromium' }] }\n`,
    'tests/shop.spec.ts': spec,
    'package.json': JSON.stringify({ ...facts, type: 'module' }),
    'package-lock.json': JSON.stringify({
      ...{ name: 'shop', version: '1.0.0', lockfileVersion: 3, requires: true },
      packages: {
        '': facts,
        'node_modules/@playwright/test': { version: '1.56.1', dev: true },
      },
    }),
  };
  mkdirSync(join(folder, 'tests'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** Resident memory of a process in MB. */
function residentMb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

for (const version of clientVersions) {
  test(`checkly ${version} deploys, changes, destroys and imports a project with everything`, async (it) => {
    using folder = temporaryFolder();
    using state = temporaryFolder();
    await using system = await System.start(state.path);
    const client = await installClient(folder.path, version, system, {
      // The files that an import writes ask for secrets by name.
      CHECKLY_SECRET_S: 'secret',
    });
    writeProject(folder.path, 'shop');
    const stored = () =>
      system.query<object>('select id, revision, body_json from checks order by id');

    assert.match(await client.run('validate'), /Your project is valid/);
    const preview = await client.run('deploy --preview');
    assert.match(preview, /UrlMonitor: url/);
    assert.deepEqual(stored(), []);
    const deployed = await client.run('deploy --force');
    assert.match(deployed, /Successfully deployed project/);
    assert.match(deployed, /Ping URL of heartbeat check beat is http.*\/ping\//);
    const made = stored();
    assert.ok(made.length >= 11, `${made.length} checks`);

    assert.match(await client.run('deploy --force'), /Successfully deployed/);
    assert.deepEqual(stored(), made);

    const anna = makeSigningKey(state.path);
    const program = resolve(import.meta.dirname, '..', '..', controlPlaneProgram);
    const sign = ['sign', '--sign-with', anna.file, '--', ...client.words('deploy --force')];
    const settings = {
      CONTROL_PLANE_API_KEY: system.apiKey,
      ...{ PUBLIC_URL: system.baseUrl, CHECKLY_SECRET_S: 'secret', CI: 'true' },
    };
    for (let times = 0; times < 2; times += 1) {
      const { code, error } = await runToEnd([program, ...sign], settings, folder.path);
      assert.equal(code, 0, error);
      assert.doesNotMatch(error, /warning: check/);
    }
    for (const { id, checkType } of await system.api<Listed[]>('GET', '/v1/checks?limit=100')) {
      // No agent runs it.
      if (checkType === 'HEARTBEAT') continue;
      const part = await system.api<{ state: string }>('GET', `/v1/checks/${id}/signed-part`);
      assert.equal(part.state, 'VALID', checkType);
    }

    const changed = everything
      .replace("name: 'tcp'", "name: 'tcp 2'")
      .replace(/^new c\.IcmpMonitor.*$/m, '');
    writeFileSync(join(folder.path, 'shop.check.ts'), changed);
    const output = await client.run('deploy --force --output');
    assert.match(output, /Delete:\s+Check: icmp/);
    assert.match(output, /Update and Unchanged:\s+TcpMonitor: tcp\n/);
    assert.equal(stored().length, made.length - 1);

    assert.match(
      await client.run('destroy --force --preserve-resources'),
      /All resources have been preserved/,
    );
    assert.equal(stored().length, made.length - 1);

    await system.api('POST', '/next/projects', { logicalId: 'taken', name: 'taken' });
    writeFileSync(join(folder.path, 'checkly.config.ts'), config('taken'));
    writeFileSync(join(folder.path, 'shop.check.ts'), '');
    // In the end it asks whether to apply the plan, and breaks off, as nobody answers.
    const taken = 'check check-group alert-channel';
    await client.run(`import plan --root imported ${taken}`).catch(() => undefined);
    const [plan] = await system.api<ImportPlanWire[]>('GET', '/next/projects/imports');
    await client.run(`import apply --plan-id ${plan?.id} --no-commit`);
    await client.run(`import commit --plan-id ${plan?.id} --force`);
    const [committed] = await system.api<ImportPlanWire[]>('GET', '/next/projects/imports');
    assert.ok(committed?.committedAt !== undefined);
    const again = await client.run('deploy --force --output');
    assert.match(again, /Successfully deployed/);
    assert.doesNotMatch(again, /Create:|Delete:/);
    assert.match(await client.run('destroy --force'), /successfully deleted/);

    writeFileSync(join(folder.path, 'checkly.config.ts'), config('large'));
    for (const count of [200, 1_000]) {
      writeFileSync(join(folder.path, 'shop.check.ts'), many(count));
      const before = residentMb(system.controlPlane.child.pid);
      const begunAt = performance.now();
      assert.match(await client.run('deploy --force'), /Successfully deployed/);
      const seconds = (performance.now() - begunAt) / 1_000;
      const more = residentMb(system.controlPlane.child.pid) - before;
      it.diagnostic(`${count} checks: ${seconds.toFixed(1)} s, ${more.toFixed(0)} MB more`);
    }
    assert.match(await client.run('destroy --force'), /successfully deleted/);
  });
}
