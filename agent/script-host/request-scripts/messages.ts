/** Messages to and from the process of request scripts. Its reports are not trusted. */
import { z } from 'zod';

/** The request as scripts see it: templates are completed after the last setup script. */
export interface ScriptedRequest {
  method: string;
  url: string;
  body: string;
  headers: [string, string][];
  queryParameters: [string, string][];
}

/** The response as teardown scripts see it; only the body can be changed. */
export interface ScriptedResponse {
  statusCode: number;
  statusText: string;
  body: string;
  headers: Readonly<Record<string, unknown>>;
  timings: Readonly<Record<string, number>>;
  timingPhases: Readonly<Record<string, number>>;
}

export type Command =
  | { kind: 'begin'; environment: [string, string][]; modules: string; secrets: string }
  | { kind: 'setup'; file: string; request: ScriptedRequest }
  | { kind: 'teardown'; file: string; request: ScriptedRequest; response: ScriptedResponse };

/** Of everything a script leaves behind. Spec: Setup and teardown scripts, 256 KB. */
const text = z.string().max(262_144);
const pairs = z.array(z.tuple([text, text])).max(10_000);

const environment = z.object({ set: pairs, removed: z.array(text).max(10_000) });
export type EnvironmentChanges = z.output<typeof environment>;

export const scriptReport = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready'), node: z.string().max(64) }),
  z.object({
    kind: z.literal('log'),
    level: z.enum(['DEBUG', 'INFO', 'WARN', 'ERROR']),
    text: z.string().max(8_192),
  }),
  z.object({ kind: z.literal('secret'), value: z.string().min(1).max(131_072) }),
  z.object({
    kind: z.literal('done'),
    request: z
      .object({ method: text, url: text, body: text, headers: pairs, queryParameters: pairs })
      .nullable(),
    body: text.nullable(),
    environment,
  }),
  z.object({
    kind: z.literal('failed'),
    message: z.string().max(16_384),
    file: z.string().max(512).nullable(),
    line: z.int().nullable(),
    environment,
  }),
]);
export type ScriptReport = z.output<typeof scriptReport>;
