import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { TracerouteLog } from '../../../../agent/net/traceroute/log.ts';
import type { ProbeAnswer } from '../../../../agent/net/traceroute/probe.ts';
import { tracerouteConclusion, tracerouteText } from '../../../../agent/net/traceroute/text.ts';

/** An answer as `HOP MILLISECONDS FROM TYPE CODE`, or `HOP MILLISECONDS open` or `refused`. */
function read(answer: string): [number, ProbeAnswer] {
  const [hop, ms, what = '', type, code] = answer.split(' ');
  const isRefused = what === 'refused';
  return [
    Number(hop),
    isRefused || what === 'open'
      ? { by: 'target', ms: Number(ms), isRefused }
      : { by: 'icmp', ms: Number(ms), from: what, type: Number(type), code: Number(code) },
  ];
}

interface Found {
  readonly method?: TracerouteReport['method'];
  readonly local?: string;
  readonly sent?: readonly number[];
  readonly answers?: readonly string[];
  readonly port?: number | null;
  readonly family?: IpFamily;
}

function logOf({ method = 'tcp', local = '10.0.0.2', ...found }: Found): TracerouteLog {
  const { sent = [1], answers = [], port = 443, family = 'IPv4' } = found;
  const address = family === 'IPv4' ? '10.0.9.9' : 'fd09::9';
  const log = new TracerouteLog({ address, family, port });
  log.begin(method, local);
  for (const hop of sent) log.sent(hop);
  for (const answer of answers) log.answered(...read(answer));
  return log;
}

const at = [Date.UTC(2026, 0, 2, 3, 4, 5), 1_234.5] as const;
const reportOf = (found: Found): TracerouteReport => logOf(found).report(...at);

test('times of a hop are milliseconds, its addresses the most frequent first', () => {
  const { hops, isReached, method } = reportOf({
    sent: [1, 1, 1, 1],
    answers: ['1 3 10.0.0.3 11 0', '1 1 10.0.0.1 11 0', '1 2 10.0.0.1 11 0'],
  });
  assert.deepEqual([isReached, method], [false, 'tcp']);
  assert.deepEqual(hops, [
    {
      ...{ hop: 1, addresses: ['10.0.0.1', '10.0.0.3'], sent: 4, received: 3, lossPercent: 25 },
      ...{ last: 2, avg: 2, best: 1, worst: 3, stdDev: 0.816, isTarget: false, note: null },
    },
  ]);
});

test('the nearest hop at which the target answered is the last', () => {
  const { hops, isReached } = reportOf({
    sent: [1, 2, 3, 4],
    answers: ['4 0.9 open', '3 0.9 refused', '2 0.1 10.0.0.1 11 0'],
  });
  assert.equal(isReached, true);
  assert.deepEqual(
    hops.map(({ isTarget, note, received }) => [isTarget, note, received]),
    [
      [false, null, 0],
      [false, null, 1],
      [true, 'connection refused', 1],
    ],
  );
});

test('what a refusal says depends on who says it, by which method', () => {
  const byUdp = { method: 'udp', port: null } as const;
  const bySix = { family: 'IPv6', local: 'fd00::2' } as const;
  const cases: readonly [answer: string, reached: boolean, note: string | null, found?: Found][] = [
    ['1 9 10.0.9.9 3 13', true, 'administratively prohibited'],
    ['1 9 10.0.9.9 3 3', true, 'port unreachable'],
    ['1 9 10.0.9.9 3 3', true, null, byUdp],
    ['1 9 10.0.0.1 3 3', false, 'port unreachable', byUdp],
    ['1 9 10.0.0.2 3 1', false, 'this machine itself: nobody at the next hop answers'],
    [
      ...(['1 9 10.0.0.2 3 3', false] as const),
      'this machine itself: a rule of its firewall rejects that (port unreachable)',
    ],
    ['1 9 10.0.0.1 3 200', false, 'unreachable, code 200'],
    ['1 9 10.0.0.1 12 4', false, 'ICMP type 12 code 4'],
    ['1 9 10.0.9.9 11 0', false, null],
    ['1 9 fd00::1 1 3', false, 'host unreachable', bySix],
    ['1 9 fd09::9 1 4', true, null, { ...byUdp, ...bySix }],
  ];
  for (const [answer, reached, note, found] of cases) {
    const { isReached, hops } = reportOf({ ...found, answers: [answer] });
    assert.deepEqual([isReached, hops[0]?.note], [reached, note], answer);
  }
});

test('after TCP without any answer only the findings of UDP are reported', () => {
  const log = logOf({ sent: [1, 2] });
  log.begin('udp', '10.0.0.2');
  for (const hop of [1, 2]) log.sent(hop);
  log.answered(...read('1 0.5 10.0.0.1 11 0'));
  const report = log.report(...at);
  assert.deepEqual([report.method, report.port, report.hops.length], ['udp', null, 2]);
  assert.equal(report.hops[0]?.sent, 1);
  assert.equal(report.hops[0].note, 'TCP to port 443 had no answer from anybody');
});

test('the text is a table that ends in a sentence', () => {
  const report = reportOf({
    sent: [1, 1, 2, 3, 3],
    answers: ['1 0.5 10.0.0.1 11 0', '1 12.5 10.0.0.17 11 0', '3 30.25 refused'],
  });
  assert.equal(
    tracerouteText(report),
    `Traceroute to 10.0.9.9, port 443, TCP, 2026-01-02T03:04:05.000Z, 1.23 s, times in ms

Hop  Address      Loss  Sent  Last   Avg  Best  Worst  StDev
  1  10.0.0.1       0%     2  12.5  6.50  0.50   12.5   6.00
     10.0.0.17
  2  (no answer)  100%     1     -     -     -      -      -
  3  10.0.9.9      50%     2  30.3  30.3  30.3   30.3   0.00  target, connection refused

The target answered at hop 3 (connection refused).
`,
  );
});

test('the sentence says where it ends, and that it goes in a circle', () => {
  const sentences = [
    { answers: [], sentence: /^Nobody answered/ },
    {
      answers: ['2 9 10.0.1.1 3 13'],
      sentence:
        /^The target did not answer. The last to answer was 10.0.1.1 at hop 2 \(administratively prohibited\)\.$/,
    },
    { answers: ['1 9 10.0.0.1 11 0', '2 9 10.0.0.1 11 0'], sentence: /^The target did not answer/ },
    {
      answers: [1, 2, 3].map((hop) => `${hop} 9 10.0.0.${hop % 2} 11 0`),
      sentence: /in a circle: 10.0.0.1 is met at hop 1 and again at hop 3/,
    },
  ];
  for (const { answers, sentence } of sentences) {
    assert.match(tracerouteConclusion(reportOf({ sent: [1, 2, 3], answers })), sentence);
  }
});
