/** Thresholds of the alert about an overloaded location. */

/** The code of this alert. */
export const overloadedCode = 'LOCATION_OVERLOADED';

/** Agents report an overload only after a while; this filters short ones. */
export const overloadedForMs = 30_000;
/** An overload has ended after this long without one; short pauses do not end it. */
export const quietForMs = 5 * 60_000;
