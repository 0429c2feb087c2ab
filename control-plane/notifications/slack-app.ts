/** The Web API of Slack with the token of an app: messages, and people by name. */
import type { Clock } from '@monitor/shared/clock.ts';
import { resultText, retryAfter } from './attempt.ts';
import { OutgoingError, type Send } from './outgoing.ts';

export type SlackFailure =
  | { kind: 'failed'; reason: string; isFinal: boolean }
  | { kind: 'rate-limited'; retryAfterMs: number | null; isOfNames?: true };

/** Where a message stands. */
export interface PostedMessage {
  /** Id of the conversation, whatever name was given. */
  conversation: string;
  ts: string;
}

interface SlackAnswer {
  ok?: unknown;
  error?: unknown;
  needed?: unknown;
  channel?: unknown;
  ts?: unknown;
  members?: unknown;
  response_metadata?: { next_cursor?: unknown };
}

/** Errors that pass by themselves. */
const passing = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
]);

const advice: Readonly<Record<string, string>> = {
  channel_not_found: 'there is no such channel, or the app was not invited to it',
  not_in_channel: 'the app is not in the channel; invite it',
  is_archived: 'the channel is archived',
  invalid_auth: 'SLACK_APP_TOKEN is not valid',
  not_authed: 'SLACK_APP_TOKEN is not valid',
  token_revoked: 'SLACK_APP_TOKEN was revoked',
  token_expired: 'SLACK_APP_TOKEN has expired',
  account_inactive: 'the app was removed from the workspace',
  missing_scope: 'the app lacks a right',
};

/** Errors of `chat.update` after which a new message is posted. */
export const cannotUpdate: ReadonlySet<string> = new Set([
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'channel_not_found',
]);

const usersOfPage = 200;
/** 20,000 people. */
const maxPages = 100;
const pageBytes = 4_194_304;
/** Those who wait for names have claimed their notification for a minute. */
const namesWithinMs = 15_000;
const namesFreshMs = 600_000;
/** A name that is not known asks again after this time. */
const namesRetryMs = 60_000;

interface Names {
  at: number;
  ids: ReadonlyMap<string, string>;
}

interface User {
  id: string;
  name?: string;
  deleted?: boolean;
  profile?: { display_name?: string; real_name?: string };
}

export class SlackApp {
  readonly #send: Send;
  readonly #token: string;
  readonly #apiUrl: string;
  readonly #clock: Pick<Clock, 'now'>;
  #names: Names | null = null;
  #reading: Promise<Names | SlackFailure> | null = null;

  constructor(
    { token, apiUrl }: { token: string; apiUrl: string },
    send: Send,
    clock: Pick<Clock, 'now'>,
  ) {
    this.#send = send;
    this.#token = token;
    this.#apiUrl = apiUrl.replace(/\/+$/, '');
    this.#clock = clock;
  }

  async #call(
    method: string,
    body: object | URLSearchParams,
    signal: AbortSignal,
  ): Promise<SlackAnswer | (SlackFailure & { error?: string })> {
    const isForm = body instanceof URLSearchParams;
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json; charset=utf-8';
    let answer;
    try {
      answer = await this.#send(
        {
          method: 'POST',
          url: new URL(`${this.#apiUrl}/${method}`),
          headers: [
            ['authorization', `Bearer ${this.#token}`],
            ['content-type', type],
          ],
          body: isForm ? body.toString() : JSON.stringify(body),
          ...(isForm ? { maxAnswerBytes: pageBytes } : {}),
        },
        signal,
      );
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error;
      return { kind: 'failed', reason: error.message, isFinal: error.isFinal };
    }
    const { status, headers } = answer;
    if (status === 429) {
      return {
        kind: 'rate-limited',
        retryAfterMs: retryAfter(headers['retry-after'], this.#clock.now()),
      };
    }
    const said = parse(answer.body);
    if (said === null) {
      const reason = `HTTP ${status}, which is no answer of Slack`;
      return { kind: 'failed', reason, isFinal: status >= 300 && status < 500 };
    }
    if (said.ok === true) return said;
    const error = typeof said.error === 'string' ? said.error : `HTTP ${status}`;
    if (error === 'ratelimited') return { kind: 'rate-limited', retryAfterMs: null };
    const needed = typeof said.needed === 'string' ? ` (${said.needed})` : '';
    const words = advice[error] === undefined ? '' : `: ${advice[error]}${needed}`;
    return {
      ...{ kind: 'failed', reason: resultText(`${error}${words}`, [this.#token]).slice(0, 300) },
      ...{ isFinal: !passing.has(error) && status < 500, error },
    };
  }

  /** Posts a message to a channel, or to a person by id. */
  async post(channel: string, content: object, signal: AbortSignal) {
    const said = await this.#call('chat.postMessage', { ...content, channel }, signal);
    if ('kind' in said) return said;
    return {
      conversation: typeof said.channel === 'string' ? said.channel : channel,
      ts: typeof said.ts === 'string' ? said.ts : '',
    } satisfies PostedMessage;
  }

  /** Changes a message. */
  async update({ conversation, ts }: PostedMessage, content: object, signal: AbortSignal) {
    const body = { ...content, channel: conversation, ts };
    const said = await this.#call('chat.update', body, signal);
    return 'kind' in said ? said : null;
  }

  /** The id of a person by the name that people see; null for nobody. */
  async idOf(name: string, signal: AbortSignal): Promise<{ id: string | null } | SlackFailure> {
    const wanted = name.toLowerCase();
    const ageMs = this.#names === null ? Infinity : this.#clock.now() - this.#names.at;
    const known = this.#names?.ids.get(wanted);
    const isFresh = known === undefined ? ageMs < namesRetryMs : ageMs < namesFreshMs;
    if (isFresh) return { id: known ?? null };
    this.#reading ??= this.#readNames(signal).finally(() => {
      this.#reading = null;
    });
    const names = await this.#reading;
    if ('kind' in names) return known === undefined ? names : { id: known };
    this.#names = names;
    return { id: names.ids.get(wanted) ?? null };
  }

  async #readNames(signal: AbortSignal): Promise<Names | SlackFailure> {
    const at = this.#clock.now();
    const ids = new Map<string, string>();
    let cursor = '';
    for (let page = 0; page < maxPages; page += 1) {
      if (this.#clock.now() - at > namesWithinMs) {
        return { kind: 'failed', reason: 'Slack gives the names too slowly', isFinal: false };
      }
      const query = new URLSearchParams({ limit: String(usersOfPage), cursor });
      const said = await this.#call('users.list', query, signal);
      if ('kind' in said) {
        return said.kind === 'rate-limited' ? { ...said, isOfNames: true } : said;
      }
      for (const user of (Array.isArray(said.members) ? said.members : []) as User[]) {
        if (user.deleted === true || typeof user.id !== 'string') continue;
        for (const name of [user.name, user.profile?.display_name, user.profile?.real_name]) {
          const key = typeof name === 'string' ? name.toLowerCase() : '';
          // The account name, which nobody else has, comes first.
          if (key !== '' && (name === user.name || !ids.has(key))) ids.set(key, user.id);
        }
      }
      const next = said.response_metadata?.next_cursor;
      if (typeof next !== 'string' || next === '') break;
      cursor = next;
    }
    return { at, ids };
  }
}

function parse(text: string): SlackAnswer | null {
  try {
    const said = JSON.parse(text) as unknown;
    return typeof said === 'object' && said !== null ? said : null;
  } catch {
    return null;
  }
}
