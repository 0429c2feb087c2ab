/**
 * How what a template says becomes text, which depends on where it stands. HTML escaping, the default
 * of Handlebars, would break every one of these places and is never done here. What `{{{X}}}` gives is
 * taken as it is unless a place says otherwise.
 *
 * In addresses `{{X}}` is URI-encoded. A value at the very beginning is an address itself
 * (`{{GROUP_BASE_URL}}/orders`) and stays as it is. Up to the `?` the separators of a path survive, so
 * that `{{PATH}}` may be `a/b`; behind it they do not, so that `?q={{Q}}` stays one parameter.
 */
export interface Place {
  literal(text: string): string;
  /** `before` is all that stands in front of the value. */
  escaped(value: string, before: string): string;
  /** What `{{{X}}}` becomes; as it is where this is missing. */
  raw?(value: string, before: string): string;
}

function asIs(text: string): string {
  return text;
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Headers, credentials, and bodies in a format that only its author knows. */
export const inText: Place = { literal: asIs, escaped: asIs };

export const inUrl: Place = {
  literal: asIs,
  escaped(value, before) {
    if (before === '') return value;
    return before.includes('?') ? encoded(value) : encodeURI(value.toWellFormed());
  },
};

/** The value of a query parameter, ready to be appended; it is encoded here and nowhere else. */
export const inQueryValue: Place = { literal: encoded, escaped: encoded };

/** A body of `application/x-www-form-urlencoded`. */
export const inForm: Place = { literal: asIs, escaped: encoded };
