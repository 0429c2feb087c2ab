// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  inOrder,
  modelServer,
  refOf,
  type Move,
  type Seen,
} from '../../../support/model-server.ts';
import { inLongTier } from '../../../support/random.ts';
import { webShop, type WebShop } from '../../../support/web-shop.ts';
import { check, learn, mute } from './shop-brain.ts';

const look = () => ({ tool: 'snapshot', input: {} });
const finish = (passed: boolean, summary: string) => () => ({
  tool: 'finish',
  input: { passed, summary },
});

/** The shop after a relaunch: the learned button is gone, another leads to the cart. */
function relaunch(shop: WebShop): void {
  shop.look.buyLabel = 'Buy now';
}
const repairs: ((seen: Seen) => Move)[] = [
  look,
  ({ last }) => ({ tool: 'click', input: { ref: refOf(last, 'Buy now') } }),
  () => ({ tool: 'assert', input: { assertion: 1 } }),
];

suite('a learned step that no longer works', { concurrency: 3 }, () => {
  test('when the page changed, the model finds another way, which is learned and suggested', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    relaunch(shop);
    await using model = await modelServer(inOrder(...repairs, finish(true, 'bought again')));
    const seen = await check(shop, { model, learnedScript });
    assert.equal(seen.failure, null);
    assert.equal(seen.response?.['mode'], 'repaired');
    assert.match(seen.result.suggestions[0]?.summary ?? '', /changed and the check was repaired/);
    assert.ok(seen.learnedScript);
    assert.equal(seen.learnedScript.promptHash, learnedScript.promptHash);
    await using silent = await modelServer(mute);
    const after = await check(shop, { model: silent, learnedScript: seen.learnedScript });
    assert.equal(after.failure, null);
    assert.equal(silent.requests.length, 0);
  });

  test('a repair cannot change an expectation, drop it, or read it in another place', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    relaunch(shop);
    shop.look.price = '14 €';
    shop.look.extra = '<p>before:</p><p id="before">12 €</p>';
    const told: string[] = [];
    await using model = await modelServer(
      inOrder(
        ...repairs.slice(0, 2),
        () => ({ tool: 'finish', input: { passed: true, summary: 'all well' } }),
        ({ last }) => {
          told.push(last);
          return {
            tool: 'assert',
            input: { condition: 'the total is 14 €', check: 'text', expected: '14 €' },
          };
        },
        ({ last }) => {
          told.push(last);
          return look();
        },
        ({ last }) => ({ tool: 'assert', input: { assertion: 1, ref: refOf(last, ': 12 €') } }),
        ({ last }) => {
          told.push(last);
          return { tool: 'finish', input: { passed: true, summary: 'all well' } };
        },
        ({ last }) => {
          told.push(last);
          return { tool: 'finish', input: { passed: false, summary: 'the price is wrong' } };
        },
      ),
    );
    const seen = await check(shop, { model, learnedScript });
    assert.match(told[0] ?? '', /assertion 1 has not been verified/);
    assert.match(told[1] ?? '', /input of assert is not valid/);
    assert.match(told[2] ?? '', /"passed":false/);
    assert.match(told[3] ?? '', /assertion 1 has not been verified/);
    assert.notEqual(seen.failure, null);
    assert.equal(seen.learnedScript, undefined);
    assert.equal(seen.result.assertions[0]?.actual, '14 €');
  });

  test('without a model a broken step fails with a note', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    relaunch(shop);
    const seen = await check(shop, { model: null, learnedScript });
    assert.equal(seen.failure?.code, 'STEP_BROKEN');
    assert.match(seen.failure.message, /button Add to cart.*no language model is configured/s);
  });

  test('a repair that our side cannot finish leaves the broken step as the failure', async () => {
    await using shop = await webShop();
    const learnedScript = await learn(shop);
    relaunch(shop);
    await using model = await modelServer(look);
    const endless = await check(shop, { model, learnedScript, maxSteps: 3 });
    assert.equal(endless.failure?.code, 'STEP_BROKEN');
    assert.match(endless.failure.message, /could not be repaired.*LLM_MAX_STEPS/s);
  });

  test(
    'a repair that the model refuses leaves the broken step as the failure',
    inLongTier,
    async () => {
      await using shop = await webShop();
      const learnedScript = await learn(shop);
      relaunch(shop);
      await using model = await modelServer(look);
      const refused = await check(shop, { model, learnedScript, key: 'wrong' });
      assert.equal(refused.failure?.code, 'STEP_BROKEN');
      assert.match(refused.failure.message, /could not be repaired.*LLM_API_KEY/s);
    },
  );
});
