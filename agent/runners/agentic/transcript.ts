/** The steps of a run as its result shows them, in bounded size. Spec: `agenticCheckResult.steps`. */
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import type { Clock } from '@monitor/shared/clock.ts';

export type AgenticResult = NonNullable<ResultSubmission['agenticCheckResult']>;
type Step = AgenticResult['steps'][number];

const maxSteps = 300;
const maxTextChars = 4_000;

/** Long texts cut, wherever they stand. */
function bounded(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length <= maxTextChars ? value : `${value.slice(0, maxTextChars)}…`;
  }
  if (Array.isArray(value)) return value.slice(0, 50).map(bounded);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, bounded(each)]));
}

export class Transcript {
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #steps: Step[] = [];
  #sequence = 0;

  /** `log` gets a line for each step, so that a run that ends as an agent error can be read too. */
  constructor(clock: Clock, log: (message: string) => void) {
    this.#clock = clock;
    this.#log = log;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  message(text: string): void {
    this.#add('message', 'model', null, text);
    this.#log(`model: ${text.slice(0, 500)}`);
  }

  call(name: string, input: unknown): void {
    this.#add('tool_call', name, input, null);
    this.#log(`${name} ${JSON.stringify(input ?? {}).slice(0, 500)}`);
  }

  result(name: string, input: unknown, output: unknown): void {
    this.#add('tool_result', name, input, output);
  }

  #add(type: Step['type'], name: string, input: unknown, output: unknown): void {
    this.#sequence += 1;
    if (this.#steps.length >= maxSteps) return;
    this.#steps.push({
      type,
      name,
      input: bounded(input),
      output: bounded(output),
      timestamp: new Date(this.#clock.now()).toISOString(),
      sequenceNumber: this.#sequence,
    });
  }
}
