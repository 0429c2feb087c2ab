/** The feed of an on-call calendar: read by its link alone, and by none that was revoked. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { insertMember } from '../../support/people.ts';
import { now } from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

const [ann, bob] = ['ann@shop.example', 'bob@shop.example'] as const;

async function withPolicy() {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock });
  for (const email of [ann, bob]) {
    await insertMember(cp.controlPlane.services, {
      ...{ accountId: cp.accountId, role: 'READ_WRITE', name: email, email },
    });
  }
  const rotation = {
    ...{ people: [ann, bob], timezone: 'UTC', startDate: '2026-01-05' },
    handoverDay: 'MONDAY',
    handoverTime: '09:00',
    overrides: [{ from: '2026-11-22T00:00:00Z', until: '2026-11-22T12:00:00Z', person: bob }],
  };
  const { status, body } = await cp.api('POST', '/v1/escalation-policies', {
    ...{ name: 'Night\r\nATTENDEE:x', steps: [{ onCall: true }], rotation },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return { cp, clock, link: `/v1/escalation-policies/${body.id}/calendar-link` };
}

/** Without a key, as calendar programs ask. */
async function feed(url: string) {
  const answer = await fetch(url);
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    text: await answer.text(),
  };
}

const makeLink = async (cp: TestControlPlane, link: string): Promise<string> =>
  (await cp.api('POST', link)).body.url;

test('a calendar program reads the shifts by the link, all of them or those of one person', async () => {
  const { cp, link } = await withPolicy();
  await using _cp = cp;
  assert.equal((await cp.api('GET', link)).status, 404);
  const url = await makeLink(cp, link);
  assert.equal((await cp.api('GET', link)).body.url, url);
  const { status, type, text } = await feed(url);
  assert.equal(status, 200);
  assert.match(type ?? '', /^text\/calendar/);
  assert.match(text, /^BEGIN:VCALENDAR\r\n/);
  // A name ends no line.
  assert.doesNotMatch(text, /^ATTENDEE/m);
  const shift = /DTSTART:20261122T000000Z\r\nDTEND:20261122T120000Z\r\nSUMMARY:On call: bob@shop/;
  assert.match(text, shift);
  assert.match(text, /SUMMARY:On call: ann@/);
  assert.equal((await feed(url)).text, text, 'an unchanged feed is the same');

  const own = await feed(`${url}&person=${encodeURIComponent('Bob@shop.example')}`);
  assert.match(own.text, shift);
  assert.doesNotMatch(own.text, /SUMMARY:On call: ann@/);
});

test('a link ends when it is revoked or replaced, and none is guessed', async () => {
  const { cp, link } = await withPolicy();
  await using _cp = cp;
  const first = await makeLink(cp, link);
  // In the same millisecond, too.
  const second = await makeLink(cp, link);
  assert.notEqual(first, second);
  assert.equal((await feed(first)).status, 404);
  assert.equal((await feed(second)).status, 200);
  assert.equal((await feed(second.replace(/signature=./, 'signature=~'))).status, 404);
  assert.equal((await feed(second.replace(/\?.*/, ''))).status, 400);
  assert.equal((await cp.api('DELETE', link)).status, 204);
  assert.equal((await feed(second)).status, 404);
  assert.equal((await cp.api('GET', link)).status, 404);
});

test('a reader and another account make no link', async () => {
  const { cp, link } = await withPolicy();
  await using _cp = cp;
  const key = await cp.api('POST', '/v1/api-keys', { name: 'reader', role: 'READ_ONLY' });
  for (const [wanted, held] of [
    [403, key.body.rawKey as string],
    [404, await cp.foreignKey()],
  ] as const) {
    const headers = { authorization: `Bearer ${held}` };
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status } = await cp.api(method, link, undefined, headers);
      assert.equal(status, wanted, method);
    }
  }
});
