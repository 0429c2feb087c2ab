import assert from 'node:assert/strict';
import test from 'node:test';
import { certificateAddressees } from '../../../../control-plane/alerting/decide/certificate.ts';
import { addresseesOf } from '../../../../control-plane/alerting/decide/channels.ts';
import type { AlertType } from '../../../../control-plane/alerting/decide/decision.ts';

const channel = {
  id: 1,
  type: 'EMAIL',
  activated: true,
  sendFailure: true,
  sendDegraded: false,
  sendRecovery: true,
};

function reason(alertType: AlertType, fields: Partial<typeof channel> = {}, told: number[] = []) {
  return addresseesOf([{ ...channel, ...fields }], alertType, told)[0]?.reason;
}

test('a channel is notified of what it takes', () => {
  assert.equal(reason('ALERT_FAILURE'), 'WANTED');
  assert.equal(reason('ALERT_DEGRADED_FAILURE'), 'WANTED');
  assert.equal(reason('ALERT_FAILURE_REMAIN', { sendFailure: false }), 'FAILURES_OFF');
  assert.equal(reason('ALERT_FAILURE_DEGRADED'), 'DEGRADED_OFF');
  assert.equal(reason('ALERT_DEGRADED', { sendDegraded: true }), 'WANTED');
  assert.equal(reason('ALERT_FAILURE', { activated: false }), 'SUBSCRIPTION_OFF');
});

test('a recovery goes to channels that were notified of the problem, or that take recoveries only', () => {
  assert.equal(reason('ALERT_RECOVERY', {}, [1]), 'WANTED');
  assert.equal(reason('ALERT_DEGRADED_RECOVERY', {}, [2]), 'NEVER_TOLD');
  assert.equal(reason('ALERT_RECOVERY', { sendRecovery: false }, [1]), 'RECOVERIES_OFF');
  assert.equal(reason('ALERT_RECOVERY', { sendFailure: false }), 'WANTED');
});

test('each channel hears once of a certificate, by its own threshold, and again when it expired', () => {
  const watching = {
    id: 1,
    type: 'SLACK',
    activated: true,
    sslExpiry: true,
    sslExpiryThreshold: 14,
  };
  const told = (stage: 'EXPIRING' | 'EXPIRED') => [{ channelId: 1, expiresAt: 1_000, stage }];
  const ask = (daysRemaining: number, notices: ReturnType<typeof told> = [], expiresAt = 1_000) =>
    certificateAddressees(
      [watching],
      notices,
      { daysRemaining, expiresAt },
      daysRemaining > 0 ? 0 : 1_000,
    )[0]?.reason;
  assert.equal(ask(14), 'NOT_YET');
  assert.equal(ask(13), 'WANTED');
  assert.equal(ask(13, told('EXPIRING')), 'ALREADY_TOLD');
  assert.equal(ask(0, told('EXPIRING')), 'WANTED');
  assert.equal(ask(-3, told('EXPIRED')), 'ALREADY_TOLD');
  assert.equal(ask(5, told('EXPIRED'), 2_000), 'WANTED');
  const off = { ...watching, sslExpiry: false };
  const [reasonOff] = certificateAddressees([off], [], { daysRemaining: 1, expiresAt: 1 }, 0);
  assert.equal(reasonOff?.reason, 'CERTIFICATES_OFF');
});
