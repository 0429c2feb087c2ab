/** The OpenAPI 3.1 description, derived from the contract. */
import type { z } from 'zod';
import { errorBody, errorCatalogue } from '@monitor/shared/contract/errors.ts';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { roleOf, type Route } from '@monitor/shared/contract/route.ts';
import { inPlace, isJson, jsonSchemaOf, type Json } from '@monitor/shared/json-schema.ts';
import { addExamples } from './examples.ts';

const introduction = `
Every call carries an API key: \`Authorization: Bearer <API_KEY>\`. The account may be named in
\`x-service-account\`; it must then be the account of the key.

\`\`\`
curl -H "Authorization: Bearer $API_KEY" {base}/v1/checks
\`\`\`

Errors have one shape: \`statusCode\`, \`error\`, \`message\` and \`attributes\`, where
\`attributes.code\` is stable and \`attributes.keys\` names the fields that were wrong. Lists are
paged by \`limit\` and \`page\`; the total follows the slash in \`Content-Range\`.
Instants in queries are UNIX seconds, in bodies ISO 8601. A parameter that an operation does not know is
refused, and so is a field of a body that is misspelt or in the wrong place; other unknown fields are
ignored and named in the \`Warning\` header of the answer. A change with \`If-Match: <ETag>\` is refused with
412 when somebody else changed the entry since it was read with that \`ETag\`. Lists in queries are \`tag=a&tag=b\` or
\`tag[]=a&tag[]=b\`.
`.trim();

const components: Record<string, Json> = {};

/** An answer may gain fields; a client that refuses unknown ones would break. */
function openToNewFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(openToNewFields);
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !(key === 'additionalProperties' && inner === false))
      .map(([key, inner]) => [key, openToNewFields(inner)]),
  );
}

function pointToComponents(value: unknown, suffix: string): unknown {
  if (Array.isArray(value)) return value.map((inner) => pointToComponents(inner, suffix));
  if (!isJson(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key !== '$ref' || typeof inner !== 'string')
        return [key, pointToComponents(inner, suffix)];
      return [key, inner.replace('#/$defs/', '#/components/schemas/') + suffix];
    }),
  );
}

/** True for an object one of whose fields has a default, in any depth. */
function hasDefaults(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDefaults);
  if (!isJson(value)) return false;
  const { properties } = value;
  const own = isJson(properties) ? Object.values(properties) : [];
  return (
    own.some((property) => isJson(property) && 'default' in property) ||
    Object.values(value).some(hasDefaults)
  );
}

/**
 * Generators take a field with a default for one that is always there: true of answers, and of what a component
 * describes, but a body may leave it out. So such definitions stand in the place of their names.
 */
const isComponent = (definition: Json): boolean => !hasDefaults(definition);

/** The JSON schema of a zod schema; what has an id of its own becomes a component. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const suffix = io === 'input' ? 'Input' : '';
  const { $schema: _dialect, $defs, ...named } = openToNewFields(jsonSchemaOf(schema, io)) as Json;
  const own = (
    io === 'input' && isJson($defs) ? inPlace(named, $defs, isComponent) : named
  ) as Json;
  for (const [id, definition] of Object.entries(isJson($defs) ? $defs : {})) {
    if (io === 'input' && hasDefaults(definition)) continue;
    const { id: _id, ...rest } = pointToComponents(definition, suffix) as Json;
    components[id + suffix] = rest;
  }
  const { id, ...rest } = pointToComponents(own, suffix) as Json;
  if (typeof id !== 'string' || (io === 'input' && hasDefaults(rest))) return rest;
  components[id + suffix] = rest;
  return { $ref: `#/components/schemas/${id}${suffix}` };
}

function inline(schema: Json): Json {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  return components[reference.replace('#/components/schemas/', '')] ?? schema;
}

function parametersOf(route: Route): Json[] {
  const parameters: Json[] = [];
  for (const [place, schema] of [
    ['path', route.params],
    ['query', route.query],
  ] as const) {
    if (schema === undefined) continue;
    const object = inline(schemaOf(schema, 'input'));
    const required = (object['required'] ?? []) as string[];
    for (const [name, property] of Object.entries(object['properties'] as Record<string, Json>)) {
      const { description, ...rest } = property;
      parameters.push({
        name,
        in: place,
        required: place === 'path' || required.includes(name),
        ...(description === undefined ? {} : { description }),
        schema: rest,
      });
    }
  }
  if (route.authentication === 'apiKey') {
    parameters.push({ $ref: '#/components/parameters/Account' });
  }
  return parameters;
}

const everyOperation = [405, 500] as const;

function errorStatuses(route: Route): number[] {
  return [
    ...new Set([
      ...(route.errors ?? []),
      ...(route.params === undefined || route.isIdempotent === true ? [] : [404]),
      ...(route.authentication === 'none' ? [] : [401, 403]),
      // 400: a parameter that it does not know.
      ...(route.authentication === 'apiKey' ? [400] : []),
      429,
      ...(route.params === undefined && route.query === undefined ? [] : [400]),
      ...(route.body === undefined ? [] : [400, 413, 415]),
      ...(route.authentication === 'apiKey' && route.method !== 'GET' && route.method !== 'POST'
        ? [412]
        : []),
      ...everyOperation,
    ]),
  ].sort((left, right) => left - right);
}

const statusNames = new Map<number, string>(
  Object.values(errorCatalogue).map(({ statusCode, error }) => [statusCode, error]),
);

function contentOf(route: Route, schema: z.ZodType): Json {
  const type = route.contentType ?? 'application/json';
  return {
    [type]: { schema: schemaOf(schema, 'output') },
    ...(route.orCsv === true && {
      'text/csv': { schema: { type: 'string', description: 'A header line, then a line a row' } },
    }),
  };
}

function successOf(route: Route, status: number): Json {
  if (route.responseStream !== undefined) {
    const content = { [route.responseStream]: { schema: { type: 'string' } } };
    return { description: statusTexts[status] ?? 'Successful', content };
  }
  if (route.response === undefined) return { description: 'Done; no content' };
  return {
    description: statusTexts[status] ?? 'Successful',
    content: contentOf(route, route.response),
    ...(route.paged === true
      ? { headers: { 'Content-Range': { $ref: '#/components/headers/ContentRange' } } }
      : {}),
  };
}

function responsesOf(route: Route): Json {
  const successes = [route.status, ...(route.otherStatuses ?? [])].map((status) => [
    String(status),
    successOf(route, status),
  ]);
  const refusals = errorStatuses(route).map((status) => [
    String(status),
    { $ref: `#/components/responses/Error${status}` },
  ]);
  return Object.fromEntries([...successes, ...refusals]) as Json;
}

const statusTexts: Readonly<Record<number, string>> = {
  201: 'Created',
  202: 'Accepted; not ready yet',
  503: 'Carried out; at least one run failed or did not end',
};

/** What a caller has to know besides the summary: role, limits. */
function descriptionOf(route: Route): string {
  const { authentication, description, rateLimit } = route;
  return [
    ...(description === undefined ? [] : [description]),
    ...(authentication === 'apiKey' ? [`Needs a key with the role ${roleOf(route)}.`] : []),
    ...(rateLimit === undefined
      ? []
      : [`At most ${rateLimit.requests} requests of a key within ${rateLimit.seconds} seconds.`]),
  ].join(' ');
}

const security: Record<Route['authentication'], Json[]> = {
  apiKey: [{ apiKey: [] }],
  locationKey: [{ locationKey: [] }],
  none: [],
};

function operationOf(route: Route): Json {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(descriptionOf(route) === '' ? {} : { description: descriptionOf(route) }),
    ...(route.deprecated === true ? { deprecated: true } : {}),
    security: security[route.authentication],
    parameters: parametersOf(route),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: { 'application/json': { schema: schemaOf(route.body, 'input') } },
          },
        }),
    responses: responsesOf(route),
  };
}

function errorResponses(): Json {
  const used = new Set(allRoutes.flatMap(errorStatuses));
  const codes = Object.entries(errorCatalogue).filter(([, { statusCode }]) => used.has(statusCode));
  const responses: Json = {};
  for (const [code, { statusCode, error }] of codes) {
    const name = `Error${statusCode}`;
    responses[name] ??= {
      description: statusNames.get(statusCode),
      ...(statusCode === 429
        ? { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } }
        : {}),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          example: {
            statusCode,
            error,
            message: statusCode === 401 ? 'Bad Token' : '…',
            attributes: { code, requestId: '0c6fe2c8-6a98-4895-9a74-41f242d42d7d' },
          },
        },
      },
    };
  }
  return responses;
}

let made: Json | undefined;

/** The whole document, made once. Deterministic: the same contract gives the same text. */
export function openApiDocument(): Json {
  made ??= makeDocument();
  return made;
}

function makeDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const route of allRoutes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  schemaOf(errorBody, 'output');
  const tags = [...new Set(allRoutes.map(({ tag }) => tag))].map((name) => ({ name }));
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Monitoring API',
      version: '1.0.0',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags,
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account' },
        locationKey: { type: 'http', scheme: 'bearer', description: 'The raw key of a location' },
      },
      parameters: {
        Account: {
          name: 'x-service-account',
          in: 'header',
          required: false,
          description: 'The account; must be that of the key. Also read from x-checkly-account.',
          schema: { type: 'string', format: 'uuid' },
        },
      },
      headers: {
        RetryAfter: {
          description: 'Seconds until a request may succeed again',
          schema: { type: 'integer', example: 7 },
        },
        ContentRange: {
          description: 'Range of this page in the list; the total follows the slash',
          schema: { type: 'string', example: 'items 0-9/137' },
        },
      },
      responses: errorResponses(),
      schemas: Object.fromEntries(
        Object.entries(components).sort(([left], [right]) => left.localeCompare(right)),
      ),
    },
  };
  addExamples(document);
  return document;
}
