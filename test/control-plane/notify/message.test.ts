import assert from 'node:assert/strict';
import test from 'node:test';
import type { AlertFacts } from '../../../control-plane/notify/facts.ts';
import { messageOf, subjectOf } from '../../../control-plane/notify/message.ts';
import { alertFacts } from '../../support/notifications.ts';

const slow = (type: AlertFacts['check']['type'], error: string | null): AlertFacts => {
  const { check, result } = alertFacts();
  return alertFacts({
    alertType: 'ALERT_FAILURE_DEGRADED',
    check: { ...check, type },
    result: result && { ...result, error, statusCode: '200', statusText: 'OK' },
  });
};

const subjectFor = (facts: AlertFacts): string =>
  subjectOf(messageOf(facts, 'id', 'https://monitor.example'));

test('who is told that a check is slow is told how slow, not that the answer was a good one', () => {
  assert.equal(
    subjectFor(slow('URL', null)),
    '[DEGRADED] Checkout: 813 ms are above its degraded limit',
  );
  assert.equal(subjectFor(slow('ICMP', null)), '[DEGRADED] Checkout');
  assert.equal(subjectFor(slow('URL', 'too many hops')), '[DEGRADED] Checkout: too many hops');
});

test('where nothing says why it failed, the status does', () => {
  const { result } = alertFacts();
  assert.equal(
    subjectFor(alertFacts({ result: result && { ...result, error: null } })),
    '[FAILING] Checkout: 503 Service Unavailable',
  );
});
