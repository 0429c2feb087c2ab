// Own process: it starts browsers, and in the long tier burns every processor beside them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import test, { after, before } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import type { AgentType } from '@monitor/shared/contract/checks/index.ts';
import { runners } from '../../../agent/runners/index.ts';
import { makeAttempt, type AttemptOutcome } from '../../../agent/worker/attempt.ts';
import { ProcessTime } from '../../../agent/worker/process-time.ts';
import { plainNetwork } from '../../support/plain-network.ts';
import { isLong } from '../../support/random.ts';
import { runnerContext } from '../../support/runner-context.ts';
import {
  definitionOfScript,
  openScriptWorld,
  type ScriptWorld,
} from '../../support/script-context.ts';
import { openSlowTargets } from '../../support/slow-targets.ts';
import { assignedCheck } from '../../support/plain.ts';

const runs = isLong ? 100 : 1;
const busy = isLong ? 2 * availableParallelism() : 0;
/** Each browser that runs beside another one costs its start: the short tier has one. */
const atOnce = isLong ? 2 : 1;
const slowMs = 3_000;
const overBy = [1.2, 4];
/** A healthy run is not to end by its limit, however busy the machine is. */
const generousMs = 60_000;

let targets: Awaited<ReturnType<typeof openSlowTargets>>;
let world: ScriptWorld;
const processTime = new ProcessTime({ clock: systemClock });

before(async () => {
  targets = await openSlowTargets();
  world = await openScriptWorld();
  processTime.watch();
});

after(async () => {
  processTime[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
  targets[Symbol.dispose]();
});

interface Subject {
  type: AgentType;
  /** Against a target that takes so long, with this limit. */
  body: (url: (tookMs: number) => string, tookMs: number, limitMs: number) => string;
}

const withPage = (lines: string): string => `test('it', async ({ page }) => {\n${lines}\n});`;

const subjects: Record<string, Subject> = {
  'a page slower than its limit': {
    type: 'BROWSER',
    body: (url, tookMs, limitMs) =>
      withPage(`await page.goto('${url(tookMs)}', { timeout: ${limitMs} });`),
  },
  'a text that does not come': {
    type: 'BROWSER',
    body: (url, tookMs, limitMs) =>
      withPage(
        `await page.goto('${url(0)}');
        await page.evaluate((ms) => setTimeout(() => (document.body.textContent = 'paid'), ms), ${tookMs});
        await expect(page.getByText('paid')).toBeVisible({ timeout: ${limitMs} });`,
      ),
  },
  'an answer of a multi-step check slower than its limit': {
    type: 'MULTI_STEP',
    body: (url, tookMs, limitMs) =>
      `test('it', async ({ request }) => {
        await request.get('${url(tookMs)}', { timeout: ${limitMs} });
      });`,
  },
};

function ask({ type, body }: Subject, tookMs: number, limitMs: number): Promise<AttemptOutcome> {
  const url = (ms: number): string => `http://127.0.0.1:${targets.http}/${ms}`;
  const script = `import { test, expect } from '@playwright/test';\n${body(url, tookMs, limitMs)}`;
  return makeAttempt(
    {
      check: assignedCheck({ type, definition: definitionOfScript(script) }),
      ...{ run: runnerContext().run, environmentUrl: null, latestStart: Infinity },
    },
    {
      ...{ clock: systemClock, network: plainNetwork, processTime, runners },
      ...{ scripting: world.scripting, scriptingProblem: null },
      artifactsOf: () => ({
        ...{ add: () => Promise.resolve(''), finish: () => Promise.resolve([]) },
        discard: () => Promise.resolve(),
      }),
    },
    new AbortController().signal,
  );
}

async function tally(subject: Subject, tookMs: number, limitsMs: readonly number[], count: number) {
  const words = { passed: 0, failed: 0, undecided: 0 };
  let left = count;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const outcome = await ask(subject, tookMs, limitsMs[left % limitsMs.length] ?? 0);
      if (outcome.hasErrors) {
        assert.equal(outcome.faultCode, 'AGENT_OVERLOADED', `${outcome.reason}`);
        words.undecided += 1;
      } else words[outcome.hasFailures ? 'failed' : 'passed'] += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return words;
}

test('what is slow never passes, and what is in time never fails, on a busy machine', async (t) => {
  const others = Array.from({ length: busy }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  const end = () => {
    for (const other of others) other.kill('SIGKILL');
  };
  const limitsMs = overBy.map((factor) => slowMs / factor);
  const judge = async ([name, subject]: [string, Subject]): Promise<() => Promise<void>> => {
    const fast = await tally(subject, 0, [generousMs], isLong ? runs : 1);
    const first = await tally(subject, slowMs, limitsMs, runs);
    return async () => {
      // Where others are busy as well, all may be undecided. Without these processes fewer are.
      const slow = first.failed > 0 ? first : await tally(subject, slowMs, limitsMs, 6 * runs);
      t.diagnostic(JSON.stringify({ name, slow, fast }));
      assert.equal(first.passed + slow.passed, 0, `${name} never passes`);
      assert.ok(slow.failed > 0, `${name} is found`);
      if (isLong) assert.ok(slow.failed >= 0.8 * runs, `${name} is mostly found`);
      assert.equal(fast.failed, 0, name);
    };
  };
  try {
    const all = Object.entries(subjects);
    // Busy processes burn as long as runs wait for their targets: there all wait at once.
    const ends = isLong ? await Promise.all(all.map(judge)) : [];
    if (!isLong) for (const one of all) ends.push(await judge(one));
    end();
    for (const conclude of ends) await conclude();
  } finally {
    end();
  }
});
