import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import { comparison, type Assertion, type Comparison } from '@monitor/shared/contract/assertion.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { Judging, Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { apiCheck } from '@monitor/shared/contract/checks/api.ts';
import { dnsMonitor } from '@monitor/shared/contract/checks/dns.ts';
import { evaluateAssertions } from '@monitor/shared/domain/assertions.ts';
import { WithoutCpuError } from '@monitor/shared/time-limit.ts';
import { workMs } from '../../support/time-spent.ts';

const nothing: Measurement = {
  ...{ startedAt: 0, stoppedAt: 0, responseTime: 10, failure: null, request: {}, response: {} },
};

function evaluated(comparison: Comparison, actual: unknown, target: string) {
  const judging: Judging = {
    hasResponseTimeLimits: false,
    readSource: () => ({ actual, isList: false }),
    ownVerdict: () => ({ failed: null, degraded: null, isInvertible: false }),
  };
  const assertion: Assertion = { source: 'X', comparison, property: '', target, regex: null };
  return evaluateAssertions([assertion], judging, nothing)[0];
}

/** Whether a comparison of a value holds. */
const holds = (comparison: Comparison, actual: unknown, target = ''): boolean =>
  evaluated(comparison, actual, target)?.error === undefined;

test('every comparison holds and fails where it should', () => {
  const table: [Comparison, unknown, string, boolean][] = [
    ['EQUALS', 200, '200', true],
    ['EQUALS', 200, '200.0', true],
    ['EQUALS', '200', '200.0', false],
    ['EQUALS', '1.10', '1.1', false],
    ['NOT_EQUALS', '1.10', '1.1', true],
    ['EQUALS', '07030', '7030', false],
    ['EQUALS', '0e48291', '0e11111', false],
    ['EQUALS', ' 5', '5', false],
    ['EQUALS', 1.5, '1.50', true],
    ['EQUALS', Infinity, 'null', false],
    ['EQUALS', 9007199254740993n, '9007199254740993', true],
    ['EQUALS', 9007199254740993n, '9007199254740992', false],
    ['GREATER_THAN', 9007199254740993n, '9007199254740992', true],
    ['GREATER_THAN', '9007199254740992', '9007199254740993', false],
    ['GREATER_THAN', '17.5', '17', true],
    ['GREATER_THAN', '0x10', '5', false],
    ['GREATER_THAN', 'Infinity', '5', false],
    ['LESS_THAN', 5, '0x10', false],
    ['EQUALS', Infinity, '1e999', false],
    ['GREATER_THAN', '1e3', '999', true],
    ['LESS_THAN', '.5', '1', true],
    ['LESS_THAN', '5.', '6', true],
    // A body that is read in time that grows with its square would never be compared.
    ['GREATER_THAN', `${'1'.repeat(2_000_000)}x`, '5', false],
    ['GREATER_THAN', '1,234', '1000', false],
    ['LESS_THAN', null, '1', false],
    ['HAS_VALUE', ['1.10', '2.0'], '2', false],
    ['HAS_VALUE', ['1.10', 2], '2', true],
    ['CONTAINS', [12345678901234567890n], '12345678901234567890', true],
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
      `${inspect(actual)} ${comparison} ${target}`,
    );
  }
});

test('without an answer, or without a time, no comparison of any source holds', () => {
  const missing = { ...nothing, response: null, responseTime: null };
  for (const { judging } of Object.values(checkTypes)) {
    if (judging === null) continue;
    const sources = ['STATUS_CODE', 'RESPONSE_TIME', 'JSON_BODY', 'TEXT_BODY', 'HEADERS'].concat(
      ['RESPONSE_CODE', 'TEXT_ANSWER', 'JSON_ANSWER', 'RESPONSE_DATA', 'LATENCY', 'JSON_RESPONSE'],
      ['GRPC_STATUS_CODE', 'GRPC_RESPONSE', 'GRPC_METADATA', 'CERTIFICATE', 'CONNECTION'],
    );
    const all = sources.flatMap((source) =>
      comparison.options.map((each): Assertion => {
        return { source, comparison: each, property: '', target: '', regex: null };
      }),
    );
    for (const { error } of evaluateAssertions(all, judging as Judging, missing)) {
      assert.match(error ?? '', /, but (no time was measured|there is no answer)$/);
    }
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

test('what is nested too deeply is judged by what can be read of it, and is no crash', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  for (const [comparison, isHeld] of [
    ['NOT_EMPTY', true],
    ['NOT_NULL', true],
    ['HAS_KEY', true],
    ['IS_EMPTY', false],
    ['EQUALS', false],
    ['NOT_EQUALS', false],
    ['NOT_HAS_VALUE', false],
  ] as const) {
    const { error, actual } = evaluated(comparison, deep, '0') ?? {};
    assert.equal(error === undefined, isHeld, comparison);
    assert.match(error ?? (actual as string), /nested too deeply/);
  }
});

test('what a path or a pattern cannot get through is said in words, and no result is nested deeply', () => {
  const deep = (levels: number) => `{"a":${'['.repeat(levels)}1${']'.repeat(levels)}}`;
  for (const [body, property, regex, found] of [
    [deep(50_000), '$.a', '1', /cannot read JSON_BODY "\$\.a": a value that is nested too deeply/],
    [deep(50_000), '$[?@ == @]', null, /cannot read .* a value that is nested too deeply/],
    [deep(5_000), '$.a', null, /^$/],
    [deep(200), '$.a', '1', /^$/],
    [deep(200), '$.a', null, /^$/],
    [deep(3), '$.a', null, /^$/],
  ] as const) {
    const assertion = { source: 'JSON_BODY', property, regex, comparison: 'NOT_NULL', target: '' };
    const measurement = { ...nothing, response: { body, headers: {} } };
    const [evaluated] = evaluateAssertions([assertion as Assertion], apiCheck.judging, measurement);
    assert.match(evaluated?.error ?? '', found, `${property} ${regex}`);
    assert.doesNotMatch(JSON.stringify(evaluated), /call stack|\[{101}(?!.*")/);
    const isShort = body.length < 20;
    assert.equal(typeof evaluated?.actual === 'object', isShort && evaluated?.actual !== undefined);
  }
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

test('flags of a pattern are read or refused, and a path stays a path', () => {
  const rows: [string, boolean, RegExp?][] = [
    ['/STATUS: (\\w+)/i', true],
    ['/status.*!$/s', true],
    ['/^status: (\\w+)/m', true],
    ['/STATUS: (\\w+)/', false],
    ['/status/g', false, /the flag "g" is not known/],
    ['/api/users', false, /found nothing/],
  ];
  for (const [pattern, isFound, message = /found nothing/] of rows) {
    const { error } = onDns('TEXT_ANSWER', pattern, 'NOT_EMPTY', '') ?? {};
    if (isFound) assert.equal(error, undefined, pattern);
    else assert.match(error ?? '', message, pattern);
  }
});

test('what was found is named where it is empty, and so is a comparison without a target', () => {
  assert.match(evaluated('EQUALS', '', '200')?.error ?? '', / EQUALS 200, found no text$/);
  assert.match(evaluated('NOT_EMPTY', '', '')?.error ?? '', / NOT_EMPTY, found no text$/);
});

test('a target is shown as a number beside a number, and as it was written otherwise', () => {
  const targetFor = (actual: unknown, target: string) =>
    evaluated('EQUALS', actual, target)?.target;
  assert.deepEqual(
    [targetFor(503, '200'), targetFor('200', '200'), targetFor(503, 'none')],
    [200, '200', 'none'],
  );
});

test('what is no number is said to be none', () => {
  const { error } = onDns('TEXT_ANSWER', 'status', 'GREATER_THAN', '1') ?? {};
  assert.match(error ?? '', /found status, which is not a number$/);
  assert.match(evaluated('LESS_THAN', 5, 'x')?.error ?? '', /found 5, and "x" is not a number$/);
});

test('patterns and paths that are too slow for their text fail, and stop', () => {
  const judging: Judging = {
    hasResponseTimeLimits: false,
    readSource: ({ source, property }, { response }, { byRegex, byJsonPath }) => {
      const text = String(response?.['text']);
      if (source === 'TEXT') return { actual: byRegex(text, property), isList: false };
      return { actual: byJsonPath(response, property, text.length), isList: true };
    },
    ownVerdict: () => ({ failed: null, degraded: null, isInvertible: false }),
  };
  const of = (source: string, property: string): Assertion => {
    return { source, comparison: 'NOT_EMPTY', property, target: '', regex: null };
  };
  const found = (assertions: Assertion[], text: string) => {
    try {
      const measurement = { ...nothing, response: { text } };
      const all = evaluateAssertions(assertions, judging, measurement, 1_000);
      return all.map(({ error = '' }) => error);
    } catch (error) {
      // On a busy machine it is undecided.
      assert.ok(error instanceof WithoutCpuError);
      return assertions.map(() => error.message);
    }
  };
  const quick = [of('TEXT', 'b'), of('PATH', '$.text')];
  assert.deepEqual(found(quick, 'ab'.repeat(100_000)), ['', '']);
  const slow = of('TEXT', '((a|b){0,300}){0,3}[xy]');
  for (const error of found([slow, slow, ...quick], 'ab'.repeat(1_000_000))) {
    assert.match(error, /the (patterns|paths) were not searched within 1 s of CPU time/);
  }
});

test('a pattern finds its text in each value of a path', () => {
  const judging = checkTypes.API.judging as never;
  for (const [body, regex, comparison, target, isHeld] of [
    ['{"a":"2.10"}', '^2\\.(\\d+)$', 'EQUALS', '10', true],
    ['{"a":"3.10"}', '^2\\.(\\d+)$', 'NOT_NULL', '', false],
    ['{"a":201}', '^(200|201)$', 'NOT_NULL', '', true],
    ['{"a":202}', '^(200|201)$', 'NOT_NULL', '', false],
    ['{"a":202}', '^(200|201)$', 'IS_NULL', '', true],
    ['{"a":["x",12345678901234567890]}', '^x$', 'NOT_NULL', '', false],
    ['{"a":{"b":1}}', '"b":(\\d)', 'EQUALS', '1', true],
    ['{"a":null}', 'null', 'NOT_NULL', '', false],
    ['{}', '.*', 'NOT_NULL', '', false],
    ['no JSON', 'x', 'IS_NULL', '', false],
  ] as const) {
    const assertion = { source: 'JSON_BODY', property: '$.a', regex, comparison, target };
    const measurement = { ...nothing, response: { status: 200, headers: {}, body } };
    const [evaluated] = evaluateAssertions([assertion], judging, measurement);
    assert.equal(evaluated?.error === undefined, isHeld, `${body} ${regex} ${comparison}`);
  }
});

test('numbers of many digits are compared by all of them, wherever they stand', () => {
  const id = '12345678901234567890';
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  for (const [body, property, comparison, target, isHeld] of [
    [`{"id":${id},"small":7,"x":${deep}}`, '$.small', 'EQUALS', '7', true],
    [`{"id":${id},"x":${deep}}`, '$.id', 'EQUALS', '12345678901234567168', false],
    [`{"x":${deep},"id":${id}}`, '$.id', 'EQUALS', id, true],
    [`[-${id},[{"a":${id}}]]`, '$[1][0].a', 'EQUALS', id, true],
    [`[-${id}]`, '$[0]', 'EQUALS', `-${id}`, true],
    [id, '$', 'EQUALS', id, true],
    // Within strings: with escapes, and as their whole.
    [`{"a":"\\\\\\" ${id}","b":"${id}","id":${id}}`, '$.id', 'EQUALS', id, true],
    [`{"a":"\\\\\\" ${id}","b":"${id}"}`, '$.b', 'EQUALS', id, true],
    [`{"a":"\\\\","id":${id}}`, '$.id', 'EQUALS', id, true],
    [`{"${id}":${id}}`, `$["${id}"]`, 'EQUALS', id, true],
    [`{"__proto__":{"id":${id}}}`, '$.__proto__.id', 'EQUALS', id, true],
    // Not whole, or small enough for a double.
    ['[1e-12345678901234567]', '$[0]', 'EQUALS', '0', true],
    ['[0.12345678901234567890]', '$[0]', 'LESS_THAN', '0.2', true],
    [`[${id}.5]`, '$[0]', 'GREATER_THAN', '12345678901234567000', true],
    ['[9007199254740991]', '$[0]', 'EQUALS', '9007199254740991', true],
    ['[9007199254740993]', '$[0]', 'EQUALS', '9007199254740993', true],
    // What is no JSON stays none.
    ['[01234567890123456789]', '$[0]', 'NOT_NULL', '', false],
    [`[${id}`, '$[0]', 'NOT_NULL', '', false],
  ] as const) {
    const assertion = { source: 'JSON_BODY', property, regex: null, comparison, target };
    const measurement = { ...nothing, response: { body, headers: {} } };
    const [evaluated] = evaluateAssertions([assertion], apiCheck.judging, measurement);
    assert.equal(evaluated?.error === undefined, isHeld, `${body.slice(0, 80)} ${property}`);
  }
});

test('a pattern searches long numbers in values, and a mistake leaves the others their time', () => {
  const { judging } = apiCheck;
  const of = (property: string, regex: string | null, target: string): Assertion => {
    return { source: 'JSON_BODY', comparison: 'EQUALS', property, target, regex };
  };
  const errorsOf = (body: string, assertions: Assertion[]) =>
    evaluateAssertions(assertions, judging, { ...nothing, response: { body, headers: {} } }).map(
      ({ error }) => error,
    );
  const long = '{"user":{"id":12345678901234567890,"name":"ann"}}';
  const found = errorsOf(long, [
    of('$.user', '"name":"(\\w+)"', 'ann'),
    of('$.user', '"id":(\\d+)', '12345678901234567890'),
    of('$.user.nobody', '.', ''),
  ]);
  assert.deepEqual(found.slice(0, 2), [undefined, undefined]);
  const [mistaken, right] = errorsOf(JSON.stringify({ a: 'x'.repeat(120_000), b: 'ann' }), [
    of('$.a[', null, ''),
    of('$.b', null, 'ann'),
  ]);
  assert.match(mistaken ?? '', /cannot read JSON_BODY/);
  assert.equal(right, undefined);
  // A target chooses its digits: to read millions of them takes this thread from other checks.
  for (const [digits, isKept] of [
    [300, true],
    [301, false],
  ] as const) {
    const number = '7'.repeat(digits);
    const [error] = errorsOf(`{"a":${number}}`, [of('$.a', null, number)]);
    assert.equal(error === undefined, isKept);
  }
});
