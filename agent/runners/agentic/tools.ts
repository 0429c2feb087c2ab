/** What the model may call, with the shape of each input. Parsed before anything is done with it. */
import { z } from 'zod';
import type { ToolDeclaration } from './conversation.ts';

const ref = z.string().max(20).describe('Reference of an element in the last snapshot, like e12');
const text = (most: number, meaning: string) => z.string().max(most).describe(meaning);

const suggestion = z.object({
  summary: text(500, 'What to improve'),
  prompt: text(4_000, 'The prompt as it should read'),
  secrets: z.array(z.string().max(255)).max(20).default([]).describe('Variables to add'),
  category: z.enum(['credentials', 'endpoint', 'configuration']),
});

const assertion = z.object({
  condition: text(500, 'What must be true, as a sentence'),
  check: z
    .enum(['text', 'no_text', 'url', 'title', 'value', 'state'])
    .describe(
      'text: the element, or the page without ref, shows it. no_text: does not. value: of a field. state: expected is visible, hidden, enabled, disabled, checked or unchecked',
    ),
  expected: text(2_000, 'What the check demands'),
  match: z.enum(['contains', 'equals', 'regex']).default('contains'),
  ref: ref.exactOptional(),
});

const verification = z.object({
  assertion: z.int().min(1).describe('Number of the original assertion'),
  ref: ref.exactOptional().describe('Its element now, when the original one is gone'),
});

const common = {
  snapshot: { meaning: 'Look at the page', input: z.object({}) },
  navigate: { meaning: 'Open a URL', input: z.object({ url: text(4_000, 'Full http(s) URL') }) },
  click: { meaning: 'Click an element', input: z.object({ ref }) },
  hover: { meaning: 'Move the mouse over an element', input: z.object({ ref }) },
  type: {
    meaning: 'Replace the text of a field',
    input: z.object({
      ref,
      text: text(10_000, 'The text; {{NAME}} for a secret'),
      submit: z.boolean().default(false).describe('Press Enter afterwards'),
      slowly: z.boolean().default(false).describe('Key by key, for fields that react to keys'),
    }),
  },
  press: {
    meaning: 'Press a key, such as Enter or ArrowDown',
    input: z.object({ key: text(40, 'Name of the key'), ref: ref.exactOptional() }),
  },
  select: {
    meaning: 'Choose options of a select element',
    input: z.object({ ref, values: z.array(z.string().max(500)).min(1).max(50) }),
  },
  wait_for: {
    meaning: 'Wait up to 10 s until a text is visible, or gone',
    input: z.object({ text: text(500, 'The text'), gone: z.boolean().default(false) }),
  },
  back: { meaning: 'Go back, as the button of the browser does', input: z.object({}) },
  screenshot: {
    meaning: 'Keep a picture of the page with the result',
    input: z.object({ name: text(60, 'A short name').default('page') }),
  },
  finish: {
    meaning: 'End the check',
    input: z.object({
      passed: z.boolean(),
      summary: text(2_000, 'What was checked and what was seen'),
      suggestions: z.array(suggestion).max(5).default([]),
    }),
  },
} as const;

const exploring = {
  ...common,
  assert: { meaning: 'Verify something; the browser judges', input: assertion },
} as const;
const repairing = {
  ...common,
  assert: { meaning: 'Verify an original assertion; the browser judges', input: verification },
} as const;

export const toolSets = { explore: exploring, repair: repairing } as const;
export type Mode = keyof typeof toolSets;
export type CommonTool = keyof typeof common;
export type InputOf<Name extends CommonTool> = z.output<(typeof common)[Name]['input']>;
export type AssertionInput = z.output<typeof assertion>;
export type VerificationInput = z.output<typeof verification>;
export type Finish = InputOf<'finish'>;

/** One call with an input that has been checked. */
export type ParsedCall =
  | { [Name in CommonTool]: { name: Name; input: InputOf<Name> } }[CommonTool]
  | { name: 'assert'; input: AssertionInput | VerificationInput };

/** The tools as they are declared to the model. */
export function declarationsOf(mode: Mode): ToolDeclaration[] {
  return Object.entries(toolSets[mode]).map(([name, { meaning, input }]) => {
    const { $schema: _$schema, ...parameters } = z.toJSONSchema(input, { io: 'input' });
    return { name, description: meaning, parameters };
  });
}

/** A call that can be carried out, or what is wrong with it, in words the model can use. */
export function parseCall(
  mode: Mode,
  name: string,
  input: unknown,
): { call: ParsedCall } | { problem: string } {
  const tools: Record<string, { input: z.ZodType }> = toolSets[mode];
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) {
    return { problem: `there is no tool "${name}"; there are ${Object.keys(tools).join(', ')}` };
  }
  const parsed = tool.input.safeParse(input);
  if (!parsed.success) {
    return { problem: `the input of ${name} is not valid: ${z.prettifyError(parsed.error)}` };
  }
  return { call: { name, input: parsed.data } as ParsedCall };
}
