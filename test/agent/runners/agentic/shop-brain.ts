/** A check of the shop of `test/support/web-shop.ts`, and a brain that carries it out. */
import assert from 'node:assert/strict';
import type { LearnedScript } from '@monitor/shared/contract/agent-protocol.ts';
import { runAgenticCheck, type AgenticRun } from '../../../support/agentic-run.ts';
import {
  inOrder,
  modelServer,
  refOf,
  type Brain,
  type Move,
  type Seen,
} from '../../../support/model-server.ts';
import type { WebShop } from '../../../support/web-shop.ts';

export function promptFor(url: string): string {
  return `Open ${url}, put the lamp into the cart and verify that the total is 12 €.`;
}

export const price = {
  ...{ condition: 'the total is 12 €', check: 'text', expected: '12 €', match: 'equals' },
} as const;

function moves(url: string): ((seen: Seen) => Move | Move[])[] {
  return [
    () => ({ tool: 'navigate', input: { url } }),
    () => ({ tool: 'snapshot', input: {} }),
    ({ last }) => ({ tool: 'click', input: { ref: refOf(last, 'button') } }),
    () => ({ tool: 'snapshot', input: {} }),
    ({ last }) => ({ tool: 'assert', input: { ...price, ref: refOf(last, '€') } }),
    () => ({ tool: 'finish', input: { passed: true, summary: 'bought' } }),
  ];
}

/** Buys the lamp and verifies the total. */
export const buys = Object.assign((url: string): Brain => inOrder(...moves(url)), { moves });

export const prompt = promptFor('{{SHOP_URL}}');

/** A run of the check on this shop. */
export function check(shop: WebShop, run: Partial<AgenticRun>) {
  const environment = [{ key: 'SHOP_URL', value: shop.url, secret: false }];
  return runAgenticCheck({ prompt, environment, ...run });
}

/** Never asked. */
export const mute: Brain = () => {
  throw new Error('this run has no need of a model');
};

/** Learned once for each look of a shop: where the shop is does not matter. */
const learnedByLook = new Map<string, Promise<LearnedScript>>();

async function learnAnew(shop: WebShop): Promise<LearnedScript> {
  await using model = await modelServer(buys(shop.url));
  const { learnedScript, failure } = await check(shop, { model });
  assert.equal(failure, null);
  assert.ok(learnedScript);
  return learnedScript;
}

/** What the first run of the check learns. */
export function learn(shop: WebShop): Promise<LearnedScript> {
  const look = JSON.stringify(shop.look);
  const learned = learnedByLook.get(look) ?? learnAnew(shop);
  learnedByLook.set(look, learned);
  return learned;
}
