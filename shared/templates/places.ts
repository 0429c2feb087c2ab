/**
 * Escaping of template values by their place in a request. HTML escaping, the default of
 * Handlebars, would be wrong everywhere here and is never used. `{{{X}}}` is inserted unchanged
 * unless a place says otherwise.
 *
 * In URLs `{{X}}` is percent-encoded. A value at the very beginning is a URL itself
 * (`{{GROUP_BASE_URL}}/orders`) and stays unchanged. Before the `?` path separators stay, so that
 * `{{PATH}}` may be `a/b`; after it they are encoded, so that `?q={{Q}}` stays one parameter.
 */
export interface Place {
  literal(text: string): string;
  /** `before` is the text in front of the value. */
  escaped(value: string, before: string): string;
  /** The text of `{{{X}}}`; unchanged when absent. */
  raw?(value: string, before: string): string;
}

function asIs(text: string): string {
  return text;
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Headers, credentials, and bodies of unknown formats. */
export const inText: Place = { literal: asIs, escaped: asIs };

export const inUrl: Place = {
  literal: asIs,
  escaped(value, before) {
    if (before === '') return value;
    return before.includes('?') ? encoded(value) : encodeURI(value.toWellFormed());
  },
};

/** The value of a query parameter, which is encoded here only. */
export const inQueryValue: Place = { literal: encoded, escaped: encoded };

/** A body of `application/x-www-form-urlencoded`. */
export const inForm: Place = { literal: asIs, escaped: encoded };
