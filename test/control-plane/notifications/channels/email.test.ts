// PostgreSQL in the long tier: outbox-sender.test.ts and announce-due-updates.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { SMTPServerOptions } from 'smtp-server';
import { htmlOf, textOf } from '../../../../control-plane/notifications/channels/email-body.ts';
import { openMailer } from '../../../../control-plane/notifications/mailer.ts';
import { messageOf } from '../../../../control-plane/notifications/message.ts';
import { enqueueMessages } from '../../../../control-plane/notifications/outbox.ts';
import { startTestControlPlane } from '../../../support/control-plane.ts';
import { decodedWords, mailServer } from '../../../support/mail-server.ts';
import {
  alertFacts,
  locationFacts,
  makeChannel,
  notify,
  recordWhen,
  recoveryFacts,
  enqueue,
  testFacts,
} from '../../../support/notifications.ts';
import { runsOnPostgres } from '../../../support/postgres.ts';

const from = { MAIL_FROM: 'Monitor <alerts@shop.example>', PUBLIC_URL: 'https://m.example' };
const address = 'ops@team.example';

test('an alert is a mail in text and HTML, sent with login over an encrypted connection', async () => {
  await using mail = await mailServer();
  await using cp = await startTestControlPlane({ settings: { ...from, SMTP_URL: mail.url } });
  const channel = await makeChannel(cp, 'EMAIL', { address });
  const { status, result, id } = await notify(cp, channel);
  assert.deepEqual([status, /^250 /.test(result)], ['SUCCESS', true], result);
  const [got] = mail.received;
  assert.ok(got !== undefined);
  assert.deepEqual(
    [got.from, got.to, got.isSecure, got.user],
    ['alerts@shop.example', [address], true, 'monitor'],
  );
  const header = (name: string) => got.headers.get(name);
  assert.equal(header('subject'), '[FAILING] Checkout: expected status to equal 200, it was 503');
  assert.equal(header('message-id'), `<${id}@shop.example>`);
  assert.equal(header('references'), '<incident.check-7c8a0f3e-1@shop.example>');
  assert.equal(header('auto-submitted'), 'auto-generated');
  for (const part of [got.text, got.html]) {
    assert.match(part, /Check (&quot;|")Checkout(&quot;|") has failed/);
    assert.match(part, /Frankfurt/);
    assert.match(part, /813 ms/);
    assert.match(part, /2026-11-21 08:28:58 UTC/);
  }
  assert.match(got.text, /Last 3 runs, oldest first \(✕ failed, ! degraded\):\r?\n· ! ✕/);
  assert.match(got.html, /<td[^>]* bgcolor="#b3261e"/);
  assert.doesNotMatch(got.html, /<(script|img|svg|link|iframe)|url\(|@import/i);
});

test('mails about one outage hang together, and say how it went on', async () => {
  await using mail = await mailServer();
  await using cp = await startTestControlPlane({ settings: { ...from, SMTP_URL: mail.url } });
  const channel = await makeChannel(cp, 'EMAIL', { address });
  await notify(cp, channel, alertFacts());
  await notify(cp, channel, alertFacts({ isReminder: true, reminderSequence: 2 }));
  await notify(cp, channel, recoveryFacts());
  const ssl = { daysRemaining: 7, domain: 'shop.example' };
  await notify(cp, channel, locationFacts);
  await notify(cp, channel, { ...locationFacts, isServed: true });
  await notify(cp, channel, testFacts);
  const services = cp.controlPlane.services;
  const ending = services.outbox.whenEnded('ssl', AbortSignal.timeout(60_000));
  await enqueue(
    services,
    cp.accountId,
    channel,
    alertFacts({ alertType: 'ALERT_SSL', result: null, ssl }),
    'ssl',
  );
  assert.equal((await ending)?.status, 'SUCCESS');
  assert.deepEqual(
    mail.received.map(({ headers }) => headers.get('subject')),
    [
      '[FAILING] Checkout: expected status to equal 200, it was 503',
      '[STILL FAILING] Checkout: expected status to equal 200, it was 503',
      '[RECOVERED] Checkout: it lasted 1 min',
      '[NO AGENT] Office Berlin: 1 check does not run there',
      '[AGENT IS BACK] Office Berlin',
      '[TEST] Test: a user tested this channel; nothing is wrong',
      '[CERTIFICATE] The certificate of shop.example expires in 7 days',
    ],
  );
  const threads = mail.received.slice(0, 3).map(({ headers }) => headers.get('references'));
  assert.equal(new Set(threads).size, 1);
  assert.match(mail.received[2]?.text ?? '', /Lasted: +1 min/);
});

// PostgreSQL stores no NUL in a text, where SQLite keeps it and it becomes a space in a header.
const nul = runsOnPostgres ? '\uFFFD' : ' ';

test('names and errors cannot add headers, and are text in HTML', async () => {
  await using mail = await mailServer();
  await using cp = await startTestControlPlane({ settings: { ...from, SMTP_URL: mail.url } });
  const facts = alertFacts();
  const evil = {
    ...facts,
    check: {
      ...facts.check,
      name: 'a\r\nBcc: evil@x.example\r\n\r\n<script>alert(1)</script> \u202Etxt',
    },
    result: facts.result && { ...facts.result, error: '<img src=x onerror="alert(1)">\u0000"' },
    incidentKey: 'k>\r\nX-Evil: 1 <',
  };
  assert.equal(
    (await notify(cp, await makeChannel(cp, 'EMAIL', { address }), evil)).status,
    'SUCCESS',
  );
  const [got] = mail.received;
  assert.ok(got !== undefined);
  assert.deepEqual(got.to, [address]);
  assert.deepEqual([got.headers.has('bcc'), got.headers.has('x-evil')], [false, false]);
  assert.equal(
    decodedWords(got.headers.get('subject') ?? ''),
    `[FAILING] a Bcc: evil@x.example <script>alert(1)</script> txt: <img src=x onerror="alert(1)">${nul}"`,
  );
  assert.doesNotMatch(got.html, /<script|<img/);
  assert.match(got.html, /&lt;img src&#x3D;x onerror&#x3D;&quot;alert\(1\)&quot;&gt;/);
});

test('what the server says decides whether it is tried again, and the password is never shown', async () => {
  await using mail = await mailServer((to) =>
    to.startsWith('full')
      ? Object.assign(new Error('mailbox is full'), { responseCode: 452 })
      : to.startsWith('gone')
        ? Object.assign(new Error('no such mailbox'), { responseCode: 550 })
        : null,
  );
  await using cp = await startTestControlPlane({ settings: { ...from, SMTP_URL: mail.url } });
  const services = cp.controlPlane.services;
  const gone = await notify(cp, await makeChannel(cp, 'EMAIL', { address: 'gone@team.example' }));
  assert.equal(gone.status, 'FAILURE');
  assert.match(gone.result, /550 no such mailbox/);
  const full = await makeChannel(cp, 'EMAIL', { address: 'full@team.example' });
  const id = await enqueue(services, cp.accountId, full, alertFacts());
  const record = await recordWhen(services, id, ({ attempts }) => attempts === 1);
  assert.equal(record.status, 'IN_PROGRESS');
  assert.match(record.result ?? '', /452 mailbox is full/);

  const wrong = mail.url.replace('mail-pass', 'wrong-pass');
  await using other = await startTestControlPlane({ settings: { ...from, SMTP_URL: wrong } });
  const channel = await makeChannel(other, 'EMAIL', { address });
  const { body } = await other.api('POST', `/v1/alert-channels/${channel}/test`);
  assert.equal(body.status, 'FAILURE');
  assert.match(body.result as string, /^EAUTH 535/);
  assert.doesNotMatch(body.result as string, /wrong-pass/);
});

const held = new Int32Array(new SharedArrayBuffer(4));
type Answer = NonNullable<SMTPServerOptions['onData']>;
const late: [string, answer: Answer, timeoutMs: number, outcome: unknown][] = [
  [
    'a mail that was taken while this process was held up is delivered, once',
    (stream, _session, callback) => {
      stream.resume().on('end', () => {
        callback(null, 'taken');
        setImmediate(() => Atomics.wait(held, 0, 0, 2_500));
      });
    },
    2_000,
    { outcome: 'delivered', result: '250 taken' },
  ],
  [
    'a mail server that falls silent is given up, and tried again',
    (stream) => stream.resume(),
    400,
    { outcome: 'failed', result: 'ETIMEDOUT Timeout', isFinal: false },
  ],
];

for (const [name, onData, timeoutMs, outcome] of late) {
  test(name, async () => {
    let mails = 0;
    await using mail = await mailServer(() => null, {
      onData: (...given) => {
        mails += 1;
        onData(...given);
      },
    });
    const mailer = openMailer({ url: mail.url, from: from.MAIL_FROM, timeoutMs });
    const content = {
      to: address,
      subject: 'down',
      text: 'down',
      html: '<p>down</p>',
      headers: {},
    };
    const { signal } = new AbortController();
    assert.deepEqual(await mailer.send(content, 'n1', signal), outcome);
    assert.equal(mails, 1);
    mailer.close();
  });
}

test('without a mail server a mail fails, and says which setting is missing', async () => {
  await using cp = await startTestControlPlane();
  const { status, result } = await notify(cp, await makeChannel(cp, 'EMAIL', { address }));
  assert.deepEqual(
    [status, result],
    ['FAILURE', 'this installation cannot send mail: the operator has not set SMTP_URL'],
  );
});

test('a mail to a subscriber keeps its headers and leaves the outbox', async () => {
  await using mail = await mailServer();
  await using cp = await startTestControlPlane({ settings: { ...from, SMTP_URL: mail.url } });
  const { commits, outbox, clock } = cp.controlPlane.services;
  const id = 'd6f1a7b2-0000-4000-8000-000000000001';
  const ending = outbox.whenEnded(id, AbortSignal.timeout(60_000));
  const headers = {
    'List-Unsubscribe': '<https://m.example/status/shop/unsubscribe/tok-en>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
  await commits.run((unit) =>
    enqueueMessages(
      unit,
      cp.accountId,
      [
        {
          id,
          orderingKey: 'a-subscription',
          mail: {
            to: 'reader@a.example',
            subject: 'Shop: outage',
            text: 'text part',
            html: '<p>html part</p>',
            headers,
          },
        },
      ],
      clock.now(),
    ),
  );
  outbox.wake();
  assert.equal((await ending)?.status, 'SUCCESS');
  const [got] = mail.received;
  assert.deepEqual(
    [got?.to, got?.text.trim(), got?.html.trim()],
    [['reader@a.example'], 'text part', '<p>html part</p>'],
  );
  for (const [name, value] of Object.entries(headers)) {
    assert.equal(got?.headers.get(name.toLowerCase()), value);
  }
});

test('thirty runs make thirty bars, whatever their times', () => {
  const recentRuns = Array.from({ length: 40 }, (_, index) => ({
    startedAt: index,
    responseTimeMs: index === 39 ? 60_000 : 0,
    state: (['passing', 'degraded', 'failing'] as const)[index % 3] ?? 'passing',
  }));
  const html = htmlOf(messageOf(alertFacts({ recentRuns }), 'x', 'https://m.example'));
  assert.equal([...html.matchAll(/valign="bottom"/g)].length, 30);
  const heights = [...html.matchAll(/<td height="(\d+)"/g)].map(([, height]) => Number(height));
  assert.deepEqual([Math.min(...heights), Math.max(...heights)], [4, 44]);
});

test('the long name of a check in a report pushes no other value of the text away', () => {
  const details = [
    { label: 'Since', value: 'today' },
    { label: 'What else failed', value: 'Search' },
    { label: 'n'.repeat(200), value: 'only we saw it failing' },
  ];
  const lines = textOf({ ...messageOf(testFacts, 'x', 'https://m.example'), details }).split('\n');
  assert.deepEqual(lines.slice(4, 7), [
    'Since:            today',
    'What else failed: Search',
    `${'n'.repeat(200)}: only we saw it failing`,
  ]);
});
