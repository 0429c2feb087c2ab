import assert from 'node:assert/strict';
import test from 'node:test';
import {
  incidentMail,
  type IncidentMailFacts,
} from '../../../../control-plane/status-pages/subscribers/incident-mail.ts';
import { localeOf } from '../../../../control-plane/status-pages/languages/locale.ts';
import { verificationMail } from '../../../../control-plane/status-pages/subscribers/verification-mail.ts';

const address = 'https://status.example.com';
const locale = localeOf('en', 'UTC');
const facts: IncidentMailFacts = {
  to: 'ann@example.com',
  locale,
  page: { name: 'Shop', address },
  incident: { id: 'i1', name: 'Slow search', severity: 'MAJOR', link: `${address}/incidents/i1` },
  update: {
    status: 'INVESTIGATING',
    description: 'We look into it.\r\nMore at 9:00.',
    at: Date.parse('2026-11-21T08:00:00Z'),
  },
  services: ['Search', 'Suggestions'],
  unsubscribeLink: `${address}/subscriptions/unsubscribe?token=t`,
};

test('an incident mail says in text what it says in HTML', () => {
  const mail = incidentMail(facts);
  assert.equal(mail.subject, '[Shop] Slow search – Investigating');
  assert.equal(
    mail.text,
    `Slow search
Investigating · Major · 21 Nov 2026, 08:00 UTC

We look into it.
More at 9:00.

Affected: Search and Suggestions

Read more: ${address}/incidents/i1

You get this mail because you subscribed to Shop.
Unsubscribe: ${address}/subscriptions/unsubscribe?token=t
`,
  );
  assert.match(mail.html, /We look into it\.<br\/>\s*More at 9:00\./);
  for (const word of [
    'Investigating',
    'Major',
    'Search and Suggestions',
    `${address}/incidents/i1`,
  ]) {
    assert.ok(mail.html.includes(word), word);
  }
  assert.deepEqual(mail.headers, {
    'Auto-Submitted': 'auto-generated',
    'List-Unsubscribe': `<${address}/subscriptions/unsubscribe?token=t>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    References: '<incident-i1@status.example.com>',
  });
});

test('every status is a word, and an incident without services says nothing about them', () => {
  const subjects = (['IDENTIFIED', 'MONITORING', 'RESOLVED'] as const).map((status) => {
    const mail = incidentMail({ ...facts, services: [], update: { ...facts.update, status } });
    assert.equal(/Affected/.test(mail.text + mail.html), false);
    return mail.subject;
  });
  assert.deepEqual(subjects, [
    '[Shop] Slow search – Identified',
    '[Shop] Slow search – Monitoring',
    '[Shop] Slow search – Resolved',
  ]);
});

test('names and descriptions are text in mails, whatever they contain', () => {
  const bad = '<img src=x onerror=alert(1)>"\'&{{to}}';
  const page = { name: `${bad}\r\nBcc: eve@example.com\u2028`, address };
  const incident = incidentMail({
    ...facts,
    page,
    incident: { ...facts.incident, name: `${bad}\nTo: eve@example.com` },
    update: { ...facts.update, description: bad },
    services: [bad],
  });
  const verification = verificationMail({
    to: facts.to,
    locale,
    page,
    services: [bad],
    isChange: true,
    link: `${address}/x?token=t`,
  });
  for (const { html, subject, headers } of [incident, verification]) {
    assert.equal(html.includes('<img'), false);
    assert.equal(html.includes('{{to}}'), true, 'no template of ours');
    for (const header of [subject, ...Object.values(headers)]) {
      assert.equal(/[\r\n\u2028]/.test(header), false, header);
    }
  }
});

test('a confirmation mail has one link, and advice for people who did not subscribe', () => {
  const link = `${address}/subscriptions/verify?token=t`;
  const mail = verificationMail({
    ...{ to: facts.to, locale, page: facts.page },
    ...{ services: [], isChange: false, link },
  });
  assert.equal(mail.subject, '[Shop] Confirm your subscription');
  assert.deepEqual(mail.text.match(/https?:\S+/g), [link]);
  assert.match(mail.text, /24 hours[^]+did not ask/);
  assert.ok(mail.html.includes('token&#x3D;t') || mail.html.includes(link));
});
