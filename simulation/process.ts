/** A process that plays seeds one after the other and prints a line of JSON for each. Started by `main.ts`. */
import { breakSource } from './breaks.ts';

const [, , , fault] = process.argv;
if (fault !== undefined) breakSource(fault);
// What is loaded from here on runs in the simulated machine.
await import('./machine.ts');
await import('./play-seeds.ts');
