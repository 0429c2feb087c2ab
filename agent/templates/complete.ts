/** Renders a field of a check, with errors and warnings that name the field. */
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { HttpUrl } from '@monitor/shared/http-url.ts';
import type { Place } from '@monitor/shared/templates/places.ts';
import { render } from './render.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import type { TemplateValues } from './variables.ts';

/** A field of the customer that cannot be rendered: the check fails and names the field. */
export class FieldProblem extends Error {
  readonly failure: Failure;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'FieldProblem';
    this.failure = { phase: 'template', code, message, isNetworkError: false };
  }
}

export interface Completion {
  values: TemplateValues;
  warn: (message: string) => void;
}

/** Renders a field; `field` is its display name. Throws FieldProblem. */
export function complete(
  field: string,
  template: string,
  place: Place,
  { values, warn }: Completion,
): string {
  try {
    const { text, unknown } = render(template, values, place);
    for (const name of unknown) warn(`${field} uses the variable "${name}", which has no value`);
    return text;
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const message = `the template of ${field} cannot be completed: ${error.message}`;
    throw new FieldProblem('TEMPLATE_INVALID', message, { cause: error });
  }
}

/** The URL of a request, which must be http(s) after rendering. Throws FieldProblem. */
export function completeUrl(text: string): URL {
  const url = HttpUrl.canParse(text) ? new HttpUrl(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '') return url;
  const message = `the URL "${text.slice(0, 500)}" is not an http or https address (INVALID_URL)`;
  throw new FieldProblem('INVALID_URL', message);
}
