import assert from 'node:assert/strict';
import test from 'node:test';
import {
  protocolIn,
  refusalOfProtocol,
} from '../../../../control-plane/core/decide/agent-protocol.ts';

const spoken = { oldest: 2, newest: 4 };

test('what is within the range is spoken, with both its ends', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((agent) => refusalOfProtocol(agent, spoken)?.attributes.upgrade ?? null),
    ['agent', null, null, null, 'control-plane'],
  );
});

test('a refusal names what both speak and which side to upgrade', () => {
  assert.deepEqual(refusalOfProtocol(5, spoken), {
    message:
      'this control plane speaks protocols 2 to 4 of agents and the agent protocol 5: the control plane is the older one, upgrade it',
    attributes: { protocol: { agent: 5, controlPlane: spoken }, upgrade: 'control-plane' },
  });
  assert.match(
    refusalOfProtocol(1, { oldest: 2, newest: 2 })?.message ?? '',
    /speaks protocol 2 of agents and the agent protocol 1: the agent is the older one/,
  );
});

test('an agent without the header speaks the first protocol, and an invalid header is refused', () => {
  assert.deepEqual(
    [undefined, '0', '1', '12', '', ' ', '1, 1', '1.5', '-1', '1e3', 'one', ['1', '2']].map(
      protocolIn,
    ),
    [1, 0, 1, 12, ...Array<null>(8).fill(null)],
  );
});
