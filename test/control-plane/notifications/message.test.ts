// SQLite only: it tests words.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { AlertFacts, AgentHealthFacts } from '../../../control-plane/notifications/facts.ts';
import { messageOf, subjectOf } from '../../../control-plane/notifications/message.ts';
import { alertFacts, agentHealthFacts } from '../../support/notifications.ts';

const slow = (type: AlertFacts['check']['type'], error: string | null): AlertFacts => {
  const { check, result } = alertFacts();
  return alertFacts({
    alertType: 'ALERT_FAILURE_DEGRADED',
    check: { ...check, type },
    result: result && { ...result, error, statusCode: '200', statusText: 'OK' },
  });
};

const subjectFor = (facts: AlertFacts | AgentHealthFacts): string =>
  subjectOf(messageOf(facts, 'id', 'https://monitor.example'));

test('a message about a slow check says how slow, not that the response was good', () => {
  assert.equal(
    subjectFor(slow('URL', null)),
    '[DEGRADED] Checkout: 813 ms are above its degraded limit',
  );
  assert.equal(subjectFor(slow('ICMP', null)), '[DEGRADED] Checkout');
  assert.equal(subjectFor(slow('URL', 'too many hops')), '[DEGRADED] Checkout: too many hops');
});

test('the title says what has happened to the check, in words of each alert', () => {
  const titles = {
    ALERT_FAILURE: ['has failed', 'is still failing'],
    ALERT_FAILURE_REMAIN: ['has failed', 'is still failing'],
    ALERT_DEGRADED_FAILURE: ['has failed', 'is still failing'],
    ALERT_DEGRADED: ['is degraded', 'is still degraded'],
    ALERT_DEGRADED_REMAIN: ['is degraded', 'is still degraded'],
    ALERT_FAILURE_DEGRADED: ['no longer fails, but is degraded', 'is still degraded'],
    ALERT_RECOVERY: ['has recovered', 'has recovered'],
    ALERT_DEGRADED_RECOVERY: ['has recovered', 'has recovered'],
  } as const;
  const titleOf = (facts: Partial<AlertFacts>): string =>
    messageOf(alertFacts(facts), 'id', 'https://monitor.example').title;
  for (const [alertType, [first, reminder]] of Object.entries(titles)) {
    const facts = { alertType: alertType as keyof typeof titles };
    assert.equal(titleOf(facts), `Check "Checkout" ${first}`, alertType);
    assert.equal(
      titleOf({ ...facts, isReminder: true, reminderSequence: 2 }),
      `Check "Checkout" ${reminder}`,
      `a reminder of ${alertType}`,
    );
  }
});

test('where nothing says why it failed, the status does', () => {
  const { result } = alertFacts();
  assert.equal(
    subjectFor(alertFacts({ result: result && { ...result, error: null } })),
    '[FAILING] Checkout: 503 Service Unavailable',
  );
});

test('of a location that measures nothing it is said since when, why, and what to do', () => {
  const message = messageOf(agentHealthFacts, 'id', 'https://monitor.example');
  assert.deepEqual(
    [message.tone, message.title, message.reason],
    ['failing', 'Nothing but agent errors from location "Office Berlin"', agentHealthFacts.message],
  );
  assert.deepEqual(
    message.details.map(({ label, value }) => `${label}: ${value}`),
    [
      'Location: Office Berlin (office-berlin)',
      'Since: 2026-11-21 08:19:00 UTC',
      'Runs: 22 runs',
      'Most often: NETWORK_UNAVAILABLE',
      'Checks: Intranet',
      'What to do: run "monitor-agent doctor" on the machine of the agent there',
    ],
  );
  assert.equal(
    subjectFor({ ...agentHealthFacts, message: null }),
    '[NOT MEASURING] Office Berlin: nothing is known about the target of 1 check',
  );
  const isOver = {
    ...agentHealthFacts,
    isOver: true,
    mostCommonCode: null,
    message: null,
    checks: [],
  };
  const over = messageOf({ ...isOver, isConclusive: true }, 'id', 'https://monitor.example');
  assert.deepEqual(
    [over.tone, over.title, over.incidentKey],
    ['recovered', 'There are results from location "Office Berlin" again', message.incidentKey],
  );
  assert.deepEqual(
    over.details.map(({ label }) => label),
    ['Location', 'Began', 'Lasted'],
  );
});

test('of checks that share an error it is said which', () => {
  const title = (facts: Partial<AgentHealthFacts>) =>
    messageOf({ ...agentHealthFacts, code: 'BROWSER_MISSING', ...facts }, 'id', 'https://m.example')
      .title;
  const of = 'of location "Office Berlin"';
  const two = [...agentHealthFacts.checks, { id: 'b', name: 'Wiki' }];
  assert.equal(title({}), `1 check ${of} ends in BROWSER_MISSING every time`);
  assert.equal(title({ checks: two }), `2 checks ${of} end in BROWSER_MISSING every time`);
  assert.equal(title({ code: 'UNKNOWN' }), `1 check ${of} ends in an agent error every time`);
  assert.equal(title({ isOver: true }), `No check ${of} ends in BROWSER_MISSING any more`);
  const refused = { ...agentHealthFacts, code: 'WORK_REFUSED', mostCommonCode: 'WORK_REFUSED' };
  const { details } = messageOf(refused, 'id', 'https://m.example');
  assert.match(details.at(-1)?.value ?? '', /nothing ran that nobody signed/);
});
