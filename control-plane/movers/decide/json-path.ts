/** JSONPath for plain paths of other languages. */

function member(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

const step = /(?:^|(?<=.)\.)([A-Za-z_][A-Za-z0-9_]*|`[^`]+`)|(\[\d+\])/g;

/**
 * The JSONPath for a path such as `a.b[0].c`, with names in back quotes; null for functions, filters
 * and anything else that is more than a path.
 */
export function jsonPathOf(query: string): string | null {
  const path = query.trim().replace(/^\$\.?/, '');
  const steps = [...path.matchAll(step)];
  if (steps.map(([whole]) => whole).join('') !== path) return null;
  const parts = steps.map(([, name = '', index]) => index ?? member(name.replaceAll('`', '')));
  return `$${parts.join('')}`;
}

/** The JSONPath for `.a.b-c[0]` and `.a[*]`, whose names may have any character but dots and brackets. */
export function jsonPathOfKeys(path: string): string | null {
  let made = '$';
  for (const part of path.replace(/^\./, '').split('.')) {
    const [, name = '', indexes = ''] = /^([^[\]]*)((?:\[(?:\d+|\*)\])*)$/.exec(part) ?? [];
    if (name === '' && indexes === '') return null;
    made += (name === '' ? '' : member(name)) + indexes;
  }
  return made;
}
