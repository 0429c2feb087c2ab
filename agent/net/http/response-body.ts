/** What bytes of a response become: text, a picture, or a note that they were left out. */

const textual =
  /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|.*\+(json|xml)))/i;

/** True for what people read. */
export function isTextual(contentType: string | undefined): boolean {
  return textual.test(contentType ?? '');
}

const binary =
  /^(application\/(pdf|octet-stream|ogg|zip|x-shockwave-flash|vnd\.adobe\.flash\.movie)|audio\/(wave?|x-(pn-)?wav|vnd\.wave|mpeg|x-ms-wma|(vnd\.rn|x)-realaudio|ogg)|video\/(mpeg|mp4|quicktime|(x-ms-)?wmv|avi|x-msvideo|(x-)?flv|webm|ogg))\s*(;|$)/i;
const picture = /^image\/(png|jpe?g|gif|webp|bmp|avif|x-icon|vnd\.microsoft\.icon)\s*(;|$)/i;

export type BodyKind = 'text' | 'binary' | 'picture';

/** What a content type is for results. Everything unknown is text: most of it is. */
export function kindOfBody(contentType: string | undefined): BodyKind {
  if (binary.test(contentType ?? '')) return 'binary';
  return picture.test(contentType ?? '') ? 'picture' : 'text';
}

/** The text of bytes, by the charset their content type names, otherwise UTF-8. */
export function decodeText(bytes: Buffer, contentType: string | undefined): string {
  const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** The forms in which a secret commonly stands in a body. */
function formsOf(secret: string): string[] {
  return [secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)];
}

/**
 * The beginning of a text, at most `length` characters, that ends in front of a secret rather than
 * within it: half a secret would not be recognised by what removes secrets later.
 */
export function beginningOf(text: string, length: number, secrets: readonly string[]): string {
  if (text.length <= length) return text;
  let end = length;
  for (const form of new Set(secrets.filter((secret) => secret !== '').flatMap(formsOf))) {
    const from = Math.max(0, end - form.length + 1);
    const at = text.slice(from, end + form.length - 1).indexOf(form);
    if (at >= 0) end = from + at;
  }
  return text.slice(0, end).toWellFormed();
}
