/** JSONPath for plain paths of other languages. */

const identifier = /^[A-Za-z_][A-Za-z0-9_]*/;
const backQuoted = /^`([^`]+)`/;
const subscript = /^\[(\d+)\]/;

function member(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/**
 * The JSONPath for a path such as `a.b[0].c`, with names in back quotes; null for functions, filters
 * and anything else that is more than a path.
 */
export function jsonPathOf(query: string): string | null {
  let rest = query.trim().replace(/^\$\.?/, '');
  let path = '$';
  if (rest === '') return path;
  while (rest !== '') {
    const name = backQuoted.exec(rest)?.[1] ?? identifier.exec(rest)?.[0];
    const index = subscript.exec(rest);
    if (index !== null) {
      path += index[0];
      rest = rest.slice(index[0].length);
    } else if (name !== undefined) {
      path += member(name);
      rest = rest.slice(rest.startsWith('`') ? name.length + 2 : name.length);
    } else return null;
    if (rest.startsWith('.')) {
      rest = rest.slice(1);
      if (rest === '') return null;
    } else if (rest !== '' && !rest.startsWith('[')) return null;
  }
  return path;
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
