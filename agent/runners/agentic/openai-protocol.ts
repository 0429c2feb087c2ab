/**
 * Chat completions with tools, as OpenAI defines them and most servers of open models speak them.
 * Only fields that all of these accept are sent: no limit of tokens (two names for it are in use)
 * and no temperature (refused by some models).
 */
import { z } from 'zod';
import type { ModelProtocol, ToolCall, Turn } from './conversation.ts';

const answerShape = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({
                id: z.string(),
                function: z.object({ name: z.string(), arguments: z.string() }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
});

function toMessages(turn: Turn): Record<string, unknown>[] {
  if (turn.role === 'user') return [{ role: 'user', content: turn.text }];
  if (turn.role === 'results') {
    return turn.results.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }));
  }
  const calls = turn.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    // Servers parse earlier calls again: what was malformed goes back as an empty object.
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }));
  return [
    {
      role: 'assistant',
      content: turn.text === '' && calls.length > 0 ? null : turn.text,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function toCall(call: { id: string; function: { name: string; arguments: string } }): ToolCall {
  const { id } = call;
  const { name, arguments: text } = call.function;
  try {
    // Some servers give an empty text for a tool that takes nothing.
    return { id, name, input: text.trim() === '' ? {} : JSON.parse(text), problem: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { id, name, input: null, problem: `the arguments are not valid JSON: ${reason}` };
  }
}

export const openaiProtocol: ModelProtocol = {
  path: '/chat/completions',
  headers: (key) => (key === null ? {} : { authorization: `Bearer ${key}` }),
  body: (model, { instructions, turns, tools }) => ({
    model,
    messages: [{ role: 'system', content: instructions }, ...turns.flatMap(toMessages)],
    tools: tools.map((tool) => ({ type: 'function', function: tool })),
  }),
  reply(answer) {
    const { choices, usage } = answerShape.parse(answer);
    const message = choices[0]?.message;
    return {
      text: message?.content ?? message?.refusal ?? '',
      calls: (message?.tool_calls ?? []).map(toCall),
      tokens: usage == null ? null : usage.prompt_tokens + usage.completion_tokens,
    };
  },
};
