// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AgentError } from '../../../../agent/errors.ts';
import { runAgenticCheck } from '../../../support/agentic-run.ts';
import {
  inOrder,
  modelServer,
  refOf,
  type Brain,
  type Seen,
} from '../../../support/model-server.ts';
import { inLongTier } from '../../../support/random.ts';
import { webShop } from '../../../support/web-shop.ts';
import { buys, promptFor } from './shop-brain.ts';

const look = () => ({ tool: 'snapshot', input: {} });
const giveUp = ({ last }: Seen) => ({ tool: 'finish', input: { passed: false, summary: last } });

suite('exploring', { concurrency: 3 }, () => {
  for (const provider of ['openai', 'anthropic'] as const) {
    // The others speak that of openai.
    const options = provider === 'anthropic' ? {} : inLongTier;
    test(
      `a first run explores, verifies and learns, over the protocol of ${provider}`,
      options,
      async () => {
        await using shop = await webShop();
        await using model = await modelServer(buys(shop.url));
        const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model, provider });
        assert.equal(seen.failure, null);
        assert.deepEqual(seen.result.assertions, [
          { condition: 'the total is 12 €', passed: true, actual: '12 €', expected: '12 €' },
        ]);
        const script = JSON.parse(seen.learnedScript?.script ?? '') as {
          steps: { tool: string }[];
        };
        assert.deepEqual(
          script.steps.map(({ tool }) => tool),
          ['navigate', 'click', 'assert'],
        );
        assert.equal(seen.result.summary, 'bought');
        assert.deepEqual(
          seen.result.steps.map(({ sequenceNumber }) => sequenceNumber),
          seen.result.steps.map((_step, index) => index + 1),
        );
        assert.ok(
          seen.result.steps.some(({ type, name }) => type === 'tool_call' && name === 'click'),
        );
        assert.deepEqual(seen.artifacts, []);
        assert.ok((seen.responseTime ?? 0) > 0);
      },
    );
  }

  test('a goal that cannot be reached is a failure of the target, with a picture and a trace', async () => {
    await using shop = await webShop();
    await using model = await modelServer(
      inOrder(
        () => ({ tool: 'navigate', input: { url: `${shop.url}/nothing` } }),
        () => ({ tool: 'finish', input: { passed: false, summary: 'there is no such page' } }),
      ),
    );
    const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model });
    assert.equal(seen.failure?.code, 'GOAL_NOT_REACHED');
    assert.equal(seen.learnedScript, undefined);
    assert.deepEqual(seen.artifacts, ['screenshots/failure.png', 'trace.zip']);
    assert.deepEqual(seen.result.artifactManifest, {
      'screenshots/failure.png': 'artifact:screenshots/failure.png',
      'trace.zip': 'artifact:trace.zip',
    });
    assert.deepEqual(seen.result.errors, [{ error: { message: 'there is no such page' } }]);
  });

  test('a wrong price fails, and the model cannot finish as if it were right', async () => {
    await using shop = await webShop();
    shop.look.price = '14 €';
    const brain: Brain = inOrder(
      ...buys.moves(shop.url).slice(0, -1),
      () => ({ tool: 'finish', input: { passed: true, summary: 'bought' } }),
      ({ last }) => {
        assert.match(last, /not every assertion holds/);
        return { tool: 'finish', input: { passed: false, summary: 'too dear' } };
      },
    );
    await using model = await modelServer(brain);
    const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model });
    assert.equal(seen.failure?.code, 'ASSERTION_FAILED');
    assert.match(seen.failure.message, /expected "12 €", saw "14 €"/);
  });

  test('nothing passes without an assertion, and the model receives its skills, built-in and others', async () => {
    await using shop = await webShop();
    let received = '';
    await using model = await modelServer(
      inOrder(
        ({ instructions }) => {
          received = instructions;
          return { tool: 'navigate', input: { url: shop.url } };
        },
        () => ({ tool: 'finish', input: { passed: true, summary: 'looks fine' } }),
        giveUp,
      ),
    );
    const skills = ['cookie-banners', 'speak like a buyer'];
    const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model, skills });
    assert.match(seen.result.summary, /verify with "assert"/);
    // The instruction of a built-in one, and another one as it is.
    assert.match(received, /accepts the least/);
    assert.match(received, /speak like a buyer/);
  });

  test('malformed arguments and unknown tools are reported to the model, and it goes on', async () => {
    await using shop = await webShop();
    const problems: string[] = [];
    const note = ({ last }: Seen): void => {
      problems.push(last);
    };
    await using model = await modelServer(
      inOrder(
        () => ({ tool: 'navigate', raw: '{"url": "http' }),
        (seen) => (note(seen), { tool: 'navigate', input: { address: shop.url } }),
        (seen) => (note(seen), { tool: 'run_shell', input: { command: 'id' } }),
        (seen) => (note(seen), { tool: 'click', input: { ref: 'e1"]; steal' } }),
        (seen) => (note(seen), { say: 'I shall think first.' }),
        (seen) => (note(seen), { tool: 'navigate', input: { url: shop.url } }),
        ...buys.moves(shop.url).slice(1),
      ),
    );
    const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model });
    assert.equal(seen.failure, null);
    assert.match(problems[0] ?? '', /not valid JSON/);
    assert.match(problems[1] ?? '', /input of navigate is not valid/);
    assert.match(problems[2] ?? '', /there is no tool "run_shell"/);
    assert.match(problems[3] ?? '', /input of click|no element/);
    assert.match(problems[4] ?? '', /Use a tool/);
  });

  test('a model that never comes to an end reaches the limit of steps, which is an agent error', async () => {
    await using shop = await webShop();
    await using model = await modelServer(look);
    await assert.rejects(
      runAgenticCheck({ prompt: promptFor(shop.url), model, maxSteps: 5 }),
      (error) =>
        error instanceof AgentError &&
        error.code === 'AGENT_LIMIT' &&
        /ceiling of 5 steps; raise LLM_MAX_STEPS/.test(error.message),
    );
    assert.equal(model.requests.length, 6);
    // The last two looks at a page are sent whole.
    assert.equal(model.requests.at(-1)?.match(/an older look at the page/g)?.length, 3);
  });

  test('tokens are counted as the model counts them, and end the run before more are paid for', async () => {
    await using shop = await webShop();
    await using model = await modelServer(look);
    await assert.rejects(
      runAgenticCheck({ prompt: promptFor(shop.url), model, maxTokens: 10_000 }),
      /ceiling of 10000 tokens; raise LLM_MAX_TOKENS/,
    );
    const spent = model.requests.reduce((sum, body) => sum + Math.ceil(body.length / 4) + 20, 0);
    assert.ok(spent <= 10_000, `${spent} tokens`);
  });

  test('time that runs out while the model explores is an agent error', async () => {
    await using shop = await webShop();
    await using model = await modelServer(look);
    await assert.rejects(
      runAgenticCheck({
        ...{ prompt: promptFor(shop.url), model, timeoutMs: 1_500, maxSteps: 1_000 },
        maxTokens: 1e9,
      }),
      /ceiling of 1.5 s/,
    );
  });

  test('a run that is cancelled stops', async () => {
    await using shop = await webShop();
    const cancelling = new AbortController();
    await using model = await modelServer(() => {
      cancelling.abort();
      return { tool: 'snapshot', input: {} };
    });
    const { signal } = cancelling;
    const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model, signal });
    assert.equal(seen.failure?.code, 'CANCELLED');
  });

  test('without a model a first run says which settings are missing', async () => {
    await assert.rejects(
      runAgenticCheck({ prompt: 'open https://shop.example', model: null }),
      (error) =>
        error instanceof AgentError &&
        error.code === 'MODEL_UNAVAILABLE' &&
        error.message.includes('LLM_MODEL'),
    );
  });

  test('a window that opens is followed, and a dialog is answered and reported', async () => {
    await using shop = await webShop();
    shop.look.extra = `<button onclick="alert('Only today'); window.open('/login')">Offer</button>`;
    await using model = await modelServer(
      inOrder(
        () => ({ tool: 'navigate', input: { url: shop.url } }),
        look,
        ({ last }) => ({ tool: 'click', input: { ref: refOf(last, '"Offer"') } }),
        ({ last }) => {
          assert.match(last, /Only today/);
          return look();
        },
        ({ last }) => {
          assert.match(last, /textbox \\?"Password/);
          return { tool: 'finish', input: { passed: false, summary: 'seen' } };
        },
      ),
    );
    const seen = await runAgenticCheck({ prompt: promptFor(shop.url), model });
    assert.equal(seen.result.summary, 'seen');
  });
});
