/** Writes down what the model did, as steps that can be repeated without it. */
import type { ToolAnswer } from './browser-session.ts';
import type { AssertionStep, ScriptStep, Target } from './learned-script.ts';
import type { PromptVariables } from './prompt-variables.ts';
import type { ParsedCall } from './tools.ts';

type Action = Exclude<ParsedCall, { name: 'finish' | 'assert' }>;

export class Recorder {
  readonly #variables: PromptVariables;
  readonly steps: ScriptStep[] = [];

  constructor(variables: PromptVariables) {
    this.#variables = variables;
  }

  /** Only what worked is worth repeating, and only what acts. */
  action(action: Action, answer: ToolAnswer): void {
    if (!answer.ok) return;
    const step = this.#stepOf(action, (answer.output['target'] ?? null) as Target | null);
    if (step !== null) this.steps.push(step);
  }

  assertion(step: Omit<AssertionStep, 'tool'>): void {
    this.steps.push({
      tool: 'assert',
      ...step,
      expected: this.#variables.generalise(step.expected),
    });
  }

  #stepOf({ name, input }: Action, target: Target | null): ScriptStep | null {
    const general = (text: string): string => this.#variables.generalise(text);
    switch (name) {
      case 'navigate':
        return { tool: name, url: general(input.url) };
      case 'back':
        return { tool: name };
      case 'wait_for':
        return { tool: name, text: general(input.text), gone: input.gone };
      case 'press':
        return { tool: name, key: input.key, target };
      case 'click':
      case 'hover':
        return target === null ? null : { tool: name, target };
      case 'type': {
        const { submit, slowly } = input;
        return target && { tool: name, target, text: general(input.text), submit, slowly };
      }
      case 'select':
        return target && { tool: name, target, values: input.values.map(general) };
      case 'snapshot':
      case 'screenshot':
        return null;
    }
  }
}
