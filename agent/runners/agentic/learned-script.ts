/**
 * What a check learns from a run that passed: actions with several ways to find each element, and
 * the assertions. It is repeated without a model. Placeholders stand for variables, so it holds no
 * secret. It belongs to a prompt with its skills: another prompt has another hash.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { LearnedScript } from '@monitor/shared/contract/agent-protocol.ts';

const way = z.object({
  by: z.enum(['testId', 'role', 'label', 'placeholder', 'id', 'name', 'anchor', 'text', 'css']),
  value: z.string().exactOptional(),
  role: z.string().exactOptional(),
  name: z.string().exactOptional(),
});
const target = z.object({
  title: z.string(),
  frame: z.object({ name: z.string(), url: z.string(), index: z.int() }).nullable(),
  ways: z.array(way).min(1).max(12),
  /** Its text with numbers replaced; null where that says nothing. */
  shape: z.string().nullable(),
});
export type Target = z.output<typeof target>;

/** What must be true, as it was first stated. Only `target` may change later. */
const assertionStep = z.object({
  tool: z.literal('assert'),
  condition: z.string(),
  check: z.enum(['text', 'no_text', 'url', 'title', 'value', 'state']),
  match: z.enum(['contains', 'equals', 'regex']),
  expected: z.string(),
  target: target.nullable(),
});
export type AssertionStep = z.output<typeof assertionStep>;

const actionStep = z.discriminatedUnion('tool', [
  z.object({ tool: z.literal('navigate'), url: z.string() }),
  z.object({ tool: z.literal('back') }),
  z.object({ tool: z.enum(['click', 'hover']), target }),
  z.object({
    tool: z.literal('type'),
    target,
    text: z.string(),
    submit: z.boolean(),
    slowly: z.boolean(),
  }),
  z.object({ tool: z.literal('press'), target: target.nullable(), key: z.string() }),
  z.object({ tool: z.literal('select'), target, values: z.array(z.string()) }),
  z.object({ tool: z.literal('wait_for'), text: z.string(), gone: z.boolean() }),
]);

const step = z.union([actionStep, assertionStep]);
export type ScriptStep = z.output<typeof step>;

const script = z.object({ version: z.literal(1), steps: z.array(step).min(1).max(1_000) });

/** SHA-256 over the prompt as written and the skills. */
export function promptHash(prompt: string, skills: readonly string[]): string {
  return hash('sha256', JSON.stringify([prompt, skills]), 'hex');
}

export function writeScript(hash: string, steps: readonly ScriptStep[]): LearnedScript {
  return { promptHash: hash, script: JSON.stringify({ version: 1, steps }) };
}

/** The steps learned for this prompt; null when there are none that can be used. */
export function readScript(learned: LearnedScript | null, hash: string): ScriptStep[] | null {
  if (learned?.promptHash !== hash) return null;
  try {
    return script.safeParse(JSON.parse(learned.script)).data?.steps ?? null;
  } catch {
    return null;
  }
}

export const isAssertion = (each: ScriptStep): each is AssertionStep => each.tool === 'assert';

/** A step in words, for the model and for people. */
export function describeStep(each: ScriptStep): string {
  switch (each.tool) {
    case 'navigate':
      return `navigate to ${each.url}`;
    case 'back':
      return 'go back';
    case 'click':
    case 'hover':
      return `${each.tool} ${each.target.title}`;
    case 'type':
      return `type "${each.text}" into ${each.target.title}${each.submit ? ' and submit' : ''}`;
    case 'press':
      return `press ${each.key}${each.target === null ? '' : ` in ${each.target.title}`}`;
    case 'select':
      return `select "${each.values.join('", "')}" in ${each.target.title}`;
    case 'wait_for':
      return `wait until "${each.text}" is ${each.gone ? 'gone' : 'visible'}`;
    case 'assert':
      return `assert: ${each.condition} (${each.check} ${each.match} "${each.expected}")`;
  }
}
