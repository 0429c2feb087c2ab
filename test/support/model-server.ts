/**
 * A language model without language: a server that speaks the protocols of OpenAI (chat completions
 * with tools) and Anthropic (messages) as strictly as the real ones, with a scripted brain. Requests
 * that the real ones would refuse are refused here too.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { httpServer, type TestServer } from './servers.ts';

/** What a brain sees: everything said so far, in order. */
export interface Seen {
  instructions: string;
  /** What the model was asked to do. */
  opening: string;
  /** Results of tools, oldest first. */
  results: string[];
  /** The newest result or message. */
  last: string;
  tools: string[];
}

export type Move =
  | { tool: string; input: unknown }
  /** The arguments as text, for models that get JSON wrong. */
  | { tool: string; raw: string }
  | { say: string };
export type Brain = (seen: Seen) => Move | Move[] | Promise<Move>;

export interface ModelServer extends TestServer {
  /** Bodies of all requests, as they came. */
  requests: string[];
  headers: Record<string, unknown>[];
  /** Answers given in place of the brain's, in order: for faults. */
  faults: { status: number; headers?: Record<string, string>; body?: string }[];
}

export const modelKey = 'sk-test-5f1c0a9e7b3d2846';

const schema = z.looseObject({ type: z.literal('object') });

const openaiRequest = z.strictObject({
  model: z.string().min(1),
  messages: z
    .array(
      z.discriminatedUnion('role', [
        z.strictObject({ role: z.literal('system'), content: z.string() }),
        z.strictObject({ role: z.literal('user'), content: z.string() }),
        z.strictObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          tool_calls: z
            .array(
              z.strictObject({
                id: z.string(),
                type: z.literal('function'),
                function: z.strictObject({
                  name: z.string(),
                  arguments: z.string().refine((text) => {
                    JSON.parse(text);
                    return true;
                  }),
                }),
              }),
            )
            .min(1)
            .exactOptional(),
        }),
        z.strictObject({ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() }),
      ]),
    )
    .min(1),
  tools: z.array(
    z.strictObject({
      type: z.literal('function'),
      function: z.strictObject({
        name: z.string().regex(/^[\w-]{1,64}$/),
        description: z.string(),
        parameters: schema,
      }),
    }),
  ),
});

const anthropicBlock = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().min(1) }),
  z.strictObject({
    ...{ type: z.literal('tool_use'), id: z.string(), name: z.string() },
    input: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    ...{ type: z.literal('tool_result'), tool_use_id: z.string(), content: z.string() },
    is_error: z.boolean().exactOptional(),
  }),
]);
const anthropicRequest = z.strictObject({
  ...{ model: z.string().min(1), max_tokens: z.int().min(1), system: z.string() },
  messages: z
    .array(
      z.strictObject({
        role: z.enum(['user', 'assistant']),
        content: z.array(anthropicBlock).min(1),
      }),
    )
    .min(1),
  tools: z.array(
    z.strictObject({ name: z.string(), description: z.string(), input_schema: schema }),
  ),
});

class Refused extends Error {}

/** Every call must be answered before anything else is said, by its id, once. */
function requireAnswers(open: Set<string>, answered: string[], speaker: string): void {
  for (const id of answered) if (!open.delete(id)) throw new Refused(`unknown tool call ${id}`);
  if (open.size > 0) throw new Refused(`tool calls without results before ${speaker}`);
}

function readOpenai(body: unknown): Seen {
  const { messages, tools } = openaiRequest.parse(body);
  const open = new Set<string>();
  const seen: Seen = { instructions: '', opening: '', results: [], last: '', tools: [] };
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) throw new Refused('unknown tool call');
      seen.results.push(message.content);
      seen.last = message.content;
      continue;
    }
    requireAnswers(open, [], message.role);
    if (message.role === 'system') seen.instructions = message.content;
    if (message.role === 'user') {
      seen.opening ||= message.content;
      seen.last = message.content;
    }
    if (message.role === 'assistant') {
      if (message.content === null && message.tool_calls === undefined) {
        throw new Refused('an assistant message needs content or tool_calls');
      }
      for (const { id } of message.tool_calls ?? []) open.add(id);
    }
  }
  requireAnswers(open, [], 'the end');
  return { ...seen, tools: tools.map((tool) => tool.function.name) };
}

function readAnthropic(body: unknown): Seen {
  const { messages, system, tools } = anthropicRequest.parse(body);
  const open = new Set<string>();
  const seen: Seen = { instructions: system, opening: '', results: [], last: '', tools: [] };
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== (index % 2 === 0 ? 'user' : 'assistant'))
      throw new Refused('roles must alternate');
    const answered = content.flatMap((each) =>
      each.type === 'tool_result' ? [each.tool_use_id] : [],
    );
    if (role === 'user') requireAnswers(open, answered, 'user');
    for (const each of content) {
      if (each.type === 'tool_use') open.add(each.id);
      if (each.type === 'tool_result') seen.results.push((seen.last = each.content));
      if (each.type === 'text' && role === 'user') {
        seen.opening ||= each.text;
        seen.last = each.text;
      }
    }
  }
  requireAnswers(open, [], 'the end');
  return { ...seen, tools: tools.map(({ name }) => name) };
}

let nextCall = 1;
const usage = (text: string): number => Math.ceil(text.length / 4);

function openaiAnswer(moves: Move[], request: string): unknown {
  const calls = moves.flatMap((move) =>
    'tool' in move
      ? {
          id: `call_${nextCall++}`,
          type: 'function',
          function: {
            name: move.tool,
            arguments: 'raw' in move ? move.raw : JSON.stringify(move.input),
          },
        }
      : [],
  );
  const text = moves.flatMap((move) => ('say' in move ? move.say : [])).join('\n');
  return {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_760_000_000 },
    model: 'test-model',
    choices: [
      {
        index: 0,
        message: {
          ...{ role: 'assistant', content: text === '' ? null : text, refusal: null },
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: calls.length === 0 ? 'stop' : 'tool_calls',
      },
    ],
    usage: {
      prompt_tokens: usage(request),
      completion_tokens: 20,
      total_tokens: usage(request) + 20,
    },
  };
}

function anthropicAnswer(moves: Move[], request: string): unknown {
  const content = moves.map((move) =>
    'say' in move
      ? { type: 'text', text: move.say }
      : {
          ...{ type: 'tool_use', id: `toolu_${nextCall++}`, name: move.tool },
          input: 'raw' in move ? { unreadable: move.raw } : move.input,
        },
  );
  return {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'test-model', content },
    ...{ stop_reason: 'tool_use', stop_sequence: null },
    usage: { input_tokens: usage(request), output_tokens: 20 },
  };
}

/** Starts a model. Its base URL is `${url}/v1`. */
export async function modelServer(brain: Brain): Promise<ModelServer> {
  const requests: string[] = [];
  const headers: Record<string, unknown>[] = [];
  const faults: ModelServer['faults'] = [];
  const server = await httpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    const end = async (): Promise<void> => {
      const body = Buffer.concat(chunks).toString('utf8');
      requests.push(body);
      headers.push(request.headers);
      const answer = (status: number, value: unknown, extra: Record<string, string> = {}): void => {
        response.writeHead(status, { 'content-type': 'application/json', ...extra });
        response.end(typeof value === 'string' ? value : JSON.stringify(value));
      };
      const fault = faults.shift();
      if (fault !== undefined) {
        answer(fault.status, fault.body ?? { error: { message: 'no' } }, fault.headers);
        return;
      }
      const isAnthropic = request.url === '/v1/messages';
      const key = isAnthropic
        ? request.headers['x-api-key']
        : request.headers.authorization?.replace(/^Bearer /, '');
      if (key !== modelKey) answer(401, { error: { message: 'Incorrect API key provided' } });
      else if (isAnthropic && request.headers['anthropic-version'] !== '2023-06-01') {
        answer(400, { error: { message: 'anthropic-version: header is required' } });
      } else if (!isAnthropic && request.url !== '/v1/chat/completions') {
        answer(404, { error: { message: `no such path: ${request.url ?? ''}` } });
      } else {
        try {
          const parsed: unknown = JSON.parse(body);
          const seen = isAnthropic ? readAnthropic(parsed) : readOpenai(parsed);
          const moves = [await brain(seen)].flat();
          answer(200, (isAnthropic ? anthropicAnswer : openaiAnswer)(moves, body));
        } catch (error) {
          answer(400, { error: { message: error instanceof Error ? error.message : 'malformed' } });
        }
      }
    };
    request.on('end', () => void end());
  });
  return { ...server, requests, headers, faults };
}

/** The page does not show what a brain looks for. */
class NotShown extends Error {
  constructor(text: string, snapshot: string) {
    super(`the brain found no "${text}" in: ${snapshot}`);
  }
}

/** The reference of the first element in a snapshot whose line has this text. */
export function refOf(snapshot: string, text: string): string {
  const line = snapshot.split('\n').find((each) => each.includes(text) && each.includes('[ref='));
  const ref = /\[ref=(\w+)\]/.exec(line ?? '')?.[1];
  if (ref === undefined) throw new NotShown(text, snapshot);
  return ref;
}

const mostLooks = 20;
const betweenLooksMs = 500;

/**
 * A brain that makes these moves one after another, each from what it sees then. It looks again, as a
 * model does, where the page of a busy machine does not show yet what it looks for.
 */
export function inOrder(...moves: ((seen: Seen) => Move | Move[])[]): Brain {
  let turn = 0;
  let looks = 0;
  return (seen) => {
    const move = moves[turn];
    if (move === undefined) throw new Error('the brain has no more moves');
    try {
      const made = move(seen);
      turn += 1;
      looks = 0;
      return made;
    } catch (error) {
      if (!(error instanceof NotShown) || ++looks > mostLooks) throw error;
      return pause(betweenLooksMs, { tool: 'snapshot', input: {} });
    }
  };
}
