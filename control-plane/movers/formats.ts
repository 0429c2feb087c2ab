import { blackbox, prometheus } from './blackbox/index.ts';
import { csv } from './csv.ts';
import type { Format } from './decide/formats.ts';
import { gatus } from './gatus/index.ts';
import { kuma } from './kuma/index.ts';
import type { Mover } from './mover.ts';
import { openstatus } from './openstatus.ts';

export const formats = { kuma, gatus, prometheus, blackbox, openstatus, csv } satisfies Record<
  Format,
  Mover
>;
