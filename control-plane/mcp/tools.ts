/** The operations of the contract as tools of the Model Context Protocol. */
import { z } from 'zod';
import type { JSONObject, Tool } from '@modelcontextprotocol/server';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { roleOf, type Route } from '@monitor/shared/contract/route.ts';
import { isJson, jsonSchemaOf, type Json } from '@monitor/shared/json-schema.ts';

/** What an argument of a tool belongs to in the request. */
export type Part = 'params' | 'query';

export interface ApiTool {
  route: Route;
  /** True for what changes something. */
  isWrite: boolean;
  /** Whether the operation itself can be asked what it would do. */
  hasDryRun: boolean;
  /** Arguments that are not part of the operation. */
  own: z.ZodObject<{ dryRun?: typeof dryRun; ifMatch?: typeof ifMatch }>;
  /** Arguments beside these and `body`. */
  parts: ReadonlyMap<string, Part>;
  tool: Tool;
}

/** Operations whose answer is a secret that is shown once: it does not go through a model. */
const answersSecret: ReadonlySet<string> = new Set([
  ...['createApiKey', 'authorizeClient', 'createPrivateLocation', 'createPrivateLocationKey'],
  ...['createInvitation', 'createOnCallCalendarLink', 'createDeploymentTrigger'],
  ...['createStatusPagePassword', 'addMyPasskey', 'beginMySecondFactor', 'confirmMySecondFactor'],
]);

/** Null for an operation that can be a tool. */
export function reasonAgainst(route: Route): string | null {
  if (route.authentication !== 'apiKey') return 'it is not called with a key of an account';
  if (route.bodyStream === true || route.responseStream !== undefined) return 'it sends a file';
  if (route.deprecated === true) return 'a newer one does the same';
  return answersSecret.has(route.operationId)
    ? 'it answers with a secret, which is shown once'
    : null;
}

const dryRun = z.boolean().default(true).meta({
  description:
    'true, the default: the input is checked and nothing is written. false: it is done. Ask the person before',
});
const ifMatch = z
  .string()
  .max(200)
  .regex(/^[ -~]*$/)
  .optional()
  .meta({
    description: 'The `etag` of a read: the change is refused when somebody changed it meanwhile',
  });

function describe(route: Route, isWrite: boolean): string {
  const { summary, description, rateLimit } = route;
  const sentences = [
    `${summary}.`,
    description === undefined ? '' : `${description}${/[.!?]$/.test(description) ? '' : '.'}`,
    `Needs the role ${roleOf(route)}.`,
    isWrite ? 'Nothing is written without dryRun: false.' : '',
    route.method === 'DELETE'
      ? 'The status 202 says that it can be undone for a while, 204 that it is done.'
      : '',
    rateLimit === undefined
      ? ''
      : `At most ${rateLimit.requests} calls in ${rateLimit.seconds} seconds.`,
  ];
  return sentences.filter((each) => each !== '').join(' ');
}

const namesIn = (schema: Json): string[] =>
  isJson(schema['properties']) ? Object.keys(schema['properties']) : [];

/** One object of arguments: those of path and query side by side, and the body. */
function toolOf(route: Route): ApiTool {
  const isWrite = route.method !== 'GET' && route.onlyReads !== true;
  const given = { params: route.params, query: route.query, body: route.body };
  const parts = Object.fromEntries(
    Object.entries(given).flatMap(([name, schema]) =>
      schema === undefined ? [] : [[name, schema]],
    ),
  );
  const { $defs, properties } = jsonSchemaOf(z.object(parts as z.ZodRawShape), 'input') as {
    $defs?: Json;
    properties: Record<string, Json>;
  };
  const { params = {}, query = {}, body } = properties;
  const hasDryRun = namesIn(query).includes('dryRun');
  const own = z.object({ ...(isWrite && { dryRun, ...(route.method !== 'POST' && { ifMatch }) }) });
  const { properties: more } = jsonSchemaOf(own, 'input');
  const required = [params, query].flatMap(({ required: names }) => (names ?? []) as string[]);
  const isBodyNeeded = route.body !== undefined && !route.body.safeParse(undefined).success;
  return {
    ...{ route, isWrite, hasDryRun, own },
    parts: new Map([
      ...namesIn(params).map((name) => [name, 'params'] as const),
      ...namesIn(query).map((name) => [name, 'query'] as const),
    ]),
    tool: {
      name: route.operationId,
      title: route.summary,
      description: describe(route, isWrite),
      inputSchema: {
        type: 'object',
        properties: {
          ...(params['properties'] as JSONObject | undefined),
          ...(query['properties'] as JSONObject | undefined),
          ...(body !== undefined && { body: body as JSONObject }),
          ...(more as JSONObject),
        },
        ...{ required: [...required, ...(isBodyNeeded ? ['body'] : [])] },
        additionalProperties: false,
        ...($defs !== undefined && { $defs: $defs as JSONObject }),
      },
      annotations: {
        readOnlyHint: !isWrite,
        destructiveHint: isWrite && route.method !== 'POST',
        idempotentHint: route.method === 'PUT' || route.method === 'DELETE' || !isWrite,
        openWorldHint: false,
      },
    },
  };
}

let made: readonly ApiTool[] | undefined;

/** Why an operation is no tool; null where there is no such operation, or it is one. */
export function whyNoTool(operationId: string): string | null {
  const route = allRoutes.find((each) => each.operationId === operationId);
  return route === undefined ? null : reasonAgainst(route);
}

/** In the order of the contract. Made with the first call: nobody waits for it at a start. */
export function apiTools(): readonly ApiTool[] {
  made ??= allRoutes.filter((route) => reasonAgainst(route) === null).map(toolOf);
  return made;
}

/** Groups of tools by the words that somebody gives, as the reference of the API names them; none: all. */
export function readTags(given: string | undefined): { tags: string[] } | { problem: string } {
  const words = (given ?? '').split(',').map((word) => word.trim());
  const known = [...new Set(apiTools().map(({ route }) => route.tag))];
  const tags: string[] = [];
  for (const word of words.filter((each) => each !== '')) {
    const found = known.find((tag) => tag.toLowerCase() === word.toLowerCase());
    if (found === undefined) {
      return { problem: `there is no group "${word}"; there are ${known.join(', ')}` };
    }
    tags.push(found);
  }
  return { tags };
}
