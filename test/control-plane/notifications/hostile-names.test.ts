// SQLite only: it tests words.
/** What people and other systems name is text in every format that a message is sent in. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import { htmlOf, textOf } from '../../../control-plane/notifications/channels/email-body.ts';
import { opsgenieRequest } from '../../../control-plane/notifications/channels/opsgenie.ts';
import { pagerDutyEvent } from '../../../control-plane/notifications/channels/pagerduty.ts';
import { callMarkup, smsText } from '../../../control-plane/notifications/channels/phone.ts';
import { slackBody } from '../../../control-plane/notifications/channels/slack.ts';
import { defaultBody } from '../../../control-plane/notifications/channels/webhook-body.ts';
import type { GroupFacts, NotificationFacts } from '../../../control-plane/notifications/facts.ts';
import { type Message, messageOf } from '../../../control-plane/notifications/message.ts';
import { personLinkMail } from '../../../control-plane/notifications/subscriber-mails/person-link-mail.ts';
import {
  type AlertVariables,
  alertVariables,
} from '../../../control-plane/notifications/templates/alert-variables.ts';
import { renderTemplate } from '../../../control-plane/notifications/templates/render-template.ts';
import {
  type BodyFormat,
  placeOfBody,
} from '../../../control-plane/notifications/templates/webhook-places.ts';
import {
  agentHealthFacts,
  alertFacts,
  locationFacts,
  recoveryFacts,
  testFacts,
} from '../../support/notifications.ts';

const publicUrl = 'https://m.example';
const { at } = testFacts;

/** Ends a tag, an attribute, an element, a JSON string, a line, and mentions whole channels. */
const hostile =
  '<!channel> <@U1> <https://evil.example|Shop> [Shop](https://evil.example) @everyone ' +
  '"\'</td></title></Say><script>x</script><a href=x>\\"}\r\nBcc: all@evil.example\u2028\u202E';

const rootCause: RootCause = {
  ...{ classification: 'host-down', rootCause: 'nothing listens', userImpact: 'no page' },
  ...{ codeFix: null, title: 'The host is down', place: 'shop.example', side: 'target' },
  evidence: [{ artifacts: [], description: 'three places see it' }],
  ...{ referenceLinks: [], confidence: 'likely', rulesOut: ['DNS'], wouldTell: ['a trace'] },
  ...{ since: new Date(at).toISOString(), locations: ['eu-central-1'], checks: [], moreChecks: 0 },
};
const grouped = [{ name: 'Shop', error: 'no answer', description: 'Sells shoes' }];
const group: GroupFacts = {
  ...{ kind: 'group', at, groupId: 'g', incidentKey: 'group-1', cause: 'the host shop.example' },
  ...{ sequence: 1, since: at, reminded: 1, open: 1, total: 2, heldBack: 1, maxPerHour: 5 },
  began: { count: 1, isFailing: true, checks: grouped.map((of) => ({ id: 'a', ...of })) },
  ended: { count: 1, checks: grouped.map((of) => ({ id: 'b', ...of })) },
  ...{ acknowledgedBy: ['Ann'], alsoFailing: { names: ['Search'], more: 0 } },
  ...{ rootCauses: [rootCause], limitedUntil: null },
};
const { result } = alertFacts();

/** A kind that is missing here does not compile. */
const known: Record<NotificationFacts['kind'], readonly NotificationFacts[]> = {
  alert: [
    alertFacts({
      ...{ rootCause, alsoFailing: { names: ['Search'], more: 0 } },
      ...{ acknowledged: { by: 'Ann', at }, escalation: { policy: 'Night', step: 1 } },
      result: result && { ...result, locationName: 'Berlin', overload: { since: at, reason: 'x' } },
    }),
    alertFacts({ ssl: { daysRemaining: 3, domain: 'shop.example' }, alertType: 'ALERT_SSL' }),
    recoveryFacts({ acknowledged: { by: 'Ann', at } }),
  ],
  location: [locationFacts],
  faults: [agentHealthFacts, { ...agentHealthFacts, code: 'BROWSER_MISSING' }],
  group: [group, { ...group, open: 0 }],
  maintenance: [
    {
      ...{ kind: 'maintenance', at, windowId: 1, name: 'Move', startedAt: at, plannedEnd: at },
      incidentKey: 'maintenance-1',
    },
  ],
  'control-plane': [{ kind: 'control-plane', at, isOver: false }],
  report: [
    {
      ...{ kind: 'report', at, label: 'VERDICTS DIFFER', title: '1 difference', reason: 'why' },
      details: [{ label: 'Shop', value: 'only we saw it failing' }],
      ...{ link: { url: publicUrl, text: 'Open' }, incidentKey: 'shadow/1' },
    },
  ],
  test: [testFacts],
};

/** Of a closed list, or made by this product. */
const ours = new Set(
  'kind id alertId groupId incidentKey alertType type state withdrawn classification side confidence since link'.split(
    ' ',
  ),
);

/** Ends every other text with a hostile one. */
function spoiled(value: unknown, key = ''): unknown {
  if (ours.has(key)) return value;
  if (typeof value === 'string') return `${value} ${hostile}`;
  if (Array.isArray(value)) return value.map((each) => spoiled(each, key));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, spoiled(of, name)]));
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(textsIn);
const tagsOf = (html: string) => html.match(/<\/?[\w!?]+|"/g) ?? [];
const linesOf = (text: string) => text.split(/[\r\n\u2028]/).length;
const withoutBidi = (text: string) => {
  assert.doesNotMatch(text, /[\u202A-\u202E]/);
};

type Sent = [message: Message, variables: AlertVariables, facts: NotificationFacts];
type Compare = (spoilt: Sent, plain: Sent) => void;

const plainTemplate = (variables: AlertVariables, raw: boolean, around: string) =>
  Object.keys(variables).map((name) => around + (raw ? `{{{${name}}}}` : `{{${name}}}`) + around);
function filledIn(template: string, format: BodyFormat, variables: AlertVariables): string {
  const given = new Map(Object.entries(variables));
  const scope = { now: at, random: () => 0.5, newId: () => 'id', variables: given };
  return renderTemplate(template, scope, placeOfBody(format));
}

const formats: Record<string, Compare> = {
  Slack: ([message]) => {
    for (const text of textsIn(slackBody(message, null))) {
      const [link = ''] = /^<https:\/\/m\.example[^<>|]*\|/.exec(text) ?? [];
      assert.doesNotMatch(link === '' ? text : text.slice(1), /<(?!https:\/\/m\.example)/, text);
      withoutBidi(text);
    }
  },
  'the HTML of a mail': ([message], [plain]) => {
    assert.deepEqual(tagsOf(htmlOf(message)), tagsOf(htmlOf(plain)));
  },
  'the text of a mail': ([message], [plain]) => {
    assert.equal(linesOf(textOf(message)), linesOf(textOf(plain)));
    withoutBidi(textOf(message));
  },
  SMS: ([message]) => {
    assert.equal(linesOf(smsText(message)), 1);
  },
  CALL: ([message], [plain]) => {
    assert.deepEqual(tagsOf(callMarkup(message)), tagsOf(callMarkup(plain)));
  },
  PagerDuty: ([message]) => {
    for (const text of textsIn(pagerDutyEvent(message, 'key', publicUrl))) {
      assert.equal(linesOf(text), 1, text);
    }
  },
  Opsgenie: ([message, , facts], [plain, , plainFacts]) => {
    const config = { apiKey: 'k', region: 'EU', priority: 'P1', name: 'o' } as const;
    const bodyOf = (of: Message, about: NotificationFacts) =>
      JSON.parse(
        String(opsgenieRequest({ facts: about, message: of }, config, null).body),
      ) as Record<string, unknown>;
    const [one, other] = [bodyOf(message, facts), bodyOf(plain, plainFacts)];
    assert.deepEqual(Object.keys(one), Object.keys(other));
    assert.equal(linesOf(String(one['description'])), linesOf(String(other['description'])));
  },
  Discord: ([message, variables], [plain, plainVariables]) => {
    const bodyOf = (of: Message, about: AlertVariables) =>
      JSON.parse(defaultBody('WEBHOOK_DISCORD', of, about)) as Record<string, unknown>;
    const body = bodyOf(message, variables);
    assert.deepEqual(body['allowed_mentions'], { parse: [] });
    const content = String(body['content']);
    assert.doesNotMatch(content, /\]\(/);
    const lines = linesOf(String(bodyOf(plain, plainVariables)['content']));
    assert.ok(linesOf(content) <= lines, content);
  },
  Teams: ([message, variables]) => {
    const body = JSON.parse(defaultBody('WEBHOOK_MSTEAMS', message, variables)) as { text: string };
    for (const text of textsIn(body)) assert.doesNotMatch(text, /\]\(/);
    assert.doesNotMatch(body.text, /<[a-z/!]/i);
  },
  'a template of HTML': ([, variables]) => {
    const template = plainTemplate(variables, false, '').join('\n');
    assert.doesNotMatch(filledIn(template, 'text', variables), /[<>"']/);
  },
  'a template of JSON': ([, variables]) => {
    for (const raw of [false, true]) {
      const template = `[${plainTemplate(variables, raw, '"').join()}]`;
      const parsed = JSON.parse(filledIn(template, 'json', variables)) as unknown[];
      assert.equal(parsed.length, Object.keys(variables).length);
    }
  },
  'a template of a form': ([, variables]) => {
    const template = Object.keys(variables)
      .map((name) => `${name}={{${name}}}`)
      .join('&');
    const fields = new URLSearchParams(filledIn(template, 'form', variables));
    assert.deepEqual([...fields.keys()], Object.keys(variables));
  },
};

const sent = (facts: NotificationFacts): Sent => {
  const message = messageOf(facts, 'id', publicUrl, 'Europe/Berlin');
  return [message, alertVariables(facts, message, publicUrl), facts];
};

for (const [format, compare] of Object.entries(formats)) {
  test(`no text of people or of other systems is more than text in ${format}`, () => {
    for (const facts of Object.values(known).flat()) {
      compare(sent(spoiled(facts) as NotificationFacts), sent(facts));
    }
  });
}

test('no name of a person or an account is more than text in an invitation', () => {
  const link = {
    kind: 'INVITATION',
    to: 'a@m.example',
    link: publicUrl,
    validFor: '1 day',
  } as const;
  const mailOf = (invitedBy: string, accountName: string) =>
    personLinkMail({ ...link, consoleUrl: publicUrl, invitedBy, accountName });
  const [one, other] = [mailOf(`Ann ${hostile}`, `Shop ${hostile}`), mailOf('Ann', 'Shop')];
  assert.deepEqual(tagsOf(one.html), tagsOf(other.html));
  assert.deepEqual([linesOf(one.text), linesOf(one.subject)], [linesOf(other.text), 1]);
});

test('without anything of the kind, names stand in messages as they were given', () => {
  const name = 'Shop & Söhne [1] (EU) *new*';
  const facts = alertFacts({ check: { ...alertFacts().check, name } });
  const [message, variables] = sent(facts);
  assert.ok(textOf(message).includes(`Check "${name}" has failed`));
  for (const type of ['WEBHOOK_DISCORD', 'WEBHOOK_MSTEAMS']) {
    assert.ok(
      defaultBody(type, message, variables).includes(JSON.stringify(name).slice(1, -1)),
      type,
    );
  }
  assert.match(JSON.stringify(slackBody(message, null)), /Shop &amp; Söhne \[1\] \(EU\) \*new\*/);
});
