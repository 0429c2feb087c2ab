/** When people are told that a location is overloaded, and that it no longer is. */

/** The code under which people are told of it. */
export const overloadedCode = 'LOCATION_OVERLOADED';

/** Agents say it after a while of their own; this keeps out what one check-in says and the next takes back. */
export const overloadedForMs = 30_000;
/** So long without overload, and it is over: what comes and goes is one overload. */
export const quietForMs = 5 * 60_000;
