/**
 * Asks the language model. Whatever goes wrong on the way to it is an agent error, never a failure of the target:
 * MODEL_UNAVAILABLE. The key is used here and nowhere else, and everything that is sent passes the
 * scrubber of the run first.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import type { ModelSettings } from '../runner.ts';
import { anthropicProtocol } from './anthropic-protocol.ts';
import type { Conversation, ModelProtocol, ModelReply, Turn } from './conversation.ts';
import { openaiProtocol } from './openai-protocol.ts';

const answerMs = 120_000;
const maxTries = 4;
const maxPauseMs = 60_000;
const maxAnswerBytes = 4_194_304;
/** Roughly; only where the server does not count for us. */
const charsPerToken = 4;

const protocols: Record<ModelSettings['provider'], ModelProtocol> = {
  openai: openaiProtocol,
  anthropic: anthropicProtocol,
};

/** Where the providers offer their models to everybody; for settings that name no other place. */
export const publicBaseUrls: Record<ModelSettings['provider'], string> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
};

export interface ModelClientParts {
  readonly settings: ModelSettings;
  readonly clock: Clock;
  /** Ends waiting and retrying; the error is then that of the signal. */
  readonly signal: AbortSignal;
  readonly scrub: (text: string) => string;
  readonly random?: () => number;
  readonly log: (message: string) => void;
}

/** A failed try, and whether another can help. */
interface Refusal {
  readonly reason: string;
  readonly advice: string;
  readonly canRetry: boolean;
  readonly pauseMs: number | null;
}

/** `Retry-After`: seconds, or a date. */
function pauseAsked(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - clock.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403) return 'set LLM_API_KEY to a key that may use this model';
  if (status === 404) return 'check LLM_BASE_URL (up to and including /v1) and LLM_MODEL';
  if (status === 400 || status === 413 || status === 422) {
    return 'check that LLM_MODEL supports tools, and LLM_PROVIDER';
  }
  if (status === 429) return 'raise the limits of the key, or run the check less often';
  return 'check that the model is available at LLM_BASE_URL';
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes)
      throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export class ModelClient {
  readonly #parts: ModelClientParts;
  readonly #protocol: ModelProtocol;
  #tokensUsed = 0;

  constructor(parts: ModelClientParts) {
    this.#parts = parts;
    this.#protocol = protocols[parts.settings.provider];
  }

  /** In and out, over all calls. */
  get tokensUsed(): number {
    return this.#tokensUsed;
  }

  /** At least so many tokens will one more call use: what is sent. */
  estimate(conversation: Conversation): number {
    return Math.ceil(JSON.stringify(conversation).length / charsPerToken);
  }

  /** The next turn of the model. Throws MODEL_UNAVAILABLE, or the reason of the signal. */
  async ask(conversation: Conversation): Promise<ModelReply> {
    const { settings, clock, signal, log, random = Math.random } = this.#parts;
    const clean = this.#clean(conversation);
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#send(clean);
      if ('reply' in answer) {
        this.#tokensUsed += answer.reply.tokens ?? this.estimate(clean);
        return answer.reply;
      }
      const { reason, advice, canRetry, pauseMs } = answer.refusal;
      if (!canRetry || attempt === maxTries || (pauseMs ?? 0) > maxPauseMs) {
        throw new AgentError(
          'MODEL_UNAVAILABLE',
          `the language model ${settings.model} at ${settings.baseUrl} could not be used: ${reason}; ${advice}`,
        );
      }
      const backoffMs = 1_000 * 2 ** (attempt - 1) * (0.75 + random() / 2);
      log(`the model could not answer (${reason}); trying again`);
      await sleep(clock, pauseMs ?? backoffMs, signal);
      signal.throwIfAborted();
    }
  }

  #clean({ instructions, turns, tools }: Conversation): Conversation {
    const { scrub } = this.#parts;
    const cleanTurn = (turn: Turn): Turn => {
      if (turn.role === 'user') return { ...turn, text: scrub(turn.text) };
      if (turn.role === 'model') return turn;
      const results = turn.results.map((result) => ({ ...result, text: scrub(result.text) }));
      return { ...turn, results };
    };
    return { instructions: scrub(instructions), turns: turns.map(cleanTurn), tools };
  }

  async #send(conversation: Conversation): Promise<{ reply: ModelReply } | { refusal: Refusal }> {
    const { settings, clock, signal } = this.#parts;
    const key = settings.apiKey?.reveal() ?? null;
    const unreachable = (error: unknown): { refusal: Refusal } => {
      signal.throwIfAborted();
      const { cause } = error as { cause?: unknown };
      const detail = cause instanceof Error ? cause.message : String((error as Error).message);
      return {
        refusal: { reason: detail, advice: adviceFor(0), canRetry: true, pauseMs: null },
      };
    };
    let response: Response;
    let text: string;
    try {
      const call = settings.fetch ?? fetch;
      response = await call(settings.baseUrl.replace(/\/+$/, '') + this.#protocol.path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.#protocol.headers(key) },
        body: JSON.stringify(this.#protocol.body(settings.model, conversation)),
        // A redirect would carry the key to another place.
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
      });
      text = await textOf(response);
    } catch (error) {
      return unreachable(error);
    }
    if (response.status !== 200) {
      const said = (key === null ? text : text.replaceAll(key, '[key]')).trim().slice(0, 300);
      return {
        refusal: {
          reason: `it answered ${response.status}${said === '' ? '' : ` (${said})`}`,
          advice: adviceFor(response.status),
          canRetry: response.status === 429 || response.status >= 500,
          pauseMs: pauseAsked(response.headers.get('retry-after'), clock),
        },
      };
    }
    try {
      return { reply: this.#protocol.reply(JSON.parse(text)) };
    } catch {
      const reason = `its answer is not of the ${settings.provider} protocol`;
      const advice = 'check LLM_PROVIDER and LLM_BASE_URL';
      return { refusal: { reason, advice, canRetry: false, pauseMs: null } };
    }
  }
}
