// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import {
  promptHash,
  readScript,
  writeScript,
} from '../../../../agent/runners/agentic/learned-script.ts';
import { modelServer } from '../../../support/model-server.ts';
import { eventually } from '../../../support/system.ts';
import { webShop } from '../../../support/web-shop.ts';
import { buys, check, learn, mute, prompt } from './shop-brain.ts';

test('a script of another prompt or other skills, or one that cannot be read, is as good as none', () => {
  const own = promptHash('buy', ['slowly']);
  const learned = writeScript(own, [{ tool: 'back' }]);
  assert.deepEqual(readScript(learned, own), [{ tool: 'back' }]);
  for (const other of [promptHash('sell', ['slowly']), promptHash('buy', [])])
    assert.equal(readScript(learned, other), null);
  for (const script of ['{"version":9,"steps":[{"tool":"back"}]}', '{"version":1,"steps":[]}', '{'])
    assert.equal(readScript({ promptHash: own, script }, own), null, script);
});

suite('repeating what was learned', { concurrency: 3 }, () => {
  test('a second run repeats what was learned without asking the model, with the variables that it is given', async () => {
    await using first = await webShop();
    await using second = await webShop();
    const learnedScript = await learn(first);
    assert.ok(learnedScript.script.includes('{{SHOP_URL}}'));
    // Nothing is asked of a model: there is none.
    const seen = await check(second, { model: null, learnedScript });
    assert.equal(seen.failure, null);
    assert.equal(seen.learnedScript, undefined);
    assert.equal(seen.response?.['mode'], 'replayed');
    assert.deepEqual(
      seen.result.assertions.map(({ passed, actual }) => ({ passed, actual })),
      [{ passed: true, actual: '12 €' }],
    );
    assert.deepEqual(second.paths.slice(0, 1), ['/']);
    assert.ok(second.paths.includes('/cart'));
  });

  test('another prompt makes a run explore anew', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    await using model = await modelServer(buys(shop.url));
    const seen = await check(shop, { model, learnedScript, prompt: `${prompt} Quickly.` });
    assert.equal(seen.response?.['mode'], 'explored');
    assert.notEqual(seen.learnedScript?.promptHash, learnedScript.promptHash);
  });

  test('a wrong price fails the check, and no model is asked to explain it away', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    shop.look.price = '14 €';
    shop.look.extra = '<p>before: <s>12 €</s></p>';
    await using model = await modelServer(mute);
    const seen = await check(shop, { model, learnedScript });
    assert.equal(seen.failure?.code, 'ASSERTION_FAILED');
    assert.equal(seen.failure.message, 'the total is 12 €: expected "12 €", saw "14 €"');
    assert.equal(model.requests.length, 0);
    assert.deepEqual(seen.artifacts, ['screenshots/failure.png', 'trace.zip']);
  });

  test('a price without a name of its own is known by its look, and stays wrong', async () => {
    await using shop = await webShop();
    shop.look.priceId = '';
    const learnedScript = await learn(shop);
    shop.look.price = '1.014,50 €';
    shop.look.extra = '<p>before: <s>12 €</s></p>';
    await using model = await modelServer(mute);
    const seen = await check(shop, { model, learnedScript });
    assert.equal(seen.failure?.code, 'ASSERTION_FAILED');
    assert.equal(model.requests.length, 0);
  });

  test('an element that was only renamed is found by another of its traits', async () => {
    await using shop = await webShop();
    shop.look.buyTestId = 'buy';
    const learnedScript = await learn(shop);
    shop.look.buyLabel = 'Into the cart';
    await using model = await modelServer(mute);
    const seen = await check(shop, { model, learnedScript });
    assert.equal(seen.failure, null);
    assert.equal(model.requests.length, 0);
  });

  test('time that runs out while learned steps are repeated is a failure of the target', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    shop.look.buyLabel = 'Buy now';
    const timeoutMs = 60_000;
    let endTime: () => void = () => assert.fail('the run has no limit of time');
    const clock: Clock = {
      ...systemClock,
      after(ms, callback) {
        if (ms !== timeoutMs) return systemClock.after(ms, callback);
        endTime = callback;
        return () => undefined;
      },
    };
    const before = shop.paths.length;
    const running = check(shop, { model: null, learnedScript, timeoutMs, clock });
    await eventually(
      () => shop.paths.length > before,
      () => 'the shop was not visited',
    );
    // It looks for the button, which has another name now, for much longer than this takes.
    endTime();
    assert.equal((await running).failure?.code, 'TIMEOUT');
  });
});
