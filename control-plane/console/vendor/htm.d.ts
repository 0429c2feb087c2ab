import type htm from 'htm';

/** The package declares itself as a CommonJS module; what is served is a module. */
declare const tag: typeof htm.default;
export { tag as default };
