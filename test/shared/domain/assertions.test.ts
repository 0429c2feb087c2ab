import assert from 'node:assert/strict';
import test from 'node:test';
import type { Assertion, Comparison } from '@monitor/shared/contract/assertion.ts';
import type { Judging, Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { dnsMonitor } from '@monitor/shared/contract/checks/dns.ts';
import { evaluateAssertions } from '@monitor/shared/domain/assertions.ts';
import { workMs } from '../../support/time-spent.ts';

const nothing: Measurement = {
  startedAt: 0,
  stoppedAt: 0,
  responseTime: 10,
  failure: null,
  request: {},
  response: null,
};

/** Whether a comparison of a value holds. */
function holds(comparison: Comparison, actual: unknown, target = ''): boolean {
  const judging: Judging = {
    hasResponseTimeLimits: false,
    readSource: () => ({ actual, isList: false }),
    ownVerdict: () => ({ failed: null, degraded: null, isInvertible: false }),
  };
  const assertion: Assertion = { source: 'X', comparison, property: '', target, regex: null };
  return evaluateAssertions([assertion], judging, nothing)[0]?.error === undefined;
}

test('every comparison holds and fails where it should', () => {
  const table: [Comparison, unknown, string, boolean][] = [
    ['EQUALS', 200, '200', true],
    ['EQUALS', '200', '200.0', true],
    ['EQUALS', true, 'true', true],
    ['EQUALS', 'a', 'b', false],
    ['NOT_EQUALS', 'a', 'b', true],
    ['GREATER_THAN', 10, '9', true],
    ['GREATER_THAN', 'abc', '9', false],
    ['LESS_THAN', 0, '1', true],
    ['CONTAINS', 'hello world', 'lo w', true],
    ['CONTAINS', ['a', 'b'], 'b', true],
    ['NOT_CONTAINS', 'hello', 'x', true],
    ['IS_EMPTY', '', '', true],
    ['IS_EMPTY', [], '', true],
    ['IS_EMPTY', 0, '', false],
    ['NOT_EMPTY', { a: 1 }, '', true],
    ['IS_NULL', null, '', true],
    ['IS_NULL', undefined, '', true],
    ['NOT_NULL', 0, '', true],
    ['HAS_KEY', { a: 1 }, 'a', true],
    ['HAS_KEY', { a: 1 }, 'toString', false],
    ['NOT_HAS_KEY', { a: 1 }, 'b', true],
    ['HAS_VALUE', { a: 1 }, '1', true],
    ['NOT_HAS_VALUE', { a: 1 }, '2', true],
    ['NOT_EQUALS', undefined, 'b', false],
    ['NOT_CONTAINS', undefined, 'b', false],
  ];
  for (const [comparison, actual, target, expected] of table) {
    assert.equal(
      holds(comparison, actual, target),
      expected,
      `${JSON.stringify(actual)} ${comparison} ${target}`,
    );
  }
});

function onDns(
  source: 'JSON_ANSWER' | 'TEXT_ANSWER',
  property: string,
  comparison: Comparison,
  target: string,
) {
  assert.ok(dnsMonitor.judging !== null);
  const measurement: Measurement = {
    ...nothing,
    response: {
      answer: `status: NOERROR, max-age=31536000 ${'a'.repeat(50_000)}!`,
      jsonAnswer: { Answer: [{ TTL: 60 }, { TTL: 300 }], Status: 'NOERROR' },
    },
  };
  const assertion: Assertion = { source, comparison, property, target, regex: null };
  return evaluateAssertions([assertion], dnsMonitor.judging, measurement)[0];
}

test('a JSONPath with several values must hold for each', () => {
  assert.equal(onDns('JSON_ANSWER', '$.Answer[*].TTL', 'LESS_THAN', '301')?.error, undefined);
  const broken = onDns('JSON_ANSWER', '$.Answer[*].TTL', 'LESS_THAN', '100');
  assert.match(broken?.error ?? '', /found 300/);
  assert.equal(onDns('JSON_ANSWER', '$.Answer.length', 'EQUALS', '2')?.error, undefined);
  assert.notEqual(onDns('JSON_ANSWER', '$.nothing', 'EQUALS', '2')?.error, undefined);
  assert.equal(onDns('JSON_ANSWER', '$.nothing', 'IS_NULL', '')?.error, undefined);
});

test('a path or pattern that cannot be read is a failed assertion, not a crash', () => {
  assert.match(onDns('JSON_ANSWER', '$[', 'EQUALS', 'x')?.error ?? '', /cannot read/);
  assert.match(onDns('TEXT_ANSWER', '(', 'EQUALS', 'x')?.error ?? '', /cannot read/);
});

test('a pattern compares its first capture group, with or without slashes', () => {
  for (const pattern of ['max-age=(\\d+)', '/max-age=(\\d+)/']) {
    const found = onDns('TEXT_ANSWER', pattern, 'GREATER_THAN', '100000');
    assert.equal(found?.error, undefined);
    assert.equal(found?.actual, '31536000');
  }
});

test('a pattern made to backtrack ends all the same', () => {
  const tookMs = workMs(() => onDns('TEXT_ANSWER', '(a+)+$', 'EQUALS', 'x'));
  assert.ok(tookMs < 5_000, `${tookMs} ms`);
});
