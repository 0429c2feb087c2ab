/** The messages protocol of Anthropic, with tools. */
import { z } from 'zod';
import type { ModelProtocol, ToolCall, Turn } from './conversation.ts';

/** Enough for a handful of calls; the protocol demands a limit. */
const maxReplyTokens = 4_096;

const block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
]);
const answerShape = z.object({
  content: z.array(z.union([block, z.looseObject({ type: z.string() })])),
  usage: z
    .object({
      input_tokens: z.number(),
      output_tokens: z.number(),
      cache_creation_input_tokens: z.number().nullish(),
      cache_read_input_tokens: z.number().nullish(),
    })
    .nullish(),
});

function toMessage(turn: Turn): Record<string, unknown> {
  if (turn.role === 'user') {
    return { role: 'user', content: [{ type: 'text', text: turn.text }] };
  }
  if (turn.role === 'results') {
    const content = turn.results.map(({ id, text, isError }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: text,
      is_error: isError,
    }));
    return { role: 'user', content };
  }
  const calls = turn.calls.map(({ id, name, input }) => ({
    type: 'tool_use',
    id,
    name,
    input: typeof input === 'object' && input !== null ? input : {},
  }));
  // An empty text is refused, and so is a message without content.
  const text = turn.text === '' && calls.length === 0 ? '(nothing)' : turn.text;
  return {
    role: 'assistant',
    content: [...(text === '' ? [] : [{ type: 'text', text }]), ...calls],
  };
}

export const anthropicProtocol: ModelProtocol = {
  path: '/messages',
  headers: (key) => ({
    'anthropic-version': '2023-06-01',
    ...(key === null ? {} : { 'x-api-key': key }),
  }),
  body: (model, { instructions, turns, tools }) => ({
    model,
    max_tokens: maxReplyTokens,
    system: instructions,
    messages: turns.map(toMessage),
    tools: tools.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: parameters,
    })),
  }),
  reply(answer) {
    const { content, usage } = answerShape.parse(answer);
    const blocks = content.map((each) => block.safeParse(each).data);
    const calls = blocks.flatMap((each): ToolCall[] =>
      each?.type === 'tool_use'
        ? [{ id: each.id, name: each.name, input: each.input, problem: null }]
        : [],
    );
    return {
      text: blocks.flatMap((each) => (each?.type === 'text' ? [each.text] : [])).join('\n'),
      calls,
      tokens:
        usage == null
          ? null
          : usage.input_tokens +
            usage.output_tokens +
            (usage.cache_creation_input_tokens ?? 0) +
            (usage.cache_read_input_tokens ?? 0),
    };
  },
};
