import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  causesOf,
  type KnownOfAlert,
} from '../../../../control-plane/alerting/decide/causes-of.ts';
import {
  planMessages,
  maxAgeMs,
  type Grouping,
  type KnownGroup,
  type WaitingAlert,
} from '../../../../control-plane/alerting/decide/group-alerts.ts';
import {
  type AlertOfGroup,
  emptyGroup,
  groupFacts,
} from '../../../../control-plane/alerting/decide/group-facts.ts';
import { hostOfCheck } from '../../../../control-plane/checks/decide/host-of-check.ts';
import type { GroupFacts } from '../../../../control-plane/notifications/facts.ts';
import { messageOf } from '../../../../control-plane/notifications/message.ts';
import { alertVariables } from '../../../../control-plane/notifications/templates/alert-variables.ts';

const known: KnownOfAlert = {
  error: null,
  location: 'Frankfurt',
  isOverloaded: false,
  host: 'api.shop.example',
  certificateOf: null,
  groupName: 'Shop',
  tags: ['web'],
};

test('the causes of an alert, the most telling first', () => {
  const of = (fields: Partial<KnownOfAlert>) =>
    causesOf({ ...known, ...fields }).map(({ kind, name }) => `${kind} ${name}`);
  const rest = ['host api.shop.example', 'group Shop', 'tag web'];
  assert.deepEqual(of({ error: 'expected status to equal 200, it was 503' }), rest);
  assert.deepEqual(of({ isOverloaded: true }), ['location Frankfurt', ...rest]);
  assert.deepEqual(
    of({ error: 'the name does not exist: api.shop.example (ENOTFOUND)' }).slice(0, 1),
    ['resolver Frankfurt'],
  );
  assert.deepEqual(
    of({ error: 'the host cannot be reached: 10.0.0.9:443 (EHOSTUNREACH)' })[0],
    'next-hop Frankfurt',
  );
  assert.deepEqual(
    of({ error: 'the certificate has expired: a:443 (CERT_HAS_EXPIRED)' })[0],
    'certificate api.shop.example',
  );
  assert.deepEqual(
    of({ error: 'connect ECONNREFUSED', host: null })[0],
    'network ECONNREFUSED in Frankfurt',
  );
  assert.deepEqual(
    causesOf({
      ...known,
      host: null,
      location: null,
      groupName: null,
      tags: [],
      certificateOf: null,
    }),
    [],
  );
});

test('the host of a check comes from the target of its type', () => {
  const url = (address: string) => hostOfCheck('URL', { request: { url: address } });
  assert.equal(url('https://API.shop.example:8443/a?b=c'), 'api.shop.example');
  assert.equal(url('https://{{HOST}}/'), null);
  assert.equal(
    hostOfCheck('TCP', { request: { hostname: 'db.shop.example', port: 5432 } }),
    'db.shop.example',
  );
  assert.equal(
    hostOfCheck('DNS', { request: { recordType: 'A', query: 'shop.example' } }),
    'shop.example',
  );
  assert.equal(hostOfCheck('BROWSER', { scriptPath: 'a.spec.ts' }), null);
});

const minute = 60_000;
const grouping: Grouping = { windowSeconds: 30, updateMinutes: 5, maxPerHour: 20 };
const hostCause = { kind: 'host', name: 'a.example' } as const;
const alert = (
  id: string,
  joinedAt: number,
  causes: WaitingAlert['causes'] = [hostCause],
): WaitingAlert => ({
  ...{ id, incidentKey: id, causes, joinedAt },
});
const noKeys = new Map<string, string>();

test('alerts wait for the window of the first, then go out together; what follows waits for the update', () => {
  const waiting = [alert('a', 0), alert('b', 10_000), alert('c', 20_000, [])];
  const early = planMessages(waiting, noKeys, [], [], grouping, 29_999);
  assert.deepEqual(early, { messages: [], nextAt: 30_000 });
  const { messages, nextAt } = planMessages(waiting, noKeys, [], [], grouping, 30_000);
  assert.deepEqual(
    messages.map(({ ids, cause }) => [ids, cause]),
    [[['a', 'b'], hostCause]],
  );
  assert.equal(nextAt, 50_000);
  const group: KnownGroup = {
    id: 'g',
    cause: hostCause,
    openedAt: 0,
    lastSentAt: 30_000,
    isOver: false,
  };
  const later = [alert('d', 40_000)];
  assert.equal(
    planMessages(later, noKeys, [group], [30_000], grouping, 2 * minute).nextAt,
    30_000 + 5 * minute,
  );
  const [update] = planMessages(later, noKeys, [group], [30_000], grouping, 6 * minute).messages;
  assert.equal(update?.groupId, 'g');
});

test('what a group keeps follows its open outages, however many alerts it had', () => {
  let state = emptyGroup;
  for (let round = 0; round < 500; round += 1) {
    const key = `k${round}`;
    const of = { checkId: 'c', checkName: 'c', incidentKey: key, error: null, beganAt: round };
    const began = { ...of, id: `${key}-1`, effect: 'PROBLEM', alertType: 'ALERT_FAILURE' } as const;
    const ended = {
      ...of,
      id: `${key}-2`,
      effect: 'CLOSING',
      alertType: 'ALERT_RECOVERY',
    } as const;
    state = groupFacts(groupFacts(state, [began]).state, [ended]).state;
  }
  assert.deepEqual(state, { total: 500, since: 0, hasFailed: true, open: {} });
});

test('a group that is over, or a day old when it may be updated, makes no other outage wait', () => {
  const group: KnownGroup = {
    ...{ id: 'g', cause: hostCause, openedAt: 0, lastSentAt: 30_000, isOver: true },
  };
  const groupOf = (known: KnownGroup, at: number) =>
    planMessages([alert('a', at - 31_000)], noKeys, [known], [], grouping, at).messages[0]?.groupId;
  assert.equal(groupOf(group, 4 * minute), null, 'a new group, at once');
  assert.equal(groupOf({ ...group, isOver: false }, 4 * minute), undefined, 'it waits');
  assert.equal(groupOf({ ...group, isOver: false }, 6 * minute), 'g');
  const old = { ...group, isOver: false, lastSentAt: maxAgeMs - 10 * minute };
  assert.equal(groupOf(old, maxAgeMs - minute), 'g');
  assert.equal(groupOf(old, maxAgeMs + minute), null);
  const young = { ...old, lastSentAt: maxAgeMs - 2 * minute };
  assert.equal(groupOf(young, maxAgeMs - minute), null, 'too old by its next update');
});

test('with an update in an hour, what fails meanwhile is in it, however late the sweep', () => {
  const hourly = { ...grouping, updateMinutes: 60 };
  const group: KnownGroup = {
    ...{ id: 'g', cause: hostCause, openedAt: 0, lastSentAt: 0, isOver: false },
  };
  const plan = (at: number) =>
    planMessages([alert('a', minute)], noKeys, [group], [], hourly, at).messages[0]?.groupId;
  assert.deepEqual(
    [59, 60, 62].map((at) => plan(at * minute)),
    [undefined, 'g', 'g'],
  );
});

test('with one notification a day, the next outage of the cause waits for it', () => {
  const group: KnownGroup = {
    ...{ id: 'g', cause: hostCause, openedAt: 0, lastSentAt: 0, isOver: false },
  };
  for (const updateMinutes of [61, 120, 1_440]) {
    const rare = { ...grouping, updateMinutes };
    const plan = (at: number) =>
      planMessages([alert('a', minute)], noKeys, [group], [], rare, at).messages[0]?.groupId;
    const due = updateMinutes * minute;
    assert.deepEqual([plan(due - 1), plan(due)], [undefined, 'g'], String(updateMinutes));
  }
});

test('an outage stays in its group, however old the group is and whatever it is about now', () => {
  const group: KnownGroup = {
    id: 'g',
    cause: hostCause,
    openedAt: 0,
    lastSentAt: 0,
    isOver: false,
  };
  const at = 50 * 60 * minute;
  const recovery = { ...alert('r', at - minute, []), incidentKey: 'k' };
  const stranger = alert('s', at - minute);
  const { messages } = planMessages(
    [recovery, stranger],
    new Map([['k', 'g']]),
    [group],
    [],
    grouping,
    at,
  );
  assert.deepEqual(
    messages.map(({ groupId, ids }) => [groupId, ids]),
    [
      ['g', ['r']],
      [null, ['s']],
    ],
  );
});

test('before the last notification of the hour is used, new causes become one', () => {
  const waiting = Array.from({ length: 9 }, (_, index) =>
    alert(`a${index}`, index, [{ kind: 'host', name: `h${index}` }]),
  );
  const limit = { ...grouping, maxPerHour: 3 };
  const first = planMessages(waiting, noKeys, [], [], limit, minute);
  assert.deepEqual(
    first.messages.map(({ ids, cause }) => [ids.length, cause === null]),
    [
      [1, false],
      [1, false],
      [7, true],
    ],
  );
  assert.equal(first.messages.at(-1)?.limitedUntil, minute + 60 * minute);
  const late = [alert('late', 2 * minute, [{ kind: 'host', name: 'z' }])];
  const sent = [minute, minute, minute];
  const held = planMessages(late, noKeys, [], sent, limit, 10 * minute);
  assert.deepEqual(held, { messages: [], nextAt: 61 * minute });
  const [after] = planMessages(late, noKeys, [], sent, limit, 61 * minute).messages;
  assert.deepEqual([after?.ids, after?.heldBack], [['late'], 1]);
});

test('property: no alert is lost or sent twice, and no hour has more notifications than allowed', () => {
  const cause = fc.record({
    kind: fc.constantFrom('host' as const, 'tag' as const, 'location' as const),
    name: fc.constantFrom('a', 'b', 'c'),
  });
  const event = fc.record({
    afterMs: fc.integer({ min: 0, max: 20 * minute }),
    key: fc.integer({ min: 0, max: 30 }),
    causes: fc.array(cause, { maxLength: 3 }),
  });
  const settings = fc.record({
    windowSeconds: fc.integer({ min: 5, max: 900 }),
    updateMinutes: fc.integer({ min: 1, max: 1_440 }),
    maxPerHour: fc.integer({ min: 2, max: 6 }),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), settings, (events, each) => {
      let now = 0;
      let waiting: WaitingAlert[] = [];
      const groups = new Map<string, KnownGroup>();
      const keys = new Map<string, string>();
      const sent: { id: string; at: number }[] = [];
      const sentAt: number[] = [];
      const plan = () => {
        const { messages, nextAt } = planMessages(
          waiting,
          keys,
          [...groups.values()],
          sentAt,
          each,
          now,
        );
        for (const { groupId, cause, ids } of messages) {
          const id = groupId ?? `g${groups.size}`;
          assert.ok(groups.get(id) === undefined || groups.get(id)?.lastSentAt !== now);
          groups.set(id, {
            ...{ id, cause: groups.get(id)?.cause ?? cause, lastSentAt: now },
            ...{ openedAt: groups.get(id)?.openedAt ?? now, isOver: ids.length % 2 === 0 },
          });
          for (const one of waiting.filter((it) => ids.includes(it.id)))
            keys.set(one.incidentKey, id);
          waiting = waiting.filter((one) => !ids.includes(one.id));
          sent.push(...ids.map((one) => ({ id: one, at: now })));
          sentAt.push(now);
        }
        assert.equal(nextAt === null, waiting.length === 0);
        assert.ok(nextAt === null || nextAt > now);
        return nextAt;
      };
      events.forEach(({ afterMs, key, causes }, index) => {
        now += afterMs;
        waiting.push({ id: `e${index}`, incidentKey: `k${key}`, causes, joinedAt: now });
        plan();
      });
      for (let nextAt = plan(); nextAt !== null; nextAt = plan()) now = nextAt;
      assert.deepEqual(
        sent.map(({ id }) => id).sort(),
        events.map((_, index) => `e${index}`).sort(),
      );
      for (const at of sentAt) {
        const inHour = sentAt.filter((other) => other > at - 60 * minute && other <= at);
        assert.ok(inHour.length <= each.maxPerHour);
      }
    }),
  );
});

test('a notification says what began, what ended and what lasts', () => {
  const of = (key: string, effect: 'PROBLEM' | 'REMINDER' | 'CLOSING') => ({
    ...{ id: key, checkId: key, checkName: key, incidentKey: key, effect, error: 'x', beganAt: 5 },
    alertType: effect === 'CLOSING' ? ('ALERT_RECOVERY' as const) : ('ALERT_FAILURE' as const),
  });
  const first = [of('a', 'PROBLEM'), of('b', 'PROBLEM'), of('c', 'PROBLEM')];
  const next = [of('a', 'CLOSING'), of('d', 'PROBLEM'), of('d', 'CLOSING'), of('b', 'REMINDER')];
  const { state } = groupFacts(emptyGroup, first);
  const { began, ended, reminded, open, total } = groupFacts(state, next).facts;
  assert.deepEqual(
    [began.count, ended.count, reminded, open, total, began.isFailing],
    [1, 2, 1, 2, 4, true],
  );
});

test('a notification counts as failing what fails when it is sent', () => {
  const host = ': the host a.example';
  const words: [notifications: string[], title: string][] = [
    [['+a'], `1 check is failing${host}`],
    [['+a +b'], `2 checks are failing${host}`],
    [['+a +b -a'], `1 check is failing, 1 recovered${host}`],
    [['+a +b +c -a'], `2 checks are failing, 1 recovered${host}`],
    [['+a +b -a -b'], 'All 2 checks have recovered (the host a.example)'],
    [['+a +b', '-a'], `1 recovered, 1 of 2 checks not recovered${host}`],
    [['+a', '+b'], `1 more failing, 2 of 2 checks not recovered${host}`],
  ];
  for (const [notifications, title] of words) {
    let state = emptyGroup;
    let said = '';
    let names: unknown;
    for (const [index, text] of notifications.entries()) {
      const alerts = text.split(' ').map((word): AlertOfGroup => {
        const [sign, key = ''] = [...word];
        const ofKey = { id: word, checkId: key, checkName: key, incidentKey: key, error: null };
        return sign === '+'
          ? { ...ofKey, beganAt: 5, effect: 'PROBLEM', alertType: 'ALERT_FAILURE' }
          : { ...ofKey, beganAt: 5, effect: 'CLOSING', alertType: 'ALERT_RECOVERY' };
      });
      const after = groupFacts(state, alerts);
      state = after.state;
      const facts: GroupFacts = {
        ...{ kind: 'group', at: 9, groupId: 'g', incidentKey: 'k', cause: 'the host a.example' },
        ...{ sequence: index + 1, heldBack: 0, maxPerHour: 20, limitedUntil: null },
        ...after.facts,
      };
      const message = messageOf(facts, 'id', 'https://monitor.example');
      said = message.title;
      names = alertVariables(facts, message, 'https://monitor.example')['CHECK_NAME'];
    }
    assert.equal(said, title);
    // Each check once.
    const of = [...new Set((notifications.at(-1) ?? '').replaceAll(/[+-]/g, '').split(' '))];
    assert.equal(names, of.join(', '));
  }
});

test('a group lasts since its first failure, also where its checks were degraded before', () => {
  const began = {
    'a degraded': ['ALERT_DEGRADED', 'PROBLEM'],
    'a fails': ['ALERT_FAILURE', 'PROBLEM'],
    'a fails after degraded': ['ALERT_DEGRADED_FAILURE', 'PROBLEM'],
    'a degraded after failing': ['ALERT_FAILURE_DEGRADED', 'PROBLEM'],
    'a reminder': ['ALERT_FAILURE_REMAIN', 'REMINDER'],
    'a recovery': ['ALERT_RECOVERY', 'CLOSING'],
  } as const;
  /** What joins, of which check, and when that began; then since when the group lasts after each notification. */
  const rows: [alerts: (readonly [keyof typeof began, string, number])[][], since: number[]][] = [
    [
      [[['a fails', 'a', 50]], [['a fails', 'b', 48]], [['a recovery', 'a', 50]]],
      [50, 48, 48],
    ],
    [
      [[['a degraded', 'a', 10]], [['a fails after degraded', 'a', 50]]],
      [10, 50],
    ],
    [
      [
        [
          ['a degraded', 'a', 10],
          ['a fails', 'b', 50],
        ],
        [['a recovery', 'a', 10]],
      ],
      [50, 50],
    ],
    [
      [[['a fails', 'b', 50]], [['a degraded', 'a', 10]], [['a fails', 'c', 49]]],
      [50, 50, 49],
    ],
    [
      [[['a fails after degraded', 'a', 50]], [['a reminder', 'a', 10]], [['a recovery', 'a', 10]]],
      [50, 50, 50],
    ],
    [
      [[['a fails', 'a', 20]], [['a degraded after failing', 'a', 20]], [['a fails', 'b', 60]]],
      [20, 20, 20],
    ],
    [
      [[['a degraded', 'a', 10]], [['a degraded', 'b', 5]], [['a recovery', 'b', 5]]],
      [10, 5, 5],
    ],
    // Only its end was grouped.
    [[[['a recovery', 'a', 30]]], [30]],
  ];
  for (const [messages, expected] of rows) {
    let state = emptyGroup;
    const since = messages.map((alerts) => {
      const given = alerts.map(([what, key, beganAt]) => ({
        ...{ id: key, checkId: key, checkName: key, incidentKey: key, error: 'x', beganAt },
        ...{ alertType: began[what][0], effect: began[what][1] },
      }));
      const { facts, state: after } = groupFacts(state, given);
      state = JSON.parse(JSON.stringify(after)) as typeof state;
      return facts.since;
    });
    assert.deepEqual(since, expected, JSON.stringify(messages));
  }
});
