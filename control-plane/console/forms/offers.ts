/** Assertions that the answer of a run suggests: one for each of its values. */
import { isValues, type Values } from './values.ts';

/** Values of a large answer; more cannot be looked through. */
const maxLeaves = 200;
const roundMs = 100;

function below(path: string, name: string) {
  return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** The values of a document with their JSONPath. */
function leavesOf(
  document: unknown,
  path = '$',
): [path: string, value: string | number | boolean | null][] {
  if (Array.isArray(document)) {
    return document.flatMap((value, index) => leavesOf(value, `${path}[${index}]`));
  }
  if (isValues(document)) {
    return Object.entries(document).flatMap(([name, value]) => leavesOf(value, below(path, name)));
  }
  return [[path, document as string]];
}

function parsed(text: unknown) {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

interface Offer {
  label: string;
  value: string;
  assertion: Values;
}

function valuesOf(
  source: string,
  response: Values,
  responseTime: number,
): [property: string, comparison: string, target: unknown][] {
  switch (source) {
    case 'STATUS_CODE':
      return response.status === undefined ? [] : [['', 'EQUALS', response.status]];
    case 'RESPONSE_CODE':
      return response.returnCode === undefined ? [] : [['', 'EQUALS', response.returnCode]];
    case 'RESPONSE_TIME':
      return [['', 'LESS_THAN', Math.ceil((2 * responseTime) / roundMs) * roundMs || roundMs]];
    case 'HEADERS':
      return Object.entries(isValues(response.headers) ? response.headers : {}).map(
        ([name, value]) => [name, 'EQUALS', String(value)],
      );
    case 'JSON_BODY':
      return leavesOf(parsed(response.body)).map(([path, value]) => [path, 'EQUALS', value]);
    case 'JSON_ANSWER':
      return leavesOf(response.jsonAnswer).map(([path, value]) => [path, 'EQUALS', value]);
    default:
      return [];
  }
}

/**
 * What can be asserted of an answer, for the sources that assertions of the check have.
 * `responseTime` is in milliseconds.
 */
export function offersOf(
  sources: readonly string[],
  response: Values | null,
  responseTime: number,
): Offer[] {
  if (response === null) return [];
  return sources
    .flatMap((source) =>
      valuesOf(source, response, responseTime)
        .filter(([, , target]) => target !== undefined)
        .map(([property, comparison, target]) => ({
          label: property === '' ? source : property,
          value: String(target),
          assertion: { source, property, comparison, target: String(target), regex: null },
        })),
    )
    .slice(0, maxLeaves);
}
