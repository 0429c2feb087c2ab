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
  expected: 'passed' | 'degraded' | 'failed' | 'over maximum',
  ...given: Parameters<typeof verdictOf>,
];

const status = (code: number) => ({ response: { status: code } });
const assertStatus = (comparison: string, target: string) => ({
  ...url,
  assertions: [{ source: 'STATUS_CODE', comparison, target }],
});

const rows: Row[] = [
  ['200 passes', 'passed', 'URL', url, status(200)],
  ['399 passes', 'passed', 'URL', url, status(399)],
  ['400 fails', 'failed', 'URL', url, status(400)],
  ['shouldFail lets 500 pass', 'passed', 'URL', url, status(500), { shouldFail: true }],
  ['shouldFail lets 200 pass too', 'passed', 'URL', url, status(200), { shouldFail: true }],
  [
    'shouldFail does not forgive a refused connection',
    'failed',
    'URL',
    url,
    { failure: refused, response: null },
    { shouldFail: true },
  ],
  [
    'an assertion replaces the 400 rule',
    'passed',
    'URL',
    assertStatus('EQUALS', '404'),
    status(404),
  ],
  [
    'an assertion that does not hold fails',
    'failed',
    'URL',
    assertStatus('EQUALS', '404'),
    status(200),
  ],
  [
    'shouldFail does not forgive an assertion',
    'failed',
    'URL',
    assertStatus('LESS_THAN', '500'),
    status(500),
    { shouldFail: true },
  ],
  [
    'at the degraded limit is not degraded',
    'passed',
    'URL',
    url,
    { ...status(200), responseTime: 3000 },
  ],
  [
    'above the degraded limit is degraded',
    'degraded',
    'URL',
    url,
    { ...status(200), responseTime: 3000.1 },
  ],
  ['above the maximum fails', 'over maximum', 'URL', url, { ...status(200), responseTime: 5000.1 }],
  ['slow and failing is failing', 'failed', 'URL', url, { ...status(500), responseTime: 4000 }],
  [
    'no limit, no degradation',
    'passed',
    'URL',
    url,
    { ...status(200), responseTime: 4000 },
    { degradedResponseTime: null },
  ],
  ['refused fails', 'failed', 'TCP', tcp, { failure: refused, response: null }],
  [
    'shouldFail lets a refused connection pass',
    'passed',
    'TCP',
    tcp,
    { failure: refused, response: null },
    { shouldFail: true },
  ],
  ['NOERROR passes', 'passed', 'DNS', dns, { response: { returnCode: 'NOERROR' } }],
  ['NXDOMAIN fails', 'failed', 'DNS', dns, { response: { returnCode: 'NXDOMAIN' } }],
  [
    'an assertion on the code replaces that rule',
    'passed',
    'DNS',
    {
      ...dns,
      assertions: [{ source: 'RESPONSE_CODE', comparison: 'EQUALS', target: 'NXDOMAIN' }],
    },
    { response: { returnCode: 'NXDOMAIN' } },
  ],
  ['below both thresholds passes', 'passed', 'ICMP', icmp, { response: { packetLoss: 9.9 } }],
  [
    'at the degraded threshold is degraded',
    'degraded',
    'ICMP',
    icmp,
    { response: { packetLoss: 10 } },
  ],
  ['at the maximum fails', 'failed', 'ICMP', icmp, { response: { packetLoss: 20 } }],
  [
    'a threshold of null is none',
    'passed',
    'ICMP',
    icmp,
    { response: { packetLoss: 100 } },
    { maxPacketLossThreshold: null, degradedPacketLossThreshold: null },
  ],
];

for (const [sentence, expected, type, ...given] of rows) {
  test(`${type}: ${sentence}`, () => {
    const verdict = verdictOf(type, ...given);
    assert.equal(verdict.hasFailures, expected === 'failed' || expected === 'over maximum');
    assert.equal(verdict.isDegraded, expected === 'degraded');
    assert.equal(verdict.overMaxResponseTime, expected === 'over maximum');
    assert.equal(verdict.reason === null, expected === 'passed');
  });
}
