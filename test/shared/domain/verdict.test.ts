import assert from 'node:assert/strict';
import test from 'node:test';
import type { Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes, type AgentType } from '@monitor/shared/contract/checks/index.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import { definitionOf } from '../../support/runner-context.ts';

function measured(fields: Partial<Measurement>): Measurement {
  return {
    ...{ startedAt: 0, stoppedAt: 0, responseTime: 10, failure: null, request: {}, response: {} },
    ...fields,
  };
}

const refused = {
  ...{ phase: 'connect', code: 'ECONNREFUSED', message: 'refused', isNetworkError: true },
};
const url = { url: 'http://a.example' };
const tcp = { hostname: 'a.example', port: 1 };
const dns = { query: 'a.example', recordType: 'A' };
const icmp = { hostname: 'a.example' };

function verdictOf(
  type: AgentType,
  request: Record<string, unknown>,
  measurement: Partial<Measurement>,
  further: Record<string, unknown> = {},
): Verdict {
  const { judging } = checkTypes[type];
  return judge(judging, definitionOf(type, request, further), measured(measurement));
}

type Row = [
  sentence: string,
  verdict: Verdict,
  expected: 'passed' | 'degraded' | 'failed' | 'over maximum',
];

const status = (code: number) => ({ response: { status: code } });
const assertStatus = (comparison: string, target: string) => ({
  ...url,
  assertions: [{ source: 'STATUS_CODE', comparison, target }],
});

const rows: Row[] = [
  ['URL: 200 passes', verdictOf('URL', url, status(200)), 'passed'],
  ['URL: 399 passes', verdictOf('URL', url, status(399)), 'passed'],
  ['URL: 400 fails', verdictOf('URL', url, status(400)), 'failed'],
  [
    'URL: shouldFail lets 500 pass',
    verdictOf('URL', url, status(500), { shouldFail: true }),
    'passed',
  ],
  [
    'URL: shouldFail lets 200 pass too',
    verdictOf('URL', url, status(200), { shouldFail: true }),
    'passed',
  ],
  [
    'URL: shouldFail does not forgive a refused connection',
    verdictOf('URL', url, { failure: refused, response: null }, { shouldFail: true }),
    'failed',
  ],
  [
    'URL: an assertion replaces the 400 rule',
    verdictOf('URL', assertStatus('EQUALS', '404'), status(404)),
    'passed',
  ],
  [
    'URL: an assertion that does not hold fails',
    verdictOf('URL', assertStatus('EQUALS', '404'), status(200)),
    'failed',
  ],
  [
    'URL: shouldFail does not forgive an assertion',
    verdictOf('URL', assertStatus('LESS_THAN', '500'), status(500), { shouldFail: true }),
    'failed',
  ],
  [
    'URL: at the degraded limit is not degraded',
    verdictOf('URL', url, { ...status(200), responseTime: 3000 }),
    'passed',
  ],
  [
    'URL: above the degraded limit is degraded',
    verdictOf('URL', url, { ...status(200), responseTime: 3000.1 }),
    'degraded',
  ],
  [
    'URL: above the maximum fails',
    verdictOf('URL', url, { ...status(200), responseTime: 5000.1 }),
    'over maximum',
  ],
  [
    'URL: slow and failing is failing',
    verdictOf('URL', url, { ...status(500), responseTime: 4000 }),
    'failed',
  ],
  [
    'URL: no limit, no degradation',
    verdictOf('URL', url, { ...status(200), responseTime: 4000 }, { degradedResponseTime: null }),
    'passed',
  ],
  ['TCP: refused fails', verdictOf('TCP', tcp, { failure: refused, response: null }), 'failed'],
  [
    'TCP: shouldFail lets a refused connection pass',
    verdictOf('TCP', tcp, { failure: refused, response: null }, { shouldFail: true }),
    'passed',
  ],
  ['DNS: NOERROR passes', verdictOf('DNS', dns, { response: { returnCode: 'NOERROR' } }), 'passed'],
  [
    'DNS: NXDOMAIN fails',
    verdictOf('DNS', dns, { response: { returnCode: 'NXDOMAIN' } }),
    'failed',
  ],
  [
    'DNS: an assertion on the code replaces that rule',
    verdictOf(
      'DNS',
      {
        ...dns,
        assertions: [{ source: 'RESPONSE_CODE', comparison: 'EQUALS', target: 'NXDOMAIN' }],
      },
      { response: { returnCode: 'NXDOMAIN' } },
    ),
    'passed',
  ],
  [
    'ICMP: below both thresholds passes',
    verdictOf('ICMP', icmp, { response: { packetLoss: 9.9 } }),
    'passed',
  ],
  [
    'ICMP: at the degraded threshold is degraded',
    verdictOf('ICMP', icmp, { response: { packetLoss: 10 } }),
    'degraded',
  ],
  [
    'ICMP: at the maximum fails',
    verdictOf('ICMP', icmp, { response: { packetLoss: 20 } }),
    'failed',
  ],
  [
    'ICMP: a threshold of null is none',
    verdictOf(
      'ICMP',
      icmp,
      { response: { packetLoss: 100 } },
      { maxPacketLossThreshold: null, degradedPacketLossThreshold: null },
    ),
    'passed',
  ],
];

for (const [sentence, verdict, expected] of rows) {
  test(sentence, () => {
    assert.equal(verdict.hasFailures, expected === 'failed' || expected === 'over maximum');
    assert.equal(verdict.isDegraded, expected === 'degraded');
    assert.equal(verdict.overMaxResponseTime, expected === 'over maximum');
    assert.equal(verdict.reason === null, expected === 'passed');
  });
}
