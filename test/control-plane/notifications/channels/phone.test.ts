// SQLite only: it tests what channels send.
/** Text messages and calls through an API as Twilio documents it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test, { suite } from 'node:test';
import { gsmText } from '../../../../control-plane/notifications/channels/gsm.ts';
import { smsText } from '../../../../control-plane/notifications/channels/phone.ts';
import { messageOf } from '../../../../control-plane/notifications/message.ts';
import { startTestControlPlane, type TestControlPlane } from '../../../support/control-plane.ts';
import { httpReceiver, type Received } from '../../../support/http-receiver.ts';
import {
  alertFacts,
  agentHealthFacts,
  locationFacts,
  makeChannel,
  notify,
  recoveryFacts,
  testFacts,
} from '../../../support/notifications.ts';

const sid = 'AC0123456789abcdef0123456789abcdef';
const token = 'the-auth-token';

/** The characters of GSM 03.38, by their own list. */
const gsm =
  /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/;

function answer({ method, path, headers, body }: Received) {
  const error = (status: number, code: number, message: string) => ({
    status,
    body: JSON.stringify({
      code,
      message,
      more_info: `https://www.twilio.com/docs/errors/${code}`,
      status,
    }),
  });
  const pair = Buffer.from(`${sid}:${token}`).toString('base64');
  if (headers.authorization !== `Basic ${pair}`)
    return error(401, 20003, `Authenticate ${headers.authorization}`);
  if (headers['content-type'] !== 'application/x-www-form-urlencoded')
    return error(400, 20001, 'form');
  const form = new URLSearchParams(body);
  if (!/^\+[1-9]\d{6,14}$/.test(form.get('To') ?? ''))
    return error(400, 21211, "Invalid 'To' Phone Number");
  if (form.get('From') !== '+15005550006') return error(400, 21212, "Invalid 'From'");
  const base = `/2010-04-01/Accounts/${sid}`;
  if (method === 'POST' && path === `${base}/Messages.json` && form.get('Body')) {
    return {
      status: 201,
      body: JSON.stringify({ sid: 'SM1', status: 'queued', account_sid: sid }),
    };
  }
  if (method === 'POST' && path === `${base}/Calls.json` && form.get('Twiml')) {
    return { status: 201, body: JSON.stringify({ sid: 'CA1', status: 'queued' }) };
  }
  return error(404, 20404, 'not found');
}

const settingsFor = (url: string, authToken = token) => ({
  PHONE_API_URL: url,
  PHONE_ACCOUNT_SID: sid,
  PHONE_AUTH_TOKEN: authToken,
  PHONE_FROM_NUMBER: '+15005550006',
  PUBLIC_URL: 'https://m.example',
});

test('a text message is short, in its alphabet, and for every kind of notification', async () => {
  await using receiver = await httpReceiver(answer);
  await using cp = await startTestControlPlane({ settings: settingsFor(receiver.url) });
  const channel = await makeChannel(cp, 'SMS', { name: 'Ada', number: '+49 (30) 123-4567' });
  const facts = alertFacts();
  const long = {
    ...facts,
    check: { ...facts.check, name: 'Zażółć “gęślą” 日本語 {jaźń} 🔥'.repeat(20) },
  };
  for (const each of [facts, recoveryFacts(), locationFacts, agentHealthFacts, testFacts, long]) {
    const { status, result } = await notify(cp, channel, each);
    assert.equal(status, 'SUCCESS', result);
    assert.match(result, /"sid":"SM1"/);
    const form = new URLSearchParams((await receiver.next()).body);
    const text = form.get('Body') ?? '';
    assert.equal(form.get('To'), '+49301234567');
    assert.match(text, gsm);
    const length = [...text].reduce((sum, each) => sum + (/[\^{}\\[~\]|€]/.test(each) ? 2 : 1), 0);
    assert.ok(length <= 320, `${length}: ${text}`);
  }
  const first = new URLSearchParams(receiver.received[0]?.body).get('Body');
  assert.match(
    first ?? '',
    /^\[FAILING\] Checkout: expected status to equal 200, it was 503 https:\/\/m\.example\/console/,
  );
});

test('a call says the sentence twice, and nothing in it is markup', async () => {
  await using receiver = await httpReceiver(answer);
  await using cp = await startTestControlPlane({ settings: settingsFor(receiver.url) });
  const channel = await makeChannel(cp, 'CALL', { name: 'Ada', number: '0049 30 1234567' });
  const facts = alertFacts();
  const name = '</Say><Dial>+1900</Dial>&"\'\u0001\ud800';
  for (const each of [{ ...facts, check: { ...facts.check, name } }, locationFacts, testFacts]) {
    assert.equal((await notify(cp, channel, each)).status, 'SUCCESS');
  }
  const markup = new URLSearchParams((await receiver.next()).body).get('Twiml') ?? '';
  const says =
    /^<\?xml version="1\.0" encoding="UTF-8"\?><Response><Pause length="1"\/><Say>([^<>]*)<\/Say><Pause length="1"\/><Say>([^<>]*)<\/Say><\/Response>$/.exec(
      markup,
    );
  assert.ok(says !== null, markup);
  assert.equal(says[1], says[2]);
  assert.match(
    says[1] ?? '',
    /^Check &quot;&lt;\/Say&gt;&lt;Dial&gt;\+1900&lt;\/Dial&gt;&amp;&quot;&#x27;/,
  );
});

test('what the service refuses is final, and the credentials are not shown', async () => {
  await using receiver = await httpReceiver(answer);
  await using cp = await startTestControlPlane({ settings: settingsFor(receiver.url) });
  const wrong = await notify(cp, await makeChannel(cp, 'SMS', { name: 'x', number: '+0012345' }));
  assert.equal(wrong.status, 'FAILURE');
  assert.match(wrong.result, /21211/);
  await using other = await startTestControlPlane({
    settings: settingsFor(receiver.url, 'wrong-token'),
  });
  const denied = await notify(
    other,
    await makeChannel(other, 'CALL', { name: 'x', number: '+49301234567' }),
  );
  assert.match(denied.result, /^HTTP 401 Unauthorized\n.*Authenticate Basic \[hidden\]/);
  assert.equal(receiver.received.length, 2);
});

test('without the settings of the service it fails and names them', async () => {
  await using cp = await startTestControlPlane();
  for (const type of ['SMS', 'CALL']) {
    const { status, result } = await notify(
      cp,
      await makeChannel(cp, type, { name: 'x', number: '+491234567' }),
    );
    assert.equal(status, 'FAILURE');
    assert.match(result, /has not set PHONE_ACCOUNT_SID, PHONE_AUTH_TOKEN, PHONE_FROM_NUMBER$/);
  }
});

test('of several accounts, those use the number and the app that the operator has named', async () => {
  await using receiver = await httpReceiver(answer);
  const settings = { ...settingsFor(receiver.url), SLACK_APP_TOKEN: 'xoxb-1' };
  const outcomes = async (cp: TestControlPlane) => {
    const sent: string[] = [];
    for (const [type, config] of [
      ['SMS', { name: 'x', number: '+491234567' }],
      ['CALL', { name: 'x', number: '+491234567' }],
      ['SLACK_APP', { slackChannels: ['#board-of-others'] }],
    ] as const) {
      sent.push((await notify(cp, await makeChannel(cp, type, config))).result);
    }
    return sent;
  };
  await using several = await startTestControlPlane({ settings });
  await several.foreignKey();
  for (const result of await outcomes(several)) {
    assert.match(result, /^this account may not send by (SMS|CALL|SLACK_APP): .*OPERATOR_CHANNEL_/);
  }
  assert.equal(receiver.received.length, 0);
  await using named = await startTestControlPlane({
    settings: { ...settings, OPERATOR_CHANNEL_ACCOUNTS: randomUUID() },
  });
  for (const result of await outcomes(named)) assert.match(result, /may not send/);
});

suite('the alphabet of text messages', () => {
  for (const [text, expected] of [
    ['Zażółć — “x”…', 'Zazolc - "x"...'],
    ['ÄÖÜß €5 [a]', 'ÄÖÜß €5 [a]'],
    ['日本語 down', '? down'],
    ['e\u0301t\u00e9', 'eté'],
  ] as const) {
    test(`${text} becomes ${expected}`, () => {
      assert.equal(gsmText(text, 320), expected);
    });
  }

  test('characters that count twice do', () => {
    assert.equal(gsmText('['.repeat(10), 20), '['.repeat(10));
    assert.equal(gsmText('['.repeat(11), 20), `${'['.repeat(8)}...`);
  });

  test('a text that is too long loses its words before its link', () => {
    const facts = alertFacts();
    const check = { ...facts.check, name: 'long '.repeat(100) };
    const text = smsText(messageOf({ ...facts, check }, 'x', 'https://m.example'));
    assert.match(
      text,
      /\.\.\. https:\/\/m\.example\/console\/#\/checks\/[0-9a-f-]+\/results\/[0-9a-f-]+$/,
    );
  });
});
