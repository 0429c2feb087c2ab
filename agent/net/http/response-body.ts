/** Turns response bytes into a result: text, a picture, or a note that they were omitted. */

const textual =
  /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|.*\+(json|xml)))/i;

/** True for text formats. */
export function isTextual(contentType: string | undefined): boolean {
  return textual.test(contentType ?? '');
}

const binary =
  /^(application\/(pdf|octet-stream|ogg|zip|x-shockwave-flash|vnd\.adobe\.flash\.movie)|audio\/(wave?|x-(pn-)?wav|vnd\.wave|mpeg|x-ms-wma|(vnd\.rn|x)-realaudio|ogg)|video\/(mpeg|mp4|quicktime|(x-ms-)?wmv|avi|x-msvideo|(x-)?flv|webm|ogg))\s*(;|$)/i;
const picture = /^image\/(png|jpe?g|gif|webp|bmp|avif|x-icon|vnd\.microsoft\.icon)\s*(;|$)/i;

export type BodyKind = 'text' | 'binary' | 'picture';

/** The kind of a content type in results. Unknown types count as text, because most of them are. */
export function kindOfBody(contentType: string | undefined): BodyKind {
  if (binary.test(contentType ?? '')) return 'binary';
  return picture.test(contentType ?? '') ? 'picture' : 'text';
}

/** Where pages name their charset. */
const namedWithin = 1_024;

/** What may hold text that looks like a charset and is none. */
const unread = /<!--.*?-->|<(script|style|title|textarea)\b.*?<\/\1/gis;

/** The charsets by the mark at the start, the header, and what the page says about itself; the first that is known counts. */
function charsetsOf(bytes: Buffer, contentType = ''): (string | undefined)[] {
  const mark = bytes.toString('latin1', 0, 3);
  if (mark.startsWith('\xff\xfe')) return ['utf-16le'];
  if (mark.startsWith('\xfe\xff')) return ['utf-16be'];
  if (mark === '\xef\xbb\xbf') return ['utf-8'];
  // Of several types the last that names one.
  const named = contentType
    .split(',')
    .map((type) => /;\s*charset\s*=\s*["']?([^"';\s]+)/i.exec(type)?.[1])
    .findLast((charset) => charset !== undefined);
  const begin = bytes.toString('latin1', 0, namedWithin).replaceAll(unread, '');
  const isXml = /\bxml\b/i.test(contentType) || /^\s*<\?xml/.test(begin);
  const ofXml = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w:.-]+)/.exec(begin)?.[1];
  const isPage = contentType === '' || /\bhtml\b/i.test(contentType);
  const ofPage = /<meta\s[^>]*?charset\s*=\s*["']?\s*([^"'\s/>;]+)/i.exec(begin)?.[1];
  // Nobody could read UTF-16 named in a page of UTF-16.
  const inPage = isPage && !/^utf-?16/i.test(ofPage ?? '') ? ofPage : undefined;
  return [named, isXml ? ofXml : undefined, inPage];
}

/** Decodes text by its charset; by UTF-8 where that is not known. */
export function decodeText(bytes: Buffer, contentType: string | undefined): string {
  for (const charset of charsetsOf(bytes, contentType)) {
    try {
      if (charset !== undefined) return new TextDecoder(charset).decode(bytes);
    } catch {
      // Not known.
    }
  }
  return new TextDecoder().decode(bytes);
}

/** Common encodings of a secret in a body. */
function formsOf(secret: string): string[] {
  return [secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)];
}

/**
 * The beginning of a text, at most `length` characters, cut before a secret instead of within it: a
 * part of a secret would not be recognised by the scrubber.
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

/** What a result holds, in characters. */
const storedLength = 65_536;

/** What of a text a result holds; `whole` is there when that is not all. */
export function storedText(
  text: string,
  secrets: readonly string[],
): { stored: string; whole?: string } {
  const stored = beginningOf(text, storedLength, secrets);
  return stored.length === text.length ? { stored } : { stored, whole: text };
}
