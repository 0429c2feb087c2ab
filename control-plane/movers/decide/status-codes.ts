/** Assertions for sets of HTTP status codes. Assertions are joined by AND. */

import { assertion, type Assertion } from './assertion.ts';

export type CodeRange = readonly [first: number, last: number];

export interface CodeAssertions {
  assertions: Assertion[];
  /** A code between the ranges that passes now and did not before; null when there is none. */
  passesNow: number | null;
}

/** The codes that are registered for HTTP. */
const registered = [
  ...[100, 101, 102, 103, 200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
  ...[300, 301, 302, 303, 304, 305, 307, 308],
  ...[400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417],
  ...[418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451],
  ...[500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
];

/** Two more assertions are for the ends of the set; a check has at most 100. */
const maxGaps = 98;

const judge = (comparison: string, target: number) => assertion('STATUS_CODE', comparison, target);

/** `EQUALS`, or both ends of a range. */
function hull([first, last]: CodeRange): CodeAssertions['assertions'] {
  return first === last
    ? [judge('EQUALS', first)]
    : [judge('GREATER_THAN', first - 1), judge('LESS_THAN', last + 1)];
}

/** Assertions that hold for the codes of the ranges. No range accepts nothing. */
export function assertionsFor(ranges: readonly CodeRange[]): CodeAssertions {
  const sorted = ranges.toSorted(([a], [b]) => a - b);
  const [lowest] = sorted;
  if (lowest === undefined) return { assertions: [judge('LESS_THAN', 0)], passesNow: null };
  const last = Math.max(...sorted.map(([, end]) => end));
  const isAccepted = (code: number) => sorted.some(([start, end]) => code >= start && code <= end);
  const gaps: number[] = [];
  for (let code = lowest[0]; code <= last && gaps.length <= 1000; code += 1) {
    if (!isAccepted(code)) gaps.push(code);
  }
  const fits = gaps.length <= maxGaps;
  const refused = fits ? gaps : gaps.filter((code) => registered.includes(code));
  return {
    assertions: [...hull([lowest[0], last]), ...refused.map((code) => judge('NOT_EQUALS', code))],
    passesNow: fits ? null : (gaps.findLast((code) => !registered.includes(code)) ?? null),
  };
}

/** `200` or `200-299`; null for another text. */
export function parseCodeRange(text: string): CodeRange | null {
  const [, first, last] = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5}))?\s*$/.exec(text) ?? [];
  if (first === undefined) return null;
  const start = Number(first);
  const end = last === undefined ? start : Number(last);
  return end < start ? null : [start, end];
}
