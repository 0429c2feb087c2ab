/** An account with something of everything the console shows, some of it hostile. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import type {
  CheckInAnswer,
  CheckInRequest,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { artifactReference } from '@monitor/shared/contract/check-result.ts';
import { startTestControlPlane, type TestControlPlane } from './control-plane.ts';
import { checkInOf, FakeAgent, resultOf } from './fake-agent.ts';
import { hour, iso, minute } from './results.ts';
import { TestClock } from './test-clock.ts';

export const consoleNow = Date.parse('2026-11-21T12:00:00Z');

/** Does something that a test sees, wherever it is taken for more than text. */
export const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;

/** A red picture of one by one. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

export interface ConsoleWorld extends AsyncDisposable {
  cp: TestControlPlane;
  clock: TestClock;
  agent: FakeAgent;
  /** The agent reports as it does all the time, and takes the jobs that wait. */
  checkIn(): Promise<CheckInAnswer>;
  shop: string;
  checkout: string;
  checkoutResult: string;
  journey: string;
  journeyResult: string;
  steps: string;
  stepsResult: string;
  suite: string;
  suiteResult: string;
  backup: string;
}

type Fields = Partial<ResultSubmission>;

const vital = (value: number, score: 'GOOD' | 'POOR' = 'GOOD') => ({ value, score });

function phases(total: number) {
  const share = { wait: 0, dns: 0.05, tcp: 0.1, firstByte: 0.65, download: 0.2 };
  const parts = Object.entries(share).map(([name, part]) => [name, total * part]);
  return { ...Object.fromEntries(parts), tls: total * 0.15, total } as Record<string, number>;
}

/** As HTTP checks write it; that of SSL checks says more. */
const certificate = {
  subject: 'CN=shop.example',
  issuer: 'C=US\nO=Example Trust\nCN=R11',
  validTo: 'Jun  1 00:00:00 2027 GMT',
  daysRemaining: 40,
};

function httpSeen(total: number, fields: Record<string, unknown> = {}) {
  return {
    assertions: [],
    request: {
      method: 'GET',
      url: 'https://shop.example/',
      data: '',
      headers: { accept: '*/*' },
      params: {},
    },
    response: {
      status: 200,
      statusText: 'OK',
      headers: { 'content-type': 'text/html' },
      body: '<h1>Shop</h1>',
      timings: {},
      timingPhases: phases(total),
      remoteAddress: '192.0.2.7',
      ipFamily: 'IPv4',
      certificate,
    },
    requestError: null,
    jobLog: { setup: [], request: [], teardown: [] },
    jobAssets: null,
    pcapDataUrl: null,
    networkDiagnostics: null,
    ...fields,
  };
}

const scriptRun = {
  errors: [],
  startTime: consoleNow - 5 * minute,
  endTime: consoleNow - 5 * minute + 4200,
  runtimeVersion: '2026.04',
  jobLog: [{ time: consoleNow - 5 * minute, level: 'INFO', msg: 'opening the shop' }],
  jobAssets: [],
  playwrightTestTraces: [],
  playwrightTestJsonReportFile: null,
  tests: [],
};

const loginTest = {
  title: 'signs in and buys',
  file: 'shop.spec.ts',
  project: 'chromium',
  tags: [],
  status: 'failed' as const,
  outcome: 'unexpected' as const,
  retries: 0,
  durationMs: 4100,
  errors: [{ message: 'expected "Thank you" to be visible', stack: null, title: null }],
  steps: [
    {
      title: 'open the basket',
      category: 'test.step',
      startTime: consoleNow - 5 * minute,
      durationMs: 900,
      error: null,
      steps: [],
      requests: [0],
    },
    {
      title: 'expect the thanks',
      category: 'expect',
      startTime: consoleNow - 4 * minute,
      durationMs: 3000,
      error: 'timed out',
      steps: [],
      requests: [],
    },
  ],
};

class Builder {
  readonly cp: TestControlPlane;
  readonly agent: FakeAgent;

  constructor(cp: TestControlPlane, agent: FakeAgent) {
    this.cp = cp;
    this.agent = agent;
  }

  async create(path: string, body: unknown): Promise<{ id: string }> {
    const answer = await this.cp.api('POST', `/v1/${path}`, body);
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as { id: string };
  }

  async check(path: string, fields: Record<string, unknown>): Promise<string> {
    const heartbeat = path === 'heartbeat';
    const { id } = await this.create(`checks/${path}`, {
      ...(heartbeat ? {} : { locations: ['eu-west-1'], frequency: 10 }),
      ...fields,
    });
    return id;
  }

  async submit(checkId: string, type: string, at: number, fields: Fields): Promise<string> {
    const item = resultOf(checkId, {
      checkType: type,
      scheduledFor: at,
      startedAt: at,
      stoppedAt: at + (fields.responseTime ?? 20),
      ...fields,
    });
    const [outcome] = await this.agent.submit(item);
    assert.equal(outcome?.outcome, 'accepted', JSON.stringify(outcome));
    return item.id;
  }
}

async function addShop(build: Builder): Promise<string> {
  const id = await build.check('url', {
    name: 'Shop front page',
    tags: ['shop', 'public'],
    locations: ['eu-west-1', 'us-east-1'],
    request: { url: 'https://shop.example/' },
  });
  for (let index = 0; index < 40; index += 1) {
    const at = consoleNow - (40 - index) * 30 * minute;
    const responseTime = 120 + Math.round(60 * Math.sin(index / 4)) + (index % 7) * 9;
    await build.submit(id, 'URL', at, {
      responseTime,
      isDegraded: index % 17 === 3,
      apiCheckResult: httpSeen(responseTime),
    });
  }
  return id;
}

const logLine = (msg: string, level = 'INFO') => ({ time: consoleNow - 3 * minute, level, msg });

const unheard = { last: null, avg: null, best: null, worst: null, stdDev: null };

/** A connection that broke off in the midst of the answer. */
const brokenOff = {
  capture: { kind: 'packets', packets: 9, missing: null },
  events: [
    { at: 4.1, phase: 'resolve', event: 'api.shop.example is 192.0.2.9' },
    { at: 4.3, phase: 'connect', event: 'connecting to 192.0.2.9:443' },
    { at: 31.8, phase: 'connect', event: 'established from port 43118' },
    { at: 90.2, phase: 'tls', event: `TLSv1.3, certificate by CN=${hostile}` },
    { at: 1840, phase: 'body', event: 'the connection was reset: api.shop.example (ECONNRESET)' },
  ],
  traceroute: {
    ...{ method: 'tcp', address: '192.0.2.9', port: 443, ipFamily: 'IPv4' },
    ...{ startedAt: consoleNow - 3 * minute, durationMs: 2100, isReached: false },
    hops: [
      {
        ...{ hop: 1, addresses: ['10.0.0.1'], sent: 3, received: 3, lossPercent: 0, last: 0.6 },
        ...{ avg: 0.6, best: 0.4, worst: 0.9, stdDev: 0.2, isTarget: false, note: null },
      },
      {
        ...{ hop: 2, addresses: [], sent: 3, received: 0, lossPercent: 100, ...unheard },
        ...{ isTarget: false, note: null },
      },
      {
        ...{ hop: 3, addresses: ['192.0.2.1', '192.0.2.2'], sent: 3, received: 1, last: 31.2 },
        ...{ lossPercent: 66.7, avg: 31.2, best: 31.2, worst: 31.2, stdDev: 0, isTarget: false },
        note: 'administratively prohibited',
      },
    ],
  },
  tracerouteMissing: null,
};

async function addCheckout(build: Builder): Promise<{ checkout: string; checkoutResult: string }> {
  const checkout = await build.check('api', {
    name: `Checkout API ${hostile}`,
    tags: ['shop', hostile.slice(0, 30)],
    description: hostile,
    request: {
      url: 'https://api.shop.example/checkout',
      method: 'POST',
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
    },
  });
  const at = consoleNow - 3 * minute;
  const failed: Fields = {
    name: `Checkout API ${hostile}`,
    hasFailures: true,
    responseTime: 1840,
    errorMessages: [`expected status 503 to equal 200 ${hostile}`],
    apiCheckResult: httpSeen(1840, {
      assertions: [
        {
          order: 0,
          source: 'STATUS_CODE',
          comparison: 'EQUALS',
          property: '',
          target: '200',
          regex: null,
          actual: 503,
          error: 'expected status 503 to equal 200',
        },
        {
          order: 1,
          source: 'JSON_BODY',
          comparison: 'NOT_EMPTY',
          property: '$.error',
          target: '',
          regex: null,
          actual: [hostile],
        },
      ],
      request: {
        method: 'POST',
        url: 'https://api.shop.example/checkout',
        data: '{"basket":[1,2,3]}',
        headers: { 'content-type': 'application/json', 'x-trace': hostile },
        params: { [hostile]: hostile },
      },
      response: {
        status: 503,
        statusText: 'Service Unavailable',
        headers: { 'content-type': 'application/json', 'retry-after': '30' },
        body: JSON.stringify({ error: hostile, code: 'BASKET_DOWN' }),
        timings: {},
        timingPhases: phases(1840),
        remoteAddress: '192.0.2.9',
        ipFamily: 'IPv4',
        redirects: 2,
        certificate,
      },
      jobLog: {
        setup: [logLine('token fetched'), logLine(hostile, 'WARN')],
        request: [],
        teardown: [],
      },
      pcapDataUrl: 'javascript:window.hacked=1',
      networkDiagnostics: brokenOff,
    }),
  };
  await build.submit(checkout, 'API', at - 10 * minute, {
    responseTime: 210,
    apiCheckResult: httpSeen(210),
  });
  await build.submit(checkout, 'API', at, { ...failed, resultType: 'ATTEMPT', attempt: 1 });
  const checkoutResult = await build.submit(checkout, 'API', at, { ...failed, attempt: 2 });
  return { checkout, checkoutResult };
}

async function addJourney(
  build: Builder,
  locationKey: string,
): Promise<{ journey: string; journeyResult: string }> {
  const journey = await build.check('browser', {
    name: 'Buying a book',
    tags: ['shop'],
    script: "await page.goto('https://shop.example/');",
  });
  const file = 'screenshots/basket.png';
  const journeyResult = await build.submit(journey, 'BROWSER', consoleNow - 5 * minute, {
    name: 'Buying a book',
    hasFailures: true,
    responseTime: 4200,
    errorMessages: ['expected "Thank you" to be visible'],
    browserCheckResult: {
      ...scriptRun,
      type: 'PLAYWRIGHT_TEST',
      errors: [
        { message: 'expected "Thank you" to be visible', stack: 'at shop.spec.ts:7', title: null },
      ],
      tests: [loginTest],
      traceSummary: { consoleErrors: 1, networkErrors: 1, documentErrors: 0, userScriptErrors: 1 },
      playwrightTestVideos: [],
      pages: [
        {
          url: 'https://shop.example/basket',
          title: `Basket ${hostile}`,
          webVitals: {
            FCP: vital(640),
            LCP: vital(4900, 'POOR'),
            CLS: vital(0.02),
            TTFB: vital(90),
          },
          console: [
            {
              time: consoleNow,
              type: 'error',
              text: `Uncaught ${hostile}`,
              location: 'basket.js:3',
            },
          ],
          network: [
            {
              time: consoleNow,
              method: 'GET',
              url: 'https://shop.example/basket.json',
              resourceType: 'fetch',
              status: 500,
              durationMs: 80,
              sizeBytes: 1200,
              failure: null,
            },
          ],
          screenshots: [artifactReference(file)],
        },
      ],
    },
    artifacts: [
      {
        name: file,
        type: 'screenshot',
        contentType: 'image/png',
        size: picture.length,
        withheld: null,
      },
      {
        name: 'trace.zip',
        type: 'trace',
        contentType: 'application/zip',
        size: 10,
        withheld: 'it could not be freed of secrets',
      },
    ],
  });
  const uploaded = await fetch(
    `${build.cp.url}/v1/agent/artifacts/${journeyResult}/${encodeURIComponent(file)}`,
    {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${locationKey}`,
        digest: `sha-256=${createHash('sha256').update(picture).digest('base64')}`,
      },
      body: picture,
    },
  );
  assert.equal(uploaded.status, 204, await uploaded.text());
  return { journey, journeyResult };
}

async function addSteps(build: Builder): Promise<{ steps: string; stepsResult: string }> {
  const steps = await build.check('multistep', {
    name: 'Order over the API',
    script: "await request.get('https://api.shop.example/');",
  });
  const request = (path: string, startTime: number, total: number) => ({
    method: 'GET',
    url: `https://api.shop.example${path}`,
    requestHeaders: { accept: '*/*' },
    requestBody: null,
    status: 200,
    statusText: 'OK',
    headers: { 'content-type': 'application/json' },
    body: '{"ok":true}',
    truncated: false,
    startTime,
    timings: {},
    timingPhases: phases(total),
    error: null,
  });
  const stepsResult = await build.submit(steps, 'MULTI_STEP', consoleNow - 6 * minute, {
    name: 'Order over the API',
    responseTime: 900,
    multiStepCheckResult: {
      ...scriptRun,
      tests: [{ ...loginTest, status: 'passed', outcome: 'expected', errors: [] }],
      requests: [
        request('/login', scriptRun.startTime, 120),
        request('/order', scriptRun.startTime + 200, 640),
      ],
    },
  });
  return { steps, stepsResult };
}

async function addSuite(build: Builder): Promise<{ suite: string; suiteResult: string }> {
  const suite = await build.check('playwright', {
    name: 'Suite of the shop',
    codeBundlePath: 'bundle.tgz',
  });
  const suiteResult = await build.submit(suite, 'PLAYWRIGHT', consoleNow - 7 * minute, {
    name: 'Suite of the shop',
    responseTime: 9000,
    playwrightCheckResult: {
      ...scriptRun,
      tests: [{ ...loginTest, status: 'passed', outcome: 'flaky', retries: 1, errors: [] }],
      playwrightTestVideos: [],
      playwrightTraceFiles: [],
      metrics: {
        total: 1,
        passed: 0,
        failed: 0,
        flaky: 1,
        skipped: 0,
        retries: 1,
        durationMs: 8800,
        installMs: 0,
        cacheHit: true,
        requests: 61,
        bytes: 840_000,
        browserStartMs: 310,
      },
      pages: [
        {
          ...{ url: 'https://shop.example/login', visits: 2, requests: 61, bytes: 840_000 },
          webVitals: { LCP: { score: 'GOOD', value: 1200 }, CLS: { score: 'POOR', value: 0.31 } },
        },
      ],
    },
  });
  return { suite, suiteResult };
}

async function addHeartbeat(build: Builder): Promise<string> {
  const backup = await build.check('heartbeat', {
    name: 'Nightly backup',
    heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' },
  });
  const { body } = await build.cp.api('GET', `/v1/checks/${backup}`);
  const { pingToken } = (body as { heartbeat: { pingToken: string } }).heartbeat;
  await fetch(`${build.cp.url}/ping/${pingToken}`);
  return backup;
}

/** An alert about the failing check, what was sent about it, and what the public sees of it. */
async function addAftermath(build: Builder, checkId: string, resultId: string): Promise<void> {
  const { db } = build.cp.controlPlane.services;
  const account_id = build.cp.accountId;
  const channel = await build.create('alert-channels', {
    type: 'WEBHOOK',
    config: { name: hostile, url: 'https://hooks.example/very-secret-path' },
  });
  const alertId = randomUUID();
  const outage = await db
    .selectFrom('check_alerts')
    .select('incident_key')
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  await db
    .insertInto('check_alerts')
    .values({
      id: alertId,
      account_id,
      check_id: checkId,
      name: `Checkout API ${hostile}`,
      check_type: 'API',
      alert_type: 'ALERT_FAILURE',
      run_location: 'eu-west-1',
      response_time_ms: 1840,
      error: `expected status 503 to equal 200 ${hostile} ${'expect(locator).toHaveText'.repeat(3)}`,
      status_code: '503',
      created_at: consoleNow - 2 * minute,
      started_at: consoleNow - 3 * minute,
      incident_key: outage?.incident_key ?? alertId,
    })
    .execute();
  await db
    .insertInto('alert_notifications')
    .values({
      id: randomUUID(),
      account_id,
      type: 'WEBHOOK',
      status: 'FAILURE',
      config_json: '{}',
      result: `HTTP 500 ${hostile}`,
      sent_at: consoleNow - 2 * minute,
      check_type: 'API',
      check_id: checkId,
      check_alert_id: alertId,
      alert_channel_id: Number(channel.id),
      check_result_id: resultId,
    })
    .execute();
  const service = await build.create('status-pages/services', { name: 'Checkout' });
  await build.create('status-pages', {
    name: 'Shop status',
    url: 'shop',
    cards: [{ name: 'Shop', services: [{ id: service.id }] }],
  });
  await build.create('status-pages/incidents', {
    name: `Checkout is down ${hostile}`,
    severity: 'MAJOR',
    services: [{ id: service.id }],
    incidentUpdates: [{ description: 'We look into it' }],
  });
  await build.create('maintenance-windows', {
    name: 'Database upgrade',
    startsAt: iso(consoleNow + 24 * hour),
    endsAt: iso(consoleNow + 26 * hour),
    repeatUnit: 'WEEK',
    repeatInterval: 1,
    tags: ['shop'],
  });
}

/** Of an agent that is busy and has not got rid of all its results. */
function reportOf(agent: FakeAgent): CheckInRequest {
  return checkInOf(
    {
      agentId: agent.id,
      hostName: `shop-runner-1 ${hostile}`,
      startedAt: consoleNow - 3 * 24 * hour,
      running: 2,
      outbox: { depth: 4, oldestAt: consoleNow - 2 * minute, droppedTotal: 0 },
      clock: { sentAt: consoleNow, offsetMs: -31 },
    },
    ['URL', 'API', 'TCP', 'BROWSER'],
    ['2026.04'],
  );
}

/** Builds it on a clock that stands still. No limits: the clock never frees a request. */
export async function openConsoleWorld(): Promise<ConsoleWorld> {
  const clock = new TestClock(consoleNow);
  const cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const locationKey = await cp.locationKey('eu-west-1');
  const agent = new FakeAgent(cp, locationKey);
  const build = new Builder(cp, agent);
  const checkIn = () => agent.call<CheckInAnswer>('check-in', reportOf(agent));
  await checkIn();
  await build.create('private-locations', { name: 'Office Berlin', slugName: 'office-berlin' });
  const shop = await addShop(build);
  const checkout = await addCheckout(build);
  const journey = await addJourney(build, locationKey);
  const steps = await addSteps(build);
  const suite = await addSuite(build);
  const backup = await addHeartbeat(build);
  await addAftermath(build, checkout.checkout, checkout.checkoutResult);
  return {
    cp,
    clock,
    agent,
    checkIn,
    shop,
    backup,
    ...checkout,
    ...journey,
    ...steps,
    ...suite,
    [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose](),
  };
}
