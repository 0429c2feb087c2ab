import assert from 'node:assert/strict';
import test from 'node:test';
import { judgeAgent, type AgentFacts } from '../../../../agent/doctor/steps/agent.ts';
import { healthyStatus } from '../../../support/agent-status.ts';

const status = healthyStatus;
const { now } = status;
const own: AgentFacts['own'] = {
  ...{ version: '7.0.2', key: 'pl_…05a2', controlPlane: 'https://cp.example', healthPort: 8081 },
};
const facts: AgentFacts = {
  ...{ path: '/data', own, acceptedFor: 'office', running: { status, isHere: true } },
};

test('where the running agent and a fresh process differ, that is the finding', () => {
  const linkIs = (state: 'down' | 'refused', since: number, triedMs: number) => ({
    ...{ ...status.link, state, since: now - since },
    lastFailure: { at: now - triedMs, code: 'X', message: 'the key is refused' },
  });
  const runs = (more: Partial<typeof status>, of: Partial<AgentFacts> = {}): AgentFacts => ({
    ...facts,
    running: { status: { ...status, ...more }, isHere: true },
    ...of,
  });
  const otherKey = { own: { ...own, key: 'pl_…9f31' } };
  const rows: [string, AgentFacts, 'ok' | 'warn' | 'fail', RegExp][] = [
    ['healthy', facts, 'ok', /process 7 runs for .* up/],
    ['none', { ...facts, running: null }, 'ok', /none answers/],
    ['another machine', { ...facts, running: { status, isHere: false } }, 'ok', /on h answers/],
    [
      'refused with the old key',
      runs({ link: linkIs('refused', 90_000, 60_000) }, otherKey),
      'fail',
      /accepted: it still has the key pl_…05a2, and these settings have pl_…9f31 -> restart/,
    ],
    ['works with the old key', runs({}, otherKey), 'warn', /works, and it still has the key/],
    [
      'not reached for long, and tried just now',
      runs({ link: linkIs('down', 600_000, 9_000) }),
      'fail',
      /a check-in of a fresh process is accepted/,
    ],
    [
      'an outage that has just ended',
      runs({ link: linkIs('down', 60_000, 9_000) }),
      'warn',
      /tries again within a minute/,
    ],
    [
      'an outage for both',
      runs({ link: linkIs('down', 600_000, 9_000) }, { acceptedFor: null }),
      'warn',
      /the findings below/,
    ],
    ['another location', runs({ location: 'shop' }), 'fail', /another agent .* shop, not office/],
    ['another port', runs({ healthPort: 9000 }), 'fail', /another agent .* port 9000, not 8081/],
    ['any port', runs({}, { own: { ...own, healthPort: 0 } }), 'ok', /process 7/],
    ['another control plane', runs({ controlPlane: 'https://x' }), 'fail', /another agent/],
    ['another version', runs({ version: '7.0.1' }), 'warn', /7\.0\.1 runs, and 7\.0\.2 is/],
    [
      'overloaded',
      runs({ load: { ...status.load, overloadedSince: now - 180_000, reason: 'throttled' } }),
      'warn',
      /overloaded for 3 minutes: throttled -> give it more CPU/,
    ],
    ['not ready', runs({ notReady: 'no schedule yet' }), 'warn', /no schedule yet/],
    [
      'an older agent, which says no key',
      runs({ key: '', link: linkIs('refused', 90_000, 60_000) }, otherKey),
      'warn',
      /tries again/,
    ],
  ];
  for (const [name, given, verdict, words] of rows) {
    const [first, ...more] = judgeAgent(given);
    assert.deepEqual(more, [], name);
    assert.equal(first?.verdict, verdict, `${name}: ${first?.evidence ?? ''}`);
    assert.match(`${first.evidence} -> ${first.fix ?? ''}`, words, name);
  }
});
