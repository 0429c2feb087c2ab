/** The formats that `import` takes, in the order in which they are recognised. */
import type { Mover } from './mover.ts';
import { gatus } from './gatus/index.ts';
import { kuma } from './kuma/index.ts';

export const formats = { kuma, gatus } satisfies Record<string, Mover>;
