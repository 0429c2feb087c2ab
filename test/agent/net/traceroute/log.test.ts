import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { TracerouteLog } from '../../../../agent/net/traceroute/log.ts';
import { tracerouteConclusion, tracerouteText } from '../../../../agent/net/traceroute/text.ts';

function reportOf(
  lines: readonly string[],
  { port = 443 as number | null, family = 'IPv4' as IpFamily } = {},
) {
  const address = family === 'IPv4' ? '10.0.9.9' : 'fd09::9';
  const log = new TracerouteLog({ address, family, port });
  for (const line of lines) log.add(line);
  return log.report(Date.UTC(2026, 0, 2, 3, 4, 5), 1_234.5);
}

const start = 'method tcp 10.0.0.2';

test('times of a hop are milliseconds, its addresses the most frequent first', () => {
  const { hops, isReached, method } = reportOf([
    start,
    ...['sent 1', 'sent 1', 'sent 1', 'sent 1'],
    'answer 1 3000 10.0.0.3 icmp 11 0',
    'answer 1 1000 10.0.0.1 icmp 11 0',
    'answer 1 2000 10.0.0.1 icmp 11 0',
  ]);
  assert.deepEqual([isReached, method], [false, 'tcp']);
  assert.deepEqual(hops, [
    {
      hop: 1,
      addresses: ['10.0.0.1', '10.0.0.3'],
      sent: 4,
      received: 3,
      lossPercent: 25,
      last: 2,
      avg: 2,
      best: 1,
      worst: 3,
      stdDev: 0.816,
      isTarget: false,
      note: null,
    },
  ]);
});

test('the nearest hop at which the target answered is the last', () => {
  const { hops, isReached } = reportOf([
    ...[start, 'sent 1', 'sent 2', 'sent 3', 'sent 4'],
    'answer 4 900 10.0.9.9 open',
    'answer 3 900 10.0.9.9 refused',
    'answer 2 100 10.0.0.1 icmp 11 0',
  ]);
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
  const cases = [
    {
      lines: [start, 'sent 1', 'answer 1 9 10.0.9.9 icmp 3 13'],
      reached: true,
      note: 'administratively prohibited',
    },
    {
      lines: [start, 'sent 1', 'answer 1 9 10.0.9.9 icmp 3 3'],
      reached: true,
      note: 'port unreachable',
    },
    {
      lines: ['method udp 10.0.0.2', 'sent 1', 'answer 1 9 10.0.9.9 icmp 3 3'],
      port: null,
      reached: true,
      note: null,
    },
    {
      lines: ['method udp 10.0.0.2', 'sent 1', 'answer 1 9 10.0.0.1 icmp 3 3'],
      port: null,
      reached: false,
      note: 'port unreachable',
    },
    {
      lines: [start, 'sent 1', 'answer 1 9 10.0.0.2 icmp 3 1'],
      reached: false,
      note: 'this machine itself: nobody at the next hop answers',
    },
    {
      lines: [start, 'sent 1', 'answer 1 9 10.0.0.2 icmp 3 3'],
      reached: false,
      note: 'this machine itself: a rule of its firewall rejects that (port unreachable)',
    },
    {
      lines: [start, 'sent 1', 'answer 1 9 10.0.0.1 icmp 3 200'],
      reached: false,
      note: 'unreachable, code 200',
    },
    {
      lines: [start, 'sent 1', 'answer 1 9 10.0.0.1 icmp 12 4'],
      reached: false,
      note: 'ICMP type 12 code 4',
    },
    { lines: [start, 'sent 1', 'answer 1 9 10.0.9.9 icmp 11 0'], reached: false, note: null },
    {
      lines: ['method tcp fd00::2', 'sent 1', 'answer 1 9 fd00::1 icmp 1 3'],
      family: 'IPv6',
      reached: false,
      note: 'host unreachable',
    },
    {
      lines: ['method udp fd00::2', 'sent 1', 'answer 1 9 fd09::9 icmp 1 4'],
      port: null,
      family: 'IPv6',
      reached: true,
      note: null,
    },
  ] as const;
  for (const { lines, reached, note, ...options } of cases) {
    const { isReached, hops } = reportOf(lines, options);
    assert.deepEqual([isReached, hops[0]?.note], [reached, note], lines.at(-1));
  }
});

test('after TCP without any answer only the findings of UDP are reported', () => {
  const report = reportOf([
    ...[start, 'sent 1', 'sent 2', 'method udp 10.0.0.2', 'sent 1', 'sent 2'],
    'answer 1 500 10.0.0.1 icmp 11 0',
  ]);
  assert.deepEqual([report.method, report.port, report.hops.length], ['udp', null, 2]);
  assert.equal(report.hops[0]?.sent, 1);
  assert.equal(report.hops[0].note, 'TCP to port 443 had no answer from anybody');
});

test('unknown lines change nothing', () => {
  const known = [start, 'sent 1', 'answer 1 500 10.0.0.1 icmp 11 0'];
  const unknown = ['', 'answer', 'answer x y z', 'answer 1 2', 'sent', 'sent x', 'hello 1', '\0'];
  assert.deepEqual(reportOf([...known, ...unknown]), reportOf(known));
});

test('the text is a table that ends in a sentence', () => {
  const report = reportOf([
    ...[start, 'sent 1', 'sent 1', 'sent 2', 'sent 3', 'sent 3'],
    'answer 1 500 10.0.0.1 icmp 11 0',
    'answer 1 12500 10.0.0.17 icmp 11 0',
    'answer 3 30250 10.0.9.9 refused',
  ]);
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
      answers: ['answer 2 9 10.0.1.1 icmp 3 13'],
      sentence:
        /^The target did not answer. The last to answer was 10.0.1.1 at hop 2 \(administratively prohibited\)\.$/,
    },
    {
      answers: ['answer 1 9 10.0.0.1 icmp 11 0', 'answer 2 9 10.0.0.1 icmp 11 0'],
      sentence: /^The target did not answer/,
    },
    {
      answers: [1, 2, 3].map((hop) => `answer ${hop} 9 10.0.0.${hop % 2} icmp 11 0`),
      sentence: /in a circle: 10.0.0.1 is met at hop 1 and again at hop 3/,
    },
  ];
  for (const { answers, sentence } of sentences) {
    const sent = ['sent 1', 'sent 2', 'sent 3'];
    assert.match(tracerouteConclusion(reportOf([start, ...sent, ...answers])), sentence);
  }
});
