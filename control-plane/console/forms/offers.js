/** Assertions that the answer of a run suggests: one for each of its values. */
/** @import { Values } from './values.js' */
import { isValues } from './values.js';

/** Values of a large answer; more cannot be looked through. */
const maxLeaves = 200;
const roundMs = 100;

/**
 * @param {string} path
 * @param {string} name
 */
function below(path, name) {
  return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/**
 * The values of a document with their JSONPath.
 * @param {unknown} document
 * @returns {[path: string, value: string | number | boolean | null][]}
 */
function leavesOf(document, path = '$') {
  if (Array.isArray(document)) {
    return document.flatMap((value, index) => leavesOf(value, `${path}[${index}]`));
  }
  if (isValues(document)) {
    return Object.entries(document).flatMap(([name, value]) => leavesOf(value, below(path, name)));
  }
  return [[path, /** @type {string} */ (document)]];
}

/** @param {unknown} text */
function parsed(text) {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @typedef {{ label: string, value: string, assertion: Values }} Offer
 */

/**
 * @param {string} source
 * @param {Values} response
 * @param {number} responseTime
 * @returns {[property: string, comparison: string, target: unknown][]}
 */
function valuesOf(source, response, responseTime) {
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
 * @param {readonly string[]} sources
 * @param {Values | null} response
 * @param {number} responseTime in milliseconds
 * @returns {Offer[]}
 */
export function offersOf(sources, response, responseTime) {
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
