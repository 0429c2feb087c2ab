/** Commands that speak to a running control plane, here or on another machine, through its API. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { OperatorError, trying } from '../../errors/operator-error.ts';

export interface ApiOptions {
  url?: string;
  apiKeyFile?: string;
}

/** Adds the options that say which control plane, and who asks. The key is never an argument: others would see it. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--url <url>', 'the control plane; also CONTROL_PLANE_URL (http://127.0.0.1:3000)')
    .option('--api-key-file <file>', 'a file with an API key; without it API_KEY is used');
}

export interface ApiClient {
  /** Throws an OperatorError with the sentence of the API. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

function keyOf({ apiKeyFile }: ApiOptions): Promise<string> {
  return trying(`read the API key in ${apiKeyFile ?? 'API_KEY'}`, () => {
    const key =
      apiKeyFile === undefined ? process.env['API_KEY'] : readFileSync(apiKeyFile, 'utf8');
    if (key !== undefined && key.trim() !== '') return key.trim();
    throw new OperatorError(
      'there is no API key: set API_KEY, or give --api-key-file; "control-plane keys create" makes one',
      { usage: true },
    );
  });
}

/** What a wait for the end of something answers while it goes on. */
const goesOn = 408;

export async function openApi(options: ApiOptions): Promise<ApiClient> {
  const key = await keyOf(options);
  const base = (options.url ?? process.env['CONTROL_PLANE_URL'] ?? 'http://127.0.0.1:3000').replace(
    /\/+$/,
    '',
  );
  const send = (method: string, path: string, body: unknown): Promise<Response> =>
    trying(`reach the control plane at ${base}`, () =>
      fetch(`${base}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch((error: unknown) => {
        const cause = error instanceof Error ? (error.cause ?? error) : error;
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new OperatorError(
          `the control plane at ${base} cannot be reached: ${why}; start it, or name another with --url`,
        );
      }),
    );
  return {
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      for (;;) {
        const response = await send(method, path, body);
        const text = await response.text();
        if (response.status === goesOn) continue;
        if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
        throw new OperatorError(sentenceOf(response.status, text));
      }
    },
  };
}

function sentenceOf(status: number, text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // Something between answers in its own words.
  }
  return `the control plane answered ${status}: ${text.slice(0, 200)}`;
}
